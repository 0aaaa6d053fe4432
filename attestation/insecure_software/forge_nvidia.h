// SPDX-License-Identifier: Apache-2.0
//
// Makes device chains and measurement reports in NVIDIA's formats, right or wrong as the caller
// says. Sources as in attestation/nvidia.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_NVIDIA_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_NVIDIA_H_

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/insecure_software/forge.h"

namespace caravan::attestation::insecure_software {

struct BlockSpec {
  uint8_t index = 1;
  std::string digest;  // 48 bytes
  uint8_t specification = 1;
  uint8_t type = 1;
  std::optional<uint16_t> size = std::nullopt;        // of the measurement; as it is when absent
  std::optional<uint16_t> value_size = std::nullopt;  // of the digest
};

// SPDM GET_MEASUREMENTS and MEASUREMENTS. What is absent is filled in as it should be.
struct DeviceReportSpec {
  uint8_t request_version = 0x11, request_code = 0xE0, attributes = 1, which = 0xFF;
  std::string nonce = std::string(32, '\0');
  uint8_t request_slot = 0;
  uint8_t response_version = 0x11, response_code = 0x60, parameter1 = 0, response_slot = 0;
  std::vector<BlockSpec> blocks;
  std::optional<uint8_t> block_count = std::nullopt;
  std::optional<uint32_t> record_size = std::nullopt;
  std::string responder_nonce = std::string(32, '\x72');
  std::vector<std::pair<uint16_t, std::string>> opaque;  // type, value
  std::optional<uint16_t> opaque_size = std::nullopt;
};
std::string SerializeDeviceReport(const DeviceReportSpec& spec);  // not signed
// With the signature behind it. Internal when OpenSSL fails.
absl::StatusOr<std::string> SignDeviceReport(EVP_PKEY* key, std::string report);

// The value of `type` in the opaque data; the field is added when it is not there.
std::string& OpaqueValue(DeviceReportSpec* spec, uint16_t type);

// A device's certificates. Keys are borrowed: leaf, device CA, provisioner, identity, root.
struct DeviceChainSpec {
  std::string chip = "GH100";  // or "GB100", "LS_10"
  std::string pdi;             // 8 bytes
  std::string fwid;            // 48 bytes
  std::array<EVP_PKEY*, 5> keys{};
  absl::Time not_before;
  absl::Time not_after;
};
// As NVIDIA issues them, leaf first, each name with the stand-in's prefix.
std::array<CertificateSpec, 5> DeviceChain(const DeviceChainSpec& spec);

// The extensions that name a leaf's firmware, by the firmware's SHA-384: of Hopper and LS10, and
// DiceTcbInfo, of Blackwell.
std::string CompositeDeviceIdExtension(const std::string& fwid);
std::string DiceTcbInfoExtension(const std::string& fwid);

}  // namespace caravan::attestation::insecure_software

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_NVIDIA_H_
