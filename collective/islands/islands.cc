// SPDX-License-Identifier: Apache-2.0
#include "collective/islands/islands.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collective/algorithms/build_plan.h"
#include "collective/algorithms/operations.h"
#include "collective/islands/rail.h"
#include "collective/plan/plan_builder.h"

namespace caravan::collective {
namespace {

using Input = RailMemory::Input;

// Chunks of scratch in which inputs are added up before they are sealed.
constexpr uint32_t kReduceSlots = 8;
// No plan of a rail has more phases.
constexpr uint16_t kPhasesOfRail = 2;

bool HasOneRail(Operation op) {
  switch (op) {
    case Operation::kAllReduce:
    case Operation::kAllGather:
    case Operation::kAllGatherV:
    case Operation::kBroadcast:
    case Operation::kReduce:
    case Operation::kBarrier:
      return true;
    default:
      return false;
  }
}

// What the operation is between nodes: of the node as a whole where it has one rail, else of each
// rail but for the counts of AllToAllV.
OperationSpec BetweenNodes(const OperationSpec& spec, const Islands& islands) {
  OperationSpec between = spec;
  const uint64_t local = static_cast<uint64_t>(islands.local);
  between.root = static_cast<uint16_t>(spec.root / local);
  if (spec.op == Operation::kAllGather) between.count = spec.count * local;
  if (spec.op == Operation::kAllGatherV) {
    between.counts.assign(static_cast<size_t>(islands.nodes), 0);
    for (size_t rank = 0; rank < spec.counts.size(); ++rank) {
      between.counts[rank / local] += spec.counts[rank];
    }
  }
  return between;
}

uint64_t SumBefore(const std::vector<uint64_t>& counts, int end) {
  return std::accumulate(counts.begin(), counts.begin() + end, uint64_t{0});
}

class IslandPlan {
 public:
  IslandPlan(const std::vector<OperationSpec>& views, int node, const Islands& islands,
             PlanBuilder& builder)
      : views_(views),
        spec_(views.front()),
        node_(node),
        islands_(islands),
        element_(SizeOf(spec_.dtype)),
        block_(spec_.bytes()),
        root_(static_cast<uint16_t>(spec_.root % islands.local)),
        at_root_(HasRoot(spec_.op) && spec_.root / islands.local == node),
        merger_(builder, islands.local, NeedsScratch() ? kReduceSlots : 0) {}

  absl::Status Build() {
    absl::Status status;
    switch (spec_.op) {
      case Operation::kAllReduce:
      case Operation::kAllGather:
      case Operation::kAllGatherV:
      case Operation::kBroadcast:
      case Operation::kReduce:
      case Operation::kBarrier:
        status = AddRail(BetweenNodes(spec_, islands_), OneRail(), 0);
        break;
      case Operation::kReduceScatter:
      case Operation::kGather:
      case Operation::kScatter:
        for (int k = 0; k < islands_.local && status.ok(); ++k) {
          status = AddRail(BetweenNodes(spec_, islands_), RailOf(k), k);
        }
        break;
      case Operation::kAllToAll:
      case Operation::kAllToAllV:
        for (int from = 0; from < islands_.local && status.ok(); ++from) {
          for (int to = 0; to < islands_.local && status.ok(); ++to) {
            status = AddRail(BetweenPair(from, to), PairRail(from, to), from * islands_.local + to);
          }
        }
        break;
      default:
        return DoesNotFit(spec_);
    }
    merger_.Finish();
    return status;
  }

 private:
  bool NeedsScratch() const {
    return spec_.op == Operation::kReduceScatter || (spec_.op == Operation::kReduce && !at_root_);
  }

  absl::Status AddRail(const OperationSpec& between, const RailMemory& memory, int rail) {
    auto plan = BuildPlan(between, node_, islands_.nodes);
    if (!plan.ok()) return plan.status();
    return merger_.Add(**plan, memory, static_cast<uint16_t>(rail * kPhasesOfRail));
  }

  int Rank(int node, int local) const { return node * islands_.local + local; }

