// SPDX-License-Identifier: Apache-2.0
#include "tests/adversary/rogue.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/time/clock.h"
#include "collective/algorithms/build_plan.h"
#include "collective/reduce/reduce.h"
#include "crypto/hash.h"
#include "crypto/nonce_ledger.h"
#include "daemon/engine/engine_testing.h"

namespace caravan::adversary {

using collective::Step;
using collective::StepKind;

Rogue::Rogue(int rank, int size, uint8_t epoch, Bugs bugs)
    : rank_(rank), size_(size), epoch_(epoch), bugs_(std::move(bugs)), lanes_(size) {}

Rogue::~Rogue() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  Leave();
}

int Rogue::Meet(int peer) {
  const auto [ours, theirs] = engine::ConnectedPairForTest(false, 0);
  lanes_[peer].fd = ours;
  return theirs;
}

void Rogue::Start(std::vector<collective::OperationSpec> specs, std::vector<Bytes> inputs) {
  thread_ = std::thread(
      [this, specs = std::move(specs), inputs = std::move(inputs)] { Run(specs, inputs); });
}

std::vector<Bytes> Rogue::Finish() {
  if (thread_.joinable()) thread_.join();
  return outputs_;
}

void Rogue::Run(const std::vector<collective::OperationSpec>& specs,
                const std::vector<Bytes>& inputs) {
  for (size_t i = 0; i < specs.size() && !stop_; ++i) {
    collective::OperationSpec spec = specs[i];
    spec.chunk_log2 = kChunkLog2;
    if (bugs_.spec) bugs_.spec(spec);
    auto plan = collective::BuildPlan(spec, rank_, size_);
    if (!plan.ok()) std::abort();
    Running run;
    run.plan = *std::move(plan);
    run.sequence = bugs_.first_sequence + i;
    run.wire_op = static_cast<uint8_t>(spec.op);
    const auto digest = crypto::Sha256(crypto::AsBytes(run.plan->spec.Canonical()));
    std::copy_n(digest.begin(), run.digest.size(), run.digest.begin());
    run.input = inputs[i];
    run.input.resize(run.plan->input_bytes());
    run.output.resize(run.plan->output_bytes());
    run.scratch.resize(run.plan->scratch_bytes);
    run.record.resize(size_t{1} << kChunkLog2);
    run.left = run.plan->steps.size();
    for (const Step& step : run.plan->steps) run.waits.push_back(step.dependencies);
    if (!RunOne(run)) return;
    outputs_.push_back(std::move(run.output));
  }
}

// Nothing here is bounded: what can be sealed is sealed, what comes is read. So it waits for
// nobody's buffers.
bool Rogue::RunOne(Running& run) {
  while (true) {
    if (stop_) return false;
    bool moved = !silent_ && RunReady(run);
    for (int peer = 0; peer < size_ && !silent_; ++peer) moved |= TakeRecords(run, peer);
    moved |= Pump();
    const bool alone = std::all_of(lanes_.begin(), lanes_.end(),
                                   [](const Lane& lane) { return lane.fd < 0 || lane.ended; });
    const bool unsent = std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) {
      return !lane.ended && !lane.out.empty();
    });
    if (run.left == 0 && !unsent && !silent_) return true;
    if (alone && !moved && size_ > 1) return false;
    if (!moved) Wait();
  }
}

bool Rogue::RunReady(Running& run) {
  bool moved = false;
  for (uint32_t i = 0; i < run.waits.size(); ++i) {
    const Step& step = run.plan->steps[i];
    const bool takes = step.kind == StepKind::kOpen || step.kind == StepKind::kRelay;
    if (run.waits[i] != 0 || takes) continue;
    run.waits[i] = UINT32_MAX;
    if (step.kind == StepKind::kSeal) {
      Seal(run, step);
    } else if (step.bytes > 0) {
      const uint8_t* read = At(run, step.read);
      uint8_t* write = At(run, step.write);
      const collective::OperationSpec& spec = run.plan->spec;
      const size_t count = step.bytes / SizeOf(spec.dtype);
      if (step.reduce) {
        collective::Reduce(spec.dtype, spec.reduce, read, write, write, count);
        if (step.finish_average) collective::Average(spec.dtype, write, write, count, size_);
      } else {
        std::memmove(write, read, step.bytes);
      }
    }
    Ran(run, step);
    moved = true;
  }
  return moved;
}

