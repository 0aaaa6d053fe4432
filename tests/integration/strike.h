// SPDX-License-Identifier: Apache-2.0
//
// For tests: a signal at a named step of a plan, sent from the daemon that is about to run it.
#ifndef CARAVAN_TESTS_INTEGRATION_STRIKE_H_
#define CARAVAN_TESTS_INTEGRATION_STRIKE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "collective/plan.h"
#include "daemon/engine/engine.h"

namespace caravan::testing {

struct Strike {
  uint16_t rank = 0;
  uint64_t sequence = 0;
  // The record that the step seals or opens; no two steps of a plan share it.
  collective::StepKind kind = collective::StepKind::kSeal;
  uint16_t phase = 0;
  uint16_t source = 0;
  uint16_t destination = 0;
  uint32_t chunk = 0;
  int signal = 0;
  std::string pid_file;  // holds the victim's process id; empty: the daemon itself

  // For the command line: "--strike=…".
  std::string ToFlag() const;
  // The other way round. InvalidArgument where it is not what ToFlag() makes.
  static absl::StatusOr<Strike> FromFlag(const std::string& flag);
  // "open, phase 1, 2 to 65535, chunk 3, sequence 2": what is written on stdout before the signal.
  std::string Describe() const;
};

// Strikes once, just before the step.
engine::StepHook StrikeOnce(const Strike& strike);

}  // namespace caravan::testing

#endif  // CARAVAN_TESTS_INTEGRATION_STRIKE_H_
