// SPDX-License-Identifier: Apache-2.0
//
// caravanctl verify: evidence in a file, judged without a daemon or a network.
#ifndef CARAVAN_CLI_VERIFY_H_
#define CARAVAN_CLI_VERIFY_H_

#include <string>
#include <vector>

#include "cli/output.h"

namespace caravan::cli {

struct VerifyOptions {
  std::string evidence;                 // file
  std::vector<std::string> also;        // files: more evidence of the same set
  std::string kind = "auto";            // auto, snp, tdx, sgx, nvidia, tpm
  std::vector<std::string> collateral;  // files or folders: certificates, lists, JSON
  std::string policy;                   // file; "": the strict policy that lists nothing
  std::string report_data;  // 128 hexadecimal digits, or a device's 64; "": not checked, said so
  std::string verification_time;  // RFC 3339; "": now
  std::string event_log;          // file: a CCEL that has to replay to a TD's RTMRs
};

// Schema caravan.verify/1. Prints the appraisal, accepted or not. kOk when accepted, kRefused when
// a check failed, kNotVerifiable when something needed is missing, kUsage for options and files
// that cannot be used.
int RunVerify(const Context& context, const VerifyOptions& options);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_VERIFY_H_
