// SPDX-License-Identifier: Apache-2.0
//
// Which algorithm's steps make up which operation.
#include "collective/algorithms/operations.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "collective/algorithms/halves.h"
#include "collective/plan/partition.h"

namespace caravan::collective {
namespace {

constexpr uint16_t kReducePhase = 0;
constexpr uint16_t kGatherPhase = 1;
// How many chunk positions the reduce-scatter of an AllReduce is listed ahead of its all-gather:
// far enough that lanes have something to send while the first chunks come together, near enough
// that a reduced chunk is sealed while it is still in cache.
constexpr uint32_t kGatherLag = 2;

absl::Status AllReduce(PlanBuilder& builder) {
  if (builder.spec().algorithm == Algorithm::kOneShot) {
    OneShotAllReduce(builder);
    return absl::OkStatus();
  }
  const Blocks blocks = Blocks::Balanced(builder.spec(), builder.size());
  std::unique_ptr<ReduceHalf> reduce;
  std::unique_ptr<GatherHalf> gather;
  switch (builder.spec().algorithm) {
    case Algorithm::kDirect:
      reduce = DirectReduce(builder, blocks, Layout::kWhole, kReducePhase);
      gather = DirectGather(builder, blocks, reduce.get(), kGatherPhase);
      break;
    case Algorithm::kRing:
      reduce = RingReduce(builder, blocks, Layout::kWhole, kReducePhase);
      gather = RingGather(builder, blocks, reduce.get(), kGatherPhase);
      break;
    case Algorithm::kRingForward:
      reduce = RingReduce(builder, blocks, Layout::kWhole, kReducePhase);
      gather = RingForwardGather(builder, blocks, reduce.get(), kGatherPhase);
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

absl::Status AllGather(PlanBuilder& builder, const Blocks& blocks) {
  std::unique_ptr<GatherHalf> gather;
  switch (builder.spec().algorithm) {
    case Algorithm::kDirect:
      gather = DirectGather(builder, blocks, nullptr, 0);
      break;
    case Algorithm::kRingForward:
      gather = RingForwardGather(builder, blocks, nullptr, 0);
      break;
    case Algorithm::kDoublingForward:
      gather = DoublingForwardGather(builder, blocks);
      break;
    default:
      return DoesNotFit(builder.spec());
  }
  for (uint32_t c = 0; c < blocks.max_chunks(); ++c) gather->AddChunk(c);
  return absl::OkStatus();
}

absl::Status ReduceScatter(PlanBuilder& builder) {
  const Blocks blocks = Blocks::Uniform(builder.spec(), builder.size());
  std::unique_ptr<ReduceHalf> reduce;
  switch (builder.spec().algorithm) {
    case Algorithm::kDirect:
      reduce = DirectReduce(builder, blocks, Layout::kBlock, 0);
      break;
    case Algorithm::kRing:
      reduce = RingReduce(builder, blocks, Layout::kBlock, 0);
      break;
    default:
      return DoesNotFit(builder.spec());
  }
  for (uint32_t c = 0; c < blocks.max_chunks(); ++c) reduce->AddChunk(c);
  return absl::OkStatus();
}

void Broadcast(PlanBuilder& builder) {
  if (builder.spec().algorithm == Algorithm::kChainForward) return ChainForwardBroadcast(builder);
  if (builder.spec().algorithm == Algorithm::kBinomialForward) {
    return BinomialForwardBroadcast(builder);
  }
  DirectBroadcast(builder);
}

void AllToAll(PlanBuilder& builder) {
  if (builder.spec().algorithm == Algorithm::kBruckForward) return BruckForwardAllToAll(builder);
  const Blocks blocks = Blocks::Uniform(builder.spec(), builder.size());
  DirectAllToAll(builder, blocks, blocks);
}

void AllToAllV(PlanBuilder& builder) {
  const OperationSpec& spec = builder.spec();
  DirectAllToAll(builder, Blocks::Uneven(spec, spec.counts, true),
                 Blocks::Uneven(spec, spec.receive_counts, true));
}

void Reduce(PlanBuilder& builder) {
  if (builder.spec().algorithm == Algorithm::kRing) return RingReduceToRoot(builder);
  DirectReduceToRoot(builder);
}

}  // namespace

absl::Status DoesNotFit(const OperationSpec& spec) {
  const std::string_view name = Name(spec.algorithm);
  return absl::UnimplementedError(absl::StrCat(absl::string_view(name.data(), name.size()),
                                               " cannot carry ", spec.Describe(),
                                               ": choose another algorithm"));
}

absl::Status AddSteps(PlanBuilder& builder) {
  const OperationSpec& spec = builder.spec();
  switch (spec.op) {
    case Operation::kAllReduce:
      return AllReduce(builder);
    case Operation::kAllGather:
      return AllGather(builder, Blocks::Uniform(spec, builder.size()));
    case Operation::kAllGatherV:
      return AllGather(builder, Blocks::Uneven(spec, spec.counts, false));
    case Operation::kReduceScatter:
      return ReduceScatter(builder);
    case Operation::kBroadcast:
      Broadcast(builder);
      return absl::OkStatus();
    case Operation::kGather:
      DirectGatherToRoot(builder);
      return absl::OkStatus();
    case Operation::kScatter:
      DirectScatterFromRoot(builder);
      return absl::OkStatus();
    case Operation::kReduce:
      Reduce(builder);
      return absl::OkStatus();
    case Operation::kAllToAll:
      AllToAll(builder);
      return absl::OkStatus();
    case Operation::kAllToAllV:
      AllToAllV(builder);
      return absl::OkStatus();
    case Operation::kSend:
    case Operation::kRecv:
      SendRecv(builder);
      return absl::OkStatus();
    case Operation::kBarrier:
      DirectBarrier(builder);
      return absl::OkStatus();
  }
  return DoesNotFit(spec);
}

}  // namespace caravan::collective
