// SPDX-License-Identifier: Apache-2.0
#include "collective/plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "collective/halves.h"
#include "collective/partition.h"
#include "collective/plan_builder.h"
#include "collective/selector.h"

namespace caravan::collective {
namespace {

constexpr uint16_t kReducePhase = 0;
constexpr uint16_t kGatherPhase = 1;
// How many chunk positions the reduce-scatter of an AllReduce is listed ahead of its all-gather:
// far enough that lanes have something to send while the first chunks come together, near enough
// that a reduced chunk is sealed while it is still in cache.
constexpr uint32_t kGatherLag = 2;
// A plan of this many chunks is about 300 MB of steps.
constexpr uint64_t kMaxChunks = uint64_t{1} << 20;
// An AllReduce has between three and four steps for each chunk of the vector, the others fewer.
constexpr uint64_t kStepsPerChunk = 3;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status DoesNotFit(const OperationSpec& spec) {
  return absl::UnimplementedError(absl::StrCat(View(Name(spec.algorithm)), " cannot carry ",
                                               spec.Describe(), ": choose another algorithm"));
}

uint64_t WholeBytes(const OperationSpec& spec, int size) {
  const bool blocks = spec.op == Operation::kAllGather || spec.op == Operation::kReduceScatter;
  return spec.bytes() * (blocks ? static_cast<uint64_t>(size) : 1);
}

absl::Status AllReduce(PlanBuilder& builder) {
  const uint32_t p = static_cast<uint32_t>(builder.size());
  const Blocks blocks = Blocks::Balanced(builder.spec(), builder.size());
  std::unique_ptr<ReduceHalf> reduce;
  std::unique_ptr<GatherHalf> gather;
  switch (builder.spec().algorithm) {
    case Algorithm::kDirect:
      reduce = DirectReduce(builder, blocks, Layout::kWhole, kReducePhase);
      gather = DirectGather(builder, blocks, reduce.get(), kGatherPhase);
      builder.SetCost(2, 2);
      break;
    case Algorithm::kRing:
      reduce = RingReduce(builder, blocks, Layout::kWhole, kReducePhase);
      gather = RingGather(builder, blocks, reduce.get(), kGatherPhase);
      builder.SetCost(2 * (p - 1), 2 * (p - 1));
      break;
    case Algorithm::kRingForward:
      reduce = RingReduce(builder, blocks, Layout::kWhole, kReducePhase);
      gather = RingForwardGather(builder, blocks, reduce.get(), kGatherPhase);
      builder.SetCost(2 * (p - 1), p);
      break;
    default:
      return DoesNotFit(builder.spec());
  }
  for (uint32_t c = 0; c < blocks.max_chunks() + kGatherLag; ++c) {
    if (c < blocks.max_chunks()) reduce->AddChunk(c);
    if (c >= kGatherLag) gather->AddChunk(c - kGatherLag);
  }
  return absl::OkStatus();
}

absl::Status AllGather(PlanBuilder& builder) {
  const uint32_t p = static_cast<uint32_t>(builder.size());
  const Blocks blocks = Blocks::Uniform(builder.spec(), builder.size());
  std::unique_ptr<GatherHalf> gather;
  switch (builder.spec().algorithm) {
    case Algorithm::kDirect:
      gather = DirectGather(builder, blocks, nullptr, 0);
      builder.SetCost(1, 1);
      break;
    case Algorithm::kRingForward:
      gather = RingForwardGather(builder, blocks, nullptr, 0);
      builder.SetCost(p - 1, 1);
      break;
    default:
      return DoesNotFit(builder.spec());
  }
  for (uint32_t c = 0; c < blocks.max_chunks(); ++c) gather->AddChunk(c);
  return absl::OkStatus();
}

absl::Status ReduceScatter(PlanBuilder& builder) {
  const uint32_t p = static_cast<uint32_t>(builder.size());
  const Blocks blocks = Blocks::Uniform(builder.spec(), builder.size());
  std::unique_ptr<ReduceHalf> reduce;
  switch (builder.spec().algorithm) {
    case Algorithm::kDirect:
      reduce = DirectReduce(builder, blocks, Layout::kBlock, 0);
      builder.SetCost(1, 1);
      break;
    case Algorithm::kRing:
      reduce = RingReduce(builder, blocks, Layout::kBlock, 0);
      builder.SetCost(p - 1, p - 1);
      break;
    default:
      return DoesNotFit(builder.spec());
  }
  for (uint32_t c = 0; c < blocks.max_chunks(); ++c) reduce->AddChunk(c);
  return absl::OkStatus();
}

absl::Status Broadcast(PlanBuilder& builder) {
  switch (builder.spec().algorithm) {
    case Algorithm::kDirect:
      DirectBroadcast(builder);
      return absl::OkStatus();
    case Algorithm::kChainForward:
      ChainForwardBroadcast(builder);
      return absl::OkStatus();
    default:
      return DoesNotFit(builder.spec());
  }
}

// One rank alone: every operation is a copy, averages included.
absl::Status CopyAll(PlanBuilder& builder) {
  const Blocks vector = Blocks::Uniform(builder.spec(), 1);
  if (builder.spec().bytes() == 0) return absl::OkStatus();
  for (uint32_t c = 0; c < vector.max_chunks(); ++c) {
    const uint64_t offset = vector.Offset(0, c);
    builder.Local(vector.Bytes(0, c), {Place::kInput, offset}, {Place::kOutput, offset});
  }
  return absl::OkStatus();
}

absl::Status AddSteps(PlanBuilder& builder) {
  switch (builder.spec().op) {
    case Operation::kAllReduce:
      return AllReduce(builder);
    case Operation::kAllGather:
      return AllGather(builder);
    case Operation::kReduceScatter:
      return ReduceScatter(builder);
    case Operation::kBroadcast:
      return Broadcast(builder);
    case Operation::kSend:
    case Operation::kRecv:
      SendRecv(builder);
      return absl::OkStatus();
    case Operation::kBarrier:
      DirectBarrier(builder);
      return absl::OkStatus();
  }
  return DoesNotFit(builder.spec());
}

}  // namespace

uint64_t Plan::input_bytes() const {
  switch (spec.op) {
    case Operation::kReduceScatter:
      return spec.bytes() * static_cast<uint64_t>(size);
    case Operation::kBroadcast:
      return rank == spec.root ? spec.bytes() : 0;
    case Operation::kRecv:
      return 0;
    default:
      return spec.bytes();
  }
}

uint64_t Plan::output_bytes() const {
  switch (spec.op) {
    case Operation::kAllGather:
      return spec.bytes() * static_cast<uint64_t>(size);
    case Operation::kSend:
      return 0;
    default:
      return spec.bytes();
  }
}

absl::StatusOr<uint32_t> Plan::FindOpen(uint16_t phase, uint16_t source, uint16_t destination,
                                        uint32_t chunk) const {
  const auto it = stream_index_.find(StreamKey(phase, source, destination));
  if (it != stream_index_.end() && chunk <= streams[it->second].last_chunk) {
    const uint32_t step = chunk_step_[stream_first_[it->second] + chunk];
    if (step != kNoStep && steps[step].kind == StepKind::kOpen) return step;
  }
  return absl::NotFoundError(absl::StrCat("no record of source ", source, ", destination ",
                                          destination, ", phase ", phase, ", chunk ", chunk,
                                          " belongs to ", spec.Describe(), " at rank ", rank));
}

const Stream& Plan::StreamOf(const Step& step) const {
  return streams[stream_index_.at(StreamKey(step.phase, step.source, step.destination))];
}

std::string Plan::Explain() const {
  std::string out =
      absl::StrFormat("%s on rank %d of %d by %s, chunks of %d KiB\n", spec.Describe(), rank, size,
                      View(Name(spec.algorithm)), 1 << (spec.chunk_log2 - 10));
  absl::StrAppendFormat(&out, "  rounds %u, crypto depth %u, %u steps, %u streams\n", rounds,
                        crypto_depth, steps.size(), streams.size());
  absl::StrAppendFormat(&out, "  sealed    %12u bytes in %u records\n", counters.sealed,
                        counters.records_sealed);
  absl::StrAppendFormat(&out, "  opened    %12u bytes in %u records\n", counters.opened,
                        counters.records_opened);
  absl::StrAppendFormat(&out, "  forwarded %12u bytes as they came\n", counters.forwarded);
  absl::StrAppendFormat(&out, "  sent      %12u bytes in %u records\n", counters.sent,
                        counters.records_sent);
  absl::StrAppendFormat(&out, "  received  %12u bytes\n", counters.received);
  absl::StrAppendFormat(&out, "  memory: %u bytes of scratch, %u forward slots\n", scratch_bytes,
                        forward_slots);
  return out;
}

absl::StatusOr<std::shared_ptr<const Plan>> BuildPlan(const OperationSpec& spec, int rank,
                                                      int size) {
  if (absl::Status status = spec.Validate(rank, size); !status.ok()) return status;
  if (spec.algorithm == Algorithm::kAuto) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.Describe(), ": the algorithm must be resolved before a plan is built"));
  }
  if (WholeBytes(spec, size) >> spec.chunk_log2 > kMaxChunks) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.Describe(), ": more than ", kMaxChunks,
                     " chunks: split the operation or use longer chunks"));
  }
  // Asked here too, so that one rank alone refuses what two would.
  const absl::Span<const Algorithm> known = AlgorithmsFor(spec.op);
  if (std::find(known.begin(), known.end(), spec.algorithm) == known.end()) {
    return DoesNotFit(spec);
  }
  PlanBuilder builder(spec, rank, size);
  builder.Reserve(kStepsPerChunk * (WholeBytes(spec, size) >> spec.chunk_log2));
  const absl::Status status = size == 1 ? CopyAll(builder) : AddSteps(builder);
  if (!status.ok()) return status;
  return builder.Finish();
}

}  // namespace caravan::collective
