// SPDX-License-Identifier: Apache-2.0
//
// An attester that needs no hardware: real-format SEV-SNP reports, signed by a VCEK of the
// cluster's insecure root. Whoever holds that root can sign any measurement.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_ATTESTER_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_ATTESTER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/attester.h"
#include "attestation/insecure_software/insecure_root.h"
#include "attestation/sev_snp/tcb.h"
#include "crypto/hash.h"

namespace caravan::attestation {

struct InsecureAttesterOptions {
  crypto::Sha384Digest measurement{};  // SHA-384 of the daemon's executable
  std::array<uint8_t, 64> chip_id{};   // DeriveInsecureChipId; Turin takes the first 8 bytes
  uint32_t report_version = 3;         // 3 or 5
  sev_snp::Tcb tcb{.boot_loader = 4, .tee = 0, .snp = 24, .microcode = 219};
  uint32_t guest_svn = 0;
  std::array<uint8_t, 32> host_data{};
};

// The chip that a node of this name pretends to be.
std::array<uint8_t, 64> DeriveInsecureChipId(std::string_view node_name);

// Issues a VCEK and keeps its key in memory. InvalidArgument on a zero chip id or another report
// version; errors of InsecureRoot::IssueVcek.
absl::StatusOr<std::unique_ptr<Attester>> MakeInsecureAttester(
    const InsecureRoot& root, const InsecureAttesterOptions& options, absl::Time now);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_INSECURE_ATTESTER_H_
