// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_testing.h"

#include <simdjson.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>
#include <string_view>

#include "gtest/gtest.h"

namespace caravan::cli {

VerifyRun RunVerifyForTest(VerifyOptions options, const std::string& policy) {
  std::string folder = testing::TempDir() + "/verify_XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  options.policy = folder + "/policy.textproto";
  std::ofstream(options.policy) << policy;
  std::ostringstream out, err;
  VerifyRun run;
  run.exit = RunVerify({.out = out, .err = err, .json = true}, options);
  run.text = out.str() + err.str();
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(out.str()).get(document) != simdjson::SUCCESS) return run;
  std::string_view value;
  if (document["platform"].get(value) == simdjson::SUCCESS) run.platform = value;
  if (document["claims"]["tcb_status"].get(value) == simdjson::SUCCESS) run.tcb_status = value;
  simdjson::dom::array checks;
  if (document["checks"].get(checks) != simdjson::SUCCESS) return run;
  for (const simdjson::dom::element check : checks) {
    const std::string_view outcome(check["outcome"]), id(check["id"]);
    if (outcome == "failed") run.failed.emplace_back(id);
    if (outcome == "missing" && run.decisive.empty()) run.decisive = id;
  }
  if (!run.failed.empty()) run.decisive = run.failed.front();
  return run;
}

}  // namespace caravan::cli
