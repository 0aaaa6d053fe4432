// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/strike.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace caravan::testing {
namespace {

constexpr char kFlag[] = "--strike=";

pid_t Victim(const Strike& strike) {
  if (strike.pid_file.empty()) return getpid();
  pid_t pid = 0;
  if (std::ifstream(strike.pid_file) >> pid && pid > 1) return pid;
  std::fprintf(stderr, "no process id in %s\n", strike.pid_file.c_str());
  std::abort();
}

}  // namespace

std::string Strike::ToFlag() const {
  return absl::StrCat(kFlag, rank, " ", sequence, " ", static_cast<int>(kind), " ", phase, " ",
                      source, " ", destination, " ", chunk, " ", signal, " ", pid_file);
}

absl::StatusOr<Strike> Strike::FromFlag(const std::string& flag) {
  Strike strike;
  int kind = 0;
  std::istringstream in(std::string(absl::StripPrefix(flag, kFlag)));
  if (!absl::StartsWith(flag, kFlag) ||
      !(in >> strike.rank >> strike.sequence >> kind >> strike.phase >> strike.source >>
        strike.destination >> strike.chunk >> strike.signal)) {
    return absl::InvalidArgumentError(absl::StrCat("not a strike: ", flag));
  }
  strike.kind = static_cast<collective::StepKind>(kind);
  in >> strike.pid_file;  // may be missing
  return strike;
}

std::string Strike::Describe() const {
  return absl::StrCat(kind == collective::StepKind::kSeal ? "seal" : "open", ", phase ", phase,
                      ", ", source, " to ", destination, ", chunk ", chunk, ", sequence ",
                      sequence);
}

engine::StepHook StrikeOnce(const Strike& strike) {
  // Copies of the hook share it: each communicator of the daemon has one.
  auto struck = std::make_shared<std::atomic<bool>>(false);
  return [strike, struck](uint16_t rank, uint64_t sequence, const collective::Step& step) {
    if (rank != strike.rank || sequence != strike.sequence || step.kind != strike.kind ||
        step.phase != strike.phase || step.source != strike.source ||
        step.destination != strike.destination || step.chunk != strike.chunk) {
      return;
    }
    if (struck->exchange(true)) return;
    std::printf("strikes before %s\n", strike.Describe().c_str());
    std::fflush(stdout);
    kill(Victim(strike), strike.signal);
  };
}

}  // namespace caravan::testing
