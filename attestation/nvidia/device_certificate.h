// SPDX-License-Identifier: Apache-2.0
//
// What the certificates of a device say about it. The root is shared by all of NVIDIA's devices,
// and LS10 switches even by Hopper's "Identity" CA: only the lower names tell classes and chips
// apart. Of the published chains, the device CA's subject carries the device's PDI behind one byte.
#ifndef CARAVAN_ATTESTATION_NVIDIA_DEVICE_CERTIFICATE_H_
#define CARAVAN_ATTESTATION_NVIDIA_DEVICE_CERTIFICATE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "attestation/nvidia/opaque.h"
#include "attestation/x509.h"

namespace caravan::attestation::nvidia {

// FWID of Hopper and LS10: TCG DICE, "TCB info by composite device id", which ends with it.
inline constexpr char kOidCompositeDeviceId[] = "2.23.133.5.4.1";
// FWID of Blackwell: TCG DICE Attestation Architecture 1.1, DiceTcbInfo.
inline constexpr char kOidDiceTcbInfo[] = "2.23.133.5.4.1.1";

enum class Architecture { kHopper, kBlackwell, kLs10 };

struct Chip {
  std::string name;  // as certificates have it: "GH100", "GB100", "LS_10"
  Architecture architecture = Architecture::kHopper;
  DeviceClass device_class = DeviceClass::kGpu;

  std::string product() const;  // as reference manifests have it: "LS10"
};

// The chip that a name such as "GH100 A01 GSP FMC LF" begins with; nullopt when it is none known.
std::optional<Chip> ChipOfName(std::string_view common_name);

// Whether a certificate of such a chip has this name, by its place; without the stand-in's prefix.
bool IsLeafName(const Chip& chip, std::string_view name);         // "GH100 A01 GSP FMC LF"
bool IsDeviceCaName(const Chip& chip, std::string_view name);     // "GH100 A01 GSP BROM"
bool IsProvisionerName(const Chip& chip, std::string_view name);  // "NVIDIA GH100 Provisioner …"
bool IsIdentityName(const Chip& chip, std::string_view name);     // "NVIDIA GH100 Identity"

// True when it carries one of the extensions above: a device's leaf, whoever signed it.
bool LooksLikeLeaf(const Certificate& certificate);

// The digest of the firmware that the leaf's key belongs to, kDigestSize bytes. NotFound when it
// has neither extension; InvalidArgument when one is malformed, is not over SHA-384, or both stand
// there.
absl::StatusOr<std::string> CertifiedFwid(const Certificate& leaf);

// The PDI in the device CA's subject: the last 8 bytes of a serialNumber of 9. nullopt when it has
// another form.
std::optional<Pdi> CertifiedPdi(const Certificate& device_ca);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_DEVICE_CERTIFICATE_H_