  // Where rank r's part of an AllGather begins.
  uint64_t GatheredAt(int rank) const {
    if (spec_.op == Operation::kAllGather) return static_cast<uint64_t>(rank) * block_;
    return SumBefore(spec_.counts, rank) * element_;
  }

  RailMemory OneRail() const {
    RailMemory memory;
    switch (spec_.op) {
      case Operation::kAllReduce:
        memory.kind = Input::kReduced;
        memory.input = memory.home = memory.output = {{0, block_, 0, 0}};
        memory.everyone = true;
        break;
      case Operation::kReduce:
        memory.kind = Input::kReduced;
        memory.input = {{0, block_, 0, 0}};
        if (at_root_) memory.home = memory.output = {{0, block_, root_, 0}};
        break;
      case Operation::kBroadcast:
        if (at_root_) memory.input = {{0, block_, root_, 0}};
        memory.output = {{0, block_, 0, 0}};
        memory.everyone = true;
        break;
      case Operation::kAllGather:
      case Operation::kAllGatherV: {
        const uint64_t begin = GatheredAt(Rank(node_, 0));
        memory.kind = Input::kGathered;
        for (int k = 0; k < islands_.local; ++k) {
          const uint64_t at = GatheredAt(Rank(node_, k));
          const uint64_t end = GatheredAt(Rank(node_, k + 1));
          memory.input.push_back({at - begin, end - at, static_cast<uint16_t>(k), 0});
        }
        memory.home = {{0, GatheredAt(Rank(node_ + 1, 0)) - begin, 0, begin}};
        memory.output = {{0, GatheredAt(islands_.ranks()), 0, 0}};
        memory.everyone = true;
        break;
      }
      default:
        break;
    }
    return memory;
  }

  // One block a node: that of the node's rank number `k`, in rank `local`'s vector of all ranks.
  std::vector<Stretch> Blocks(int k, int local) const {
    std::vector<Stretch> stretches;
    for (int n = 0; n < islands_.nodes; ++n) {
      stretches.push_back({static_cast<uint64_t>(n) * block_, block_, static_cast<uint16_t>(local),
                           static_cast<uint64_t>(Rank(n, k)) * block_});
    }
    return stretches;
  }

  // For ReduceScatter, Gather and Scatter between the ranks that are number `k` of their nodes.
  RailMemory RailOf(int k) const {
    const Stretch whole = {0, block_, static_cast<uint16_t>(k), 0};
    RailMemory memory;
    if (spec_.op == Operation::kReduceScatter) {
      memory.kind = Input::kReduced;
      memory.input = Blocks(k, 0);
      memory.home = {{static_cast<uint64_t>(node_) * block_, block_, static_cast<uint16_t>(k), 0}};
      memory.output = {whole};
    } else if (spec_.op == Operation::kGather) {
      memory.input = {whole};
      if (at_root_) memory.output = Blocks(k, root_);
    } else {
      if (at_root_) memory.input = Blocks(k, root_);
      memory.output = {whole};
    }
    return memory;
  }

  // The part of an AllToAll from the nodes' ranks number `from` to their ranks number `to`.
  OperationSpec BetweenPair(int from, int to) const {
    OperationSpec between = spec_;
    if (spec_.op == Operation::kAllToAll) return between;
    between.counts.clear();
    between.receive_counts.clear();
    for (int n = 0; n < islands_.nodes; ++n) {
      between.counts.push_back(views_[from].counts[Rank(n, to)]);
      between.receive_counts.push_back(views_[to].receive_counts[Rank(n, from)]);
    }
    between.count = SumBefore(between.counts, islands_.nodes);
    return between;
  }

  RailMemory PairRail(int from, int to) const {
    RailMemory memory;
    if (spec_.op == Operation::kAllToAll) {
      memory.input = Blocks(to, from);
      memory.output = Blocks(from, to);
      return memory;
    }
    memory.input = UnevenBlocks(views_[from].counts, to, from);
    memory.output = UnevenBlocks(views_[to].receive_counts, from, to);
    return memory;
  }