bool Rogue::TakeRecords(Running& run, int peer) {
  Lane& lane = lanes_[peer];
  bool moved = false;
  while (lane.in.size() >= crypto::kRecordHeaderSize) {
    const auto header =
        crypto::DecodeRecordHeader(absl::MakeSpan(lane.in).first(crypto::kRecordHeaderSize));
    if (!header.ok() || header->sequence != run.sequence) break;
    const size_t size = header->payload_size + crypto::kRecordOverhead;
    const auto index =
        run.plan->FindReceive(header->phase, header->source, header->destination, header->chunk);
    if (lane.in.size() < size || !index.ok() || run.waits[*index] != 0) break;
    const Bytes record(lane.in.begin(), lane.in.begin() + static_cast<ptrdiff_t>(size));
    lane.in.erase(lane.in.begin(), lane.in.begin() + static_cast<ptrdiff_t>(size));
    const Step& step = run.plan->steps[*index];
    run.waits[*index] = UINT32_MAX;
    if (step.kind == StepKind::kOpen) Open(run, step, record);
    if (step.target_count > 0) Send(run, step, record, /*forwarded=*/true);
    Ran(run, step);
    moved = true;
  }
  return moved;
}

void Rogue::Ran(Running& run, const Step& step) {
  --run.left;
  for (uint32_t d = 0; d < step.dependent_count; ++d) {
    --run.waits[run.plan->dependents[step.first_dependent + d]];
  }
}

uint8_t* Rogue::At(Running& run, const collective::Region& region) {
  Bytes& bytes = region.place == collective::Place::kInput    ? run.input
                 : region.place == collective::Place::kOutput ? run.output
                                                              : run.scratch;
  return bytes.data() + region.offset;
}

crypto::RecordHeader Rogue::HeaderOf(const Running& run, const Step& step) const {
  const collective::Stream& stream = run.plan->StreamOf(step);
  crypto::RecordHeader header;
  header.op = run.wire_op;
  header.last = step.chunk == stream.last_chunk;
  header.phase = step.phase;
  header.source = step.source;
  header.destination = step.destination;
  header.payload_size = step.bytes;
  header.epoch_prefix.fill(epoch_);
  header.sequence = run.sequence;
  header.chunk = step.chunk;
  header.chunk_count = stream.chunk_count;
  header.operation_digest = run.digest;
  return header;
}

std::unique_ptr<crypto::RecordCipher> Rogue::MakeCipher(const crypto::RecordHeader& header,
                                                        bool other_key) const {
  static crypto::RecordCipherFactory* const sealed = crypto::SealedRecords().release();
  const bool every = header.destination == crypto::kEveryDestination;
  const int far_end = every ? header.source : header.destination;
  const crypto::SecretBytes parent =
      every ? engine::SenderParentForTest(epoch_, other_key ? far_end + 1 : far_end)
            : engine::PairParentForTest(epoch_, header.source, other_key ? far_end + 1 : far_end);
  crypto::EpochId epoch{};
  epoch.fill(epoch_);
  std::copy(header.epoch_prefix.begin(), header.epoch_prefix.end(), epoch.begin());
  crypto::OpKeyId id;
  id.op = header.op;
  id.source = header.source;
  id.destination = header.destination;
  id.sequence = header.sequence;
  id.phase = header.phase;
  id.superchunk = crypto::SuperchunkOf(header.chunk, kChunkLog2);
  auto cipher = sealed->Create(parent, epoch, id, kChunkLog2);
  if (!cipher.ok()) std::abort();
  return *std::move(cipher);
}

crypto::RecordCipher& Rogue::CipherFor(Running& run, const crypto::RecordHeader& header) {
  auto& cipher = run.ciphers[{header.source, header.destination, header.phase,
                              crypto::SuperchunkOf(header.chunk, kChunkLog2)}];
  if (cipher == nullptr) cipher = MakeCipher(header, false);
  return *cipher;
}

