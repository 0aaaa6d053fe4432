// SPDX-License-Identifier: Apache-2.0
//
// PEM blocks (RFC 7468) in a text.
#ifndef CARAVAN_ATTESTATION_PEM_H_
#define CARAVAN_ATTESTATION_PEM_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace caravan::attestation {

struct PemBlock {
  std::string type;  // "CERTIFICATE"
  std::string bytes;
};

// Every block in order; text around blocks is skipped. InvalidArgument on a malformed block and on
// more than `max` of them.
absl::StatusOr<std::vector<PemBlock>> ReadPem(std::string_view text, size_t max);

// The other way round, of certificates in DER: lines of 64 characters (RFC 7468).
std::string CertificatesToPem(const std::vector<std::string>& certificates);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_PEM_H_
