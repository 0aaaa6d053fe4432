// SPDX-License-Identifier: Apache-2.0
//
// caravand with one flag more, --strike=…: the same daemon and sealed records, and a blow at a
// named step. For tests; it is neither installed nor released.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "crypto/record.h"
#include "daemon/daemon.h"
#include "tests/integration/strike.h"

int main(int argc, char** argv) {
  std::unique_ptr<caravan::crypto::RecordCipherFactory> sealed = caravan::crypto::SealedRecords();
  std::unique_ptr<caravan::crypto::RecordCipherFactory> ciphers =
      caravan::testing::CorruptibleRecords(*sealed);
  caravan::engine::StepHook hook;
  std::vector<char*> arguments;
  for (int i = 0; i < argc; ++i) {
    if (!absl::StartsWith(argv[i], "--strike")) {
      arguments.push_back(argv[i]);
      continue;
    }
    auto strike = caravan::testing::Strike::FromFlag(argv[i]);
    if (!strike.ok()) return std::fprintf(stderr, "%s\n", strike.status().ToString().c_str()), 2;
    hook = caravan::testing::StrikeOnce(*strike);
  }
  return caravan::RunDaemon(static_cast<int>(arguments.size()), arguments.data(),
                            {.ciphers = *ciphers, .step_hook = hook});
}
