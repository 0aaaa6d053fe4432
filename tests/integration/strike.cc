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
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/integration/struck_sockets.h"

namespace caravan::testing {
namespace {

using collective::StepKind;

constexpr char kFlag[] = "--strike=";

// A communicator strikes and opens on one thread.
thread_local bool corrupts_next = false;

pid_t Victim(const Strike& strike) {
  if (strike.pid_file.empty()) return getpid();
  pid_t pid = 0;
  if (std::ifstream(strike.pid_file) >> pid && pid > 1) return pid;
  std::fprintf(stderr, "no process id in %s\n", strike.pid_file.c_str());
  std::abort();
}

void StrikeNow(const Strike& strike) {
  switch (strike.blow) {
    case Blow::kKill:
      kill(Victim(strike), SIGKILL);
      return;
    case Blow::kStop:
      kill(Victim(strike), SIGSTOP);
      return;
    case Blow::kReset:
      return FailSockets(SocketFault::kReset);
    case Blow::kSlow:
      return FailSockets(SocketFault::kSlow);
    case Blow::kDeaf:
      return FailSockets(SocketFault::kDeaf);
    case Blow::kFull:
      return FailSockets(SocketFault::kFull);
    case Blow::kNoMemory:
      return FailSockets(SocketFault::kNoMemory);
    case Blow::kCorrupt:
      corrupts_next = true;
      return;
  }
}

class CorruptibleCipher : public crypto::RecordCipher {
 public:
  explicit CorruptibleCipher(std::unique_ptr<crypto::RecordCipher> honest)
      : honest_(std::move(honest)) {}
  absl::Status Seal(const crypto::RecordHeader& header, absl::Span<const uint8_t> payload,
                    absl::Span<uint8_t> record) override {
    return honest_->Seal(header, payload, record);
  }
  absl::Status Open(absl::Span<const uint8_t> record, absl::Span<uint8_t> payload) override {
    absl::Status opened = honest_->Open(record, payload);
    // The engine's own receive buffer, from which the record is handed on.
    if (std::exchange(corrupts_next, false)) const_cast<uint8_t&>(record.back()) ^= 1;
    return opened;
  }
  bool ReadsPlaintextOnce() const override { return honest_->ReadsPlaintextOnce(); }

 private:
  const std::unique_ptr<crypto::RecordCipher> honest_;
};

class CorruptibleFactory : public crypto::RecordCipherFactory {
 public:
  explicit CorruptibleFactory(crypto::RecordCipherFactory& honest) : honest_(honest) {}
  absl::StatusOr<std::unique_ptr<crypto::RecordCipher>> Create(const crypto::SecretBytes& parent,
                                                               const crypto::EpochId& epoch,
                                                               const crypto::OpKeyId& id,
                                                               int chunk_log2) override {
    auto honest = honest_.Create(parent, epoch, id, chunk_log2);
    if (!honest.ok()) return honest.status();
    return std::make_unique<CorruptibleCipher>(*std::move(honest));
  }
  std::string Describe(crypto::Suite suite) const override { return honest_.Describe(suite); }

 private:
  crypto::RecordCipherFactory& honest_;
};

}  // namespace

std::string Strike::ToFlag() const {
  return absl::StrCat(kFlag, rank, " ", sequence, " ", static_cast<int>(kind), " ", phase, " ",
                      source, " ", destination, " ", chunk, " ", static_cast<int>(blow), " ",
                      pid_file);
}

absl::StatusOr<Strike> Strike::FromFlag(const std::string& flag) {
  Strike strike;
  int kind = 0;
  int blow = 0;
  std::istringstream in(std::string(absl::StripPrefix(flag, kFlag)));
  if (!absl::StartsWith(flag, kFlag) ||
      !(in >> strike.rank >> strike.sequence >> kind >> strike.phase >> strike.source >>
        strike.destination >> strike.chunk >> blow)) {
    return absl::InvalidArgumentError(absl::StrCat("not a strike: ", flag));
  }
  strike.kind = static_cast<StepKind>(kind);
  strike.blow = static_cast<Blow>(blow);
  in >> strike.pid_file;  // may be missing
  return strike;
}

std::string Strike::Describe() const {
  const char* does = kind == StepKind::kSeal ? "seal" : kind == StepKind::kOpen ? "open" : "relay";
  return absl::StrCat(does, ", phase ", phase, ", ", source, " to ", destination, ", chunk ", chunk,
                      ", sequence ", sequence);
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
    StrikeNow(strike);
  };
}

std::unique_ptr<crypto::RecordCipherFactory> CorruptibleRecords(
    crypto::RecordCipherFactory& honest) {
  return std::make_unique<CorruptibleFactory>(honest);
}

std::optional<collective::Step> StepAt(const collective::Plan& plan, Where where) {
  std::vector<collective::Step> seals, opens, forwards;
  for (const collective::Step& step : plan.steps) {
    if (step.kind == StepKind::kSeal) seals.push_back(step);
    if (step.kind == StepKind::kOpen) opens.push_back(step);
    if (collective::Plan::SendsOn(step)) forwards.push_back(step);
  }
  const std::vector<collective::Step>& among = where == Where::kFirstSeal     ? seals
                                               : where == Where::kLastForward ? forwards
                                                                              : opens;
  if (among.empty()) return std::nullopt;
  if (where == Where::kFirstSeal) return among.front();
  return where == Where::kMiddleOpen ? among[among.size() / 2] : among.back();
}

}  // namespace caravan::testing