  std::vector<Stretch> UnevenBlocks(const std::vector<uint64_t>& counts, int k, int local) const {
    std::vector<Stretch> stretches;
    uint64_t begin = 0;
    for (int n = 0; n < islands_.nodes; ++n) {
      const uint64_t bytes = counts[Rank(n, k)] * element_;
      stretches.push_back(
          {begin, bytes, static_cast<uint16_t>(local), SumBefore(counts, Rank(n, k)) * element_});
      begin += bytes;
    }
    return stretches;
  }

  const std::vector<OperationSpec>& views_;
  const OperationSpec& spec_;
  const int node_;
  const Islands islands_;
  const uint64_t element_;
  const uint64_t block_;  // bytes of what `count` counts
  const uint16_t root_;   // its number on its node
  const bool at_root_;
  RailMerger merger_;
};

// The two local ends of each pair of an AllToAllV.
absl::Status CheckPairs(const std::vector<OperationSpec>& views, int first_rank) {
  const int local = static_cast<int>(views.size());
  for (int from = 0; from < local; ++from) {
    for (int to = 0; to < local; ++to) {
      const uint64_t sent = views[from].counts[first_rank + to];
      const uint64_t received = views[to].receive_counts[first_rank + from];
      if (sent == received) continue;
      return absl::InvalidArgumentError(absl::StrCat("rank ", first_rank + from, " sends ", sent,
                                                     " elements to rank ", first_rank + to,
                                                     ", which receives ", received));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAlike(const OperationSpec& first, int first_rank, const OperationSpec& view,
                        int rank) {
  if (first.Canonical() == view.Canonical()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("rank ", first_rank, " called ", first.Describe(),
                                                 ", rank ", rank, " called ", view.Describe()));
}

absl::StatusOr<Selection> SelectFor(const OperationSpec& spec, const Islands& islands,
                                    const SelectorTable& table) {
  if (islands.local == 1) return Select(spec, islands.nodes, table);
  if (spec.op == Operation::kSend || spec.op == Operation::kRecv) {
    return absl::UnimplementedError(
        absl::StrCat(spec.Describe(),
                     ": a communicator with several ranks on a node carries no messages "
                     "between two of them: split it so that each node has one"));
  }
  OperationSpec between = BetweenNodes(spec, islands);
  if (HasOneRail(spec.op)) return Select(between, islands.nodes, table);
  if (between.algorithm == Algorithm::kAuto) between.algorithm = Algorithm::kDirect;
  if (between.algorithm != Algorithm::kDirect) return DoesNotFit(between);
  return Select(between, islands.nodes, table);
}

absl::StatusOr<std::shared_ptr<const Plan>> BuildIslandPlan(const std::vector<OperationSpec>& views,
                                                            int node, const Islands& islands) {
  if (islands.local < 1 || islands.local > kMaxLocalRanks ||
      static_cast<size_t>(islands.local) != views.size()) {
    return absl::InvalidArgumentError(absl::StrCat(views.size(), " views of ", islands.local,
                                                   " ranks a node, at most ", kMaxLocalRanks));
  }
  const OperationSpec& spec = views.front();
  if (islands.local == 1) return BuildPlan(spec, node, islands.nodes);
  const int first_rank = node * islands.local;
  for (int k = 0; k < islands.local; ++k) {
    absl::Status status = views[k].Validate(first_rank + k, islands.ranks());
    if (status.ok()) status = CheckAlike(spec, first_rank, views[k], first_rank + k);
    if (!status.ok()) return status;
  }
  if (spec.op == Operation::kAllToAllV) {
    if (absl::Status status = CheckPairs(views, first_rank); !status.ok()) return status;
  }
  if (!HasOneRail(spec.op) && spec.algorithm != Algorithm::kDirect) return DoesNotFit(spec);
  PlanBuilder builder(views, node, islands.nodes);
  if (absl::Status status = IslandPlan(views, node, islands, builder).Build(); !status.ok()) {
    return status;
  }
  return builder.Finish();
}

}  // namespace caravan::collective
