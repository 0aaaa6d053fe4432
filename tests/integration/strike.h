// SPDX-License-Identifier: Apache-2.0
//
// For tests: a blow at a named step of a plan, struck from within the daemon that is about to run
// it.
#ifndef CARAVAN_TESTS_INTEGRATION_STRIKE_H_
#define CARAVAN_TESTS_INTEGRATION_STRIKE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "collective/plan/plan.h"
#include "crypto/record.h"
#include "daemon/engine/engine.h"

namespace caravan::testing {

enum class Blow : uint8_t {
  kKill,      // SIGKILL
  kStop,      // SIGSTOP
  kReset,     // every lane is reset (RST), and stays open here
  kSlow,      // each call on a lane takes milliseconds, for a while
  kDeaf,      // lanes give nothing any more: the peers' sockets fill up
  kFull,      // lanes take nothing any more, as if the peers did not read
  kNoMemory,  // one call on each lane fails with ENOMEM
  kCorrupt,   // the next record that is opened is changed after that, and so handed on
};

struct Strike {
  uint16_t rank = 0;
  uint64_t sequence = 0;
  // The record that the step seals, opens or relays; no two steps of a plan share it.
  collective::StepKind kind = collective::StepKind::kSeal;
  uint16_t phase = 0;
  uint16_t source = 0;
  uint16_t destination = 0;
  uint32_t chunk = 0;
  Blow blow = Blow::kKill;
  std::string pid_file;  // signals: holds the victim's process id; empty: the daemon itself

  // For the command line: "--strike=…".
  std::string ToFlag() const;
  // The other way round. InvalidArgument where it is not what ToFlag() makes.
  static absl::StatusOr<Strike> FromFlag(const std::string& flag);
  // "open, phase 1, 2 to 65535, chunk 3, sequence 2": what is written on stdout before the blow.
  std::string Describe() const;
};

// Strikes once, just before the step.
engine::StepHook StrikeOnce(const Strike& strike);
// `honest`, but what kCorrupt asks for. Outlives whatever it makes; so must `honest`.
std::unique_ptr<crypto::RecordCipherFactory> CorruptibleRecords(
    crypto::RecordCipherFactory& honest);

// Steps by name, whatever the plan.
enum class Where { kFirstSeal, kMiddleOpen, kLastOpen, kLastForward };
std::optional<collective::Step> StepAt(const collective::Plan& plan, Where where);

}  // namespace caravan::testing

#endif  // CARAVAN_TESTS_INTEGRATION_STRIKE_H_
