// SPDX-License-Identifier: Apache-2.0
//
// What evidence is bound to: one function makes the 64 bytes that a report carries, so that the
// attester and the verifier cannot differ.
#ifndef CARAVAN_ATTESTATION_BINDER_H_
#define CARAVAN_ATTESTATION_BINDER_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "crypto/hash.h"
#include "crypto/key_tree.h"

namespace caravan::attestation {

// The exporter value that ties evidence to one channel, role, round, nonce and policy.
struct Binder {
  std::array<uint8_t, 32> bytes{};
};

// report_data of a CPU report; a strong type, so that no other 64 bytes pass for it.
struct ReportData {
  std::array<uint8_t, 64> bytes{};
};

// The nonce of a device's report; a strong type, so that no other 32 bytes pass for it.
struct DeviceNonce {
  std::array<uint8_t, 32> bytes{};
};

// What a session wants evidence for: the CPU's report carries the data, devices beside it answer
// nonces that are derived from the rest (MakeDeviceNonce).
struct EvidenceRequest {
  ReportData report_data;
  crypto::Role attester = crypto::Role::kInitiator;
  Binder binder;
};

inline constexpr std::string_view kSessionPurpose = "session";

// SHA-256("caravan/1 report" ‖ role ‖ binder ‖ spki hash)[32] ‖ purpose[16] ‖ session id[16].
// InvalidArgument when the purpose is empty or over 16 bytes.
absl::StatusOr<ReportData> MakeReportData(crypto::Role attester, const Binder& binder,
                                          const crypto::Sha256Digest& attester_spki,
                                          std::string_view purpose,
                                          const crypto::SessionId& session);

// SHA-256("caravan/1 gpu" ‖ role ‖ binder ‖ SHA-256(cpu evidence) ‖ index[4] ‖ count[4])[32]: of
// device `index` of `count` beside the CPU evidence with this digest (composite.h).
DeviceNonce MakeDeviceNonce(crypto::Role attester, const Binder& binder,
                            const crypto::Sha256Digest& cpu_evidence, uint32_t index,
                            uint32_t count);

// The nonce of a TPM quote: SHA-256 of the report data. TPM2_Quote takes no more than TPM2B_DATA
// holds, the TPM's largest digest and two bytes, and that is under 64 where it has no SHA-512.
crypto::Sha256Digest TpmNonce(const ReportData& data);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_BINDER_H_
