// SPDX-License-Identifier: Apache-2.0
//
// Confidential computing event logs.
#include "attestation/tdx/event_log.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {

std::vector<std::string> Seeds() {
  std::string log(8, '\0');
  log[4] = 3;
  log += std::string(20, '\0') + std::string("\x10\0\0\0Spec ID Event03\0", 20);
  log += std::string("\1\0\0\0\x08\0\0\0\1\0\0\0\x0C\0", 14) + std::string(48, 'd');
  log += std::string("\3\0\0\0eee", 7);
  return {log, log + std::string(64, '\xFF')};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  const std::string log(reinterpret_cast<const char*>(data), size);
  const auto replay = attestation::tdx::ReplayEventLog(log);
  if (!replay.ok()) return 0;
  fuzz::Require(attestation::tdx::CheckEventLog(log, replay->rtmrs).ok(),
                "a log replays to its own registers");
  return 0;
}