void Rogue::Seal(Running& run, const Step& step) {
  crypto::RecordHeader header = HeaderOf(run, step);
  const bool strikes = !bugs_.forwards && sealed_ == bugs_.at;
  if (strikes && bugs_.header) bugs_.header(header);
  Bytes record(header.payload_size + crypto::kRecordOverhead);
  Bytes payload(header.payload_size);
  const uint32_t bytes = std::min(step.bytes, header.payload_size);
  if (bytes > 0) std::memcpy(payload.data(), At(run, step.read), bytes);
  const bool lies = strikes && (bugs_.header || bugs_.other_key);
  std::unique_ptr<crypto::RecordCipher> own;
  if (lies) own = MakeCipher(header, bugs_.other_key);
  crypto::RecordCipher& cipher = lies ? *own : CipherFor(run, header);
  if (!cipher.Seal(header, payload, absl::MakeSpan(record)).ok()) std::abort();
  if (strikes && bugs_.reseal) {
    // Another cipher of the same key does not know which nonces are spent.
    Bytes other(record.size());
    payload.assign(payload.size(), 0x77);
    const auto second = MakeCipher(header, false);
    if (!second->Seal(header, payload, absl::MakeSpan(other)).ok()) std::abort();
    record.insert(record.end(), other.begin(), other.end());
  }
  Send(run, step, std::move(record), /*forwarded=*/false);
}

void Rogue::Open(Running& run, const Step& step, const Bytes& record) {
  const absl::Span<uint8_t> payload(run.record.data(), step.bytes);
  // Who runs something else cannot open what the others send, and goes on all the same.
  CipherFor(run, HeaderOf(run, step)).Open(record, payload).IgnoreError();
  if (step.bytes == 0) return;
  uint8_t* write = At(run, step.write);
  if (!step.reduce) {
    std::copy(payload.begin(), payload.end(), write);
    return;
  }
  const collective::OperationSpec& spec = run.plan->spec;
  const size_t count = step.bytes / SizeOf(spec.dtype);
  collective::Reduce(spec.dtype, spec.reduce, At(run, step.read), payload.data(), write, count);
  if (step.finish_average) collective::Average(spec.dtype, write, write, count, size_);
}

bool Rogue::Strikes(bool forwarded) {
  const int index = forwarded ? forwarded_++ : sealed_++;
  return forwarded == bugs_.forwards && index == bugs_.at;
}

void Rogue::Send(Running& run, const Step& step, Bytes record, bool forwarded) {
  const bool strikes = Strikes(forwarded);
  if (strikes && bugs_.skip) return;
  if (strikes && bugs_.leave) return Leave();
  if (strikes) silent_ |= bugs_.silent;
  if (silent_) return;
  if (strikes && bugs_.late > absl::ZeroDuration()) absl::SleepFor(bugs_.late);
  if (strikes && bugs_.corrupt) record[crypto::kRecordHeaderSize] ^= 1;
  if (strikes && bugs_.garbage) record.assign(record.size(), 0xA5);
  if (strikes && bugs_.twice) {
    const Bytes once = record;
    record.insert(record.end(), once.begin(), once.end());
  }
  for (uint32_t t = 0; t < step.target_count; ++t) {
    Lane& lane = lanes_[run.plan->targets[step.first_target + t]];
    if (lane.first.empty()) lane.first = record;
    const Bytes& goes = strikes && bugs_.stale ? lane.first : record;
    lane.out.insert(lane.out.end(), goes.begin(), goes.end());
  }
}

bool Rogue::Pump() {
  bool moved = false;
  uint8_t buffer[1 << 16];
  for (Lane& lane : lanes_) {
    if (lane.fd < 0 || lane.ended) continue;
    while (!silent_) {
      const ssize_t n = recv(lane.fd, buffer, sizeof(buffer), MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN)) lane.ended = true;
      if (n <= 0) break;
      lane.in.insert(lane.in.end(), buffer, buffer + n);
      moved = true;
    }
    if (lane.out.empty()) continue;
    const ssize_t n = send(lane.fd, lane.out.data(), lane.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) lane.ended = true;
    if (n <= 0) continue;
    lane.out.erase(lane.out.begin(), lane.out.begin() + n);
    moved = true;
  }
  return moved;
}

void Rogue::Wait() {
  std::vector<pollfd> fds;
  for (const Lane& lane : lanes_) {
    if (lane.fd < 0 || lane.ended) continue;
    const int events = (silent_ ? 0 : POLLIN) | (lane.out.empty() ? 0 : POLLOUT);
    fds.push_back({lane.fd, static_cast<short>(events), 0});
  }
  poll(fds.data(), fds.size(), 10);
}

void Rogue::Leave() {
  for (Lane& lane : lanes_) {
    if (lane.fd >= 0) close(lane.fd);
    lane.fd = -1;
    lane.ended = true;
  }
}

}  // namespace caravan::adversary
