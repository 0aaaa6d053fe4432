// SPDX-License-Identifier: Apache-2.0
//
// caravanctl evidence show: what evidence in a file says, in words.
#ifndef CARAVAN_CLI_EVIDENCE_SHOW_H_
#define CARAVAN_CLI_EVIDENCE_SHOW_H_

#include <string>

#include "cli/output.h"

namespace caravan::cli {

struct EvidenceShowOptions {
  std::string evidence;       // file, or folder of the parts of one piece
  std::string kind = "auto";  // auto, snp, tdx, sgx, nvidia, tpm
};

// Schema caravan.evidence-show/1. Verifies nothing and says so first. kOk; kUsage for options and
// files that cannot be used, and for evidence that is not what its kind says, after what could be
// read of it.
int RunEvidenceShow(const Context& context, const EvidenceShowOptions& options);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_EVIDENCE_SHOW_H_
