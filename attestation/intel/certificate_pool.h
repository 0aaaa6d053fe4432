// SPDX-License-Identifier: Apache-2.0
//
// Every certificate at hand, none of them trusted yet.
#ifndef CARAVAN_ATTESTATION_INTEL_CERTIFICATE_POOL_H_
#define CARAVAN_ATTESTATION_INTEL_CERTIFICATE_POOL_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "attestation/evidence.h"
#include "attestation/intel/findings.h"
#include "attestation/intel/quote.h"
#include "attestation/x509.h"

namespace caravan::attestation::intel {

// The DER certificates of certification data of type 5: PEM, or DER one after the other, with any
// zero bytes at the end. InvalidArgument when it is neither, or over kMaxCertificates.
absl::StatusOr<std::vector<std::string>> ReadCertificationChain(std::string_view data);

// The quote's certificates first, then the evidence's, then the endorsements'. One that is
// malformed fails a check when the peer sent it, and warns when it is an endorsement.
std::vector<Certificate> CollectCertificates(const Quote& quote, const Evidence& evidence,
                                             const Endorsements& endorsements, Findings* findings);

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_CERTIFICATE_POOL_H_
