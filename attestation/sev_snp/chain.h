// SPDX-License-Identifier: Apache-2.0
//
// The certificate chain of a report: VCEK ← ASK ← ARK, or VLEK ← ASVK ← ARK, up to a pinned root
// key, at a given time, with the root's revocation list (AMD 57230).
#ifndef CARAVAN_ATTESTATION_SEV_SNP_CHAIN_H_
#define CARAVAN_ATTESTATION_SEV_SNP_CHAIN_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "attestation/check_list.h"
#include "attestation/evidence.h"
#include "attestation/policy/policy.h"
#include "attestation/sev_snp/leaf.h"
#include "attestation/sev_snp/report.h"

namespace caravan::attestation::sev_snp {

struct Chain {
  std::optional<Leaf> leaf;  // as found; proves nothing unless `verified`
  bool verified = false;     // signatures up to a root that is pinned
  bool insecure = false;     // that root is a software stand-in's
};

// Finds the certificates among the evidence's and the endorsements', the leaf by what the report
// says about its key, chip and TCB, and checks all of the chain; each finding becomes a check.
Chain CheckChain(const Report& report, const Evidence& evidence, const Endorsements& endorsements,
                 const Policy& policy, absl::Time now, CheckList* checks);

// "<chip id>?blSPL=03&…": the end of a VCEK's address at AMD's key service, by the report's
// REPORTED_TCB; a Turin's chip id has 8 bytes there, and its firmware one component more.
std::string VcekPath(const Report& report, Product product);

// Where AMD's key service has the VCEK that signed this report; the product is Milan's or
// Genoa's name to fill in when a version 2 report does not tell.
std::string KdsUrl(const Report& report);

}  // namespace caravan::attestation::sev_snp

#endif  // CARAVAN_ATTESTATION_SEV_SNP_CHAIN_H_
