// SPDX-License-Identifier: Apache-2.0
#include "bench/collective_rank.h"

#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/daemon_counters.h"
#include "bench/harness/values.h"
#include "collective/cost/selector.h"
#include "collective/islands/islands.h"

namespace caravan::bench {
namespace {

constexpr char kName[] = "collective-perf";

template <typename T>
absl::StatusOr<T> Lookup(const std::string& flag, const std::string& word,
                         const std::map<std::string, T>& words) {
  const auto found = words.find(word);
  if (found != words.end()) return found->second;
  std::string all;
  for (const auto& [name, value] : words) absl::StrAppend(&all, " ", name);
  return absl::InvalidArgumentError(
      absl::StrCat("flag ", flag, ": \"", word, "\" is none of", all));
}

// What one engine's side of this rank holds.
struct Side {
  std::unique_ptr<Node> node;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Buffer> input;
  std::unique_ptr<Buffer> output;  // null: in place
  std::unique_ptr<DaemonCounters> counters;
  collective::SelectorTable table;
  std::string suite;
};

class CollectiveRank : public Rank {
 public:
  CollectiveRank(const Settings& settings, const CollectiveOptions& options, int rank,
                 std::vector<Side> sides)
      : settings_(settings),
        options_(options),
        rank_(rank),
        ranks_(settings.ranks),
        width_(ElementSize(settings.type)),
        sides_(std::move(sides)) {}

  // nccl-tests' size is the whole vector: an allgather's output, a reducescatter's input.
  uint64_t Count(uint64_t bytes) const override {
    return bytes / width_ / (Split() ? static_cast<uint64_t>(ranks_) : 1);
  }
  uint64_t Bytes(uint64_t count) const override {
    return count * width_ * (Split() ? static_cast<uint64_t>(ranks_) : 1);
  }
  double BusFactor() const override {
    const double n = ranks_;
    if (options_.kind == CollectiveKind::kAllReduce) return 2 * (n - 1) / n;
    return Split() ? (n - 1) / n : 1;
  }
  std::string Suite(int variant) const override {
    if (sides_.size() > 1 || options_.algorithms.size() == 1) return sides_[variant].suite;
    return std::string(collective::Name(collective::Algorithm(options_.algorithms[variant])));
  }

  void Fill(int variant, uint64_t count) override {
    const bool whole = options_.kind == CollectiveKind::kReduceScatter ||
                       options_.kind == CollectiveKind::kScatter ||
                       options_.kind == CollectiveKind::kAllToAll;
    const uint64_t elements = whole ? count * ranks_ : count;
    FillInput(settings_.type, settings_.redop, rank_, 0, elements, SideOf(variant).input->data());
  }

  absl::Status Run(int variant, uint64_t count) override {
    const absl::StatusOr<Work> work = Submit(SideOf(variant), AlgorithmOf(variant, count), count);
    return work.ok() ? work->Wait() : work.status();
  }

  uint64_t CountWrong(int variant, uint64_t count) override {
    const Side& side = SideOf(variant);
    const std::string& type = settings_.type;
    const std::string& redop = settings_.redop;
    uint8_t* data = side.output == nullptr ? side.input->data() : side.output->data();
    const bool root = rank_ == 0;
    switch (options_.kind) {
      case CollectiveKind::kReduce:
        return root ? CountWrongReduction(type, redop, ranks_, 0, count, data) : 0;
      case CollectiveKind::kScatter:
        return CountWrongCopy(type, redop, 0, rank_ * count, count, data);
      case CollectiveKind::kAllReduce:
        return CountWrongReduction(type, redop, ranks_, 0, count, data);
      case CollectiveKind::kReduceScatter:
        return CountWrongReduction(type, redop, ranks_, rank_ * count, count, data);
      case CollectiveKind::kBroadcast:
        return CountWrongCopy(type, redop, 0, 0, count, data);
      case CollectiveKind::kSendRecv:
        return CountWrongCopy(type, redop, Previous(), 0, count, data);
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kAllGather:
      case CollectiveKind::kGather: {
        if (options_.kind == CollectiveKind::kGather && !root) return 0;
        // From each rank's input comes its first block, or the block for this rank.
        const uint64_t first = options_.kind == CollectiveKind::kAllToAll ? rank_ * count : 0;
        uint64_t wrong = 0;
        for (int r = 0; r < ranks_; ++r) {
          wrong += CountWrongCopy(type, redop, r, first, count, data + r * count * width_);
        }
        return wrong;
      }
    }
    return 0;
  }

  absl::StatusOr<CryptoBytes> Crypto(int variant) override {
    return SideOf(variant).counters->Read();
  }

  Algorithm Chosen(uint64_t count) const {
    collective::OperationSpec spec;
    spec.op = OperationOf(options_.kind);
    spec.dtype = collective::DataType(options_.type);
    spec.count = count;
    const int local = options_.communicator.ranks_per_node;
    const auto chosen = collective::SelectFor(spec, {ranks_ / local, local}, sides_.front().table);
    return chosen.ok() ? Algorithm(chosen->algorithm) : Algorithm::kAuto;
  }

 private:
  bool Split() const {
    return options_.kind == CollectiveKind::kAllGather ||
           options_.kind == CollectiveKind::kReduceScatter ||
           options_.kind == CollectiveKind::kGather || options_.kind == CollectiveKind::kScatter ||
           options_.kind == CollectiveKind::kAllToAll;
  }
  Side& SideOf(int variant) { return sides_.size() > 1 ? sides_[variant] : sides_.front(); }
  Algorithm AlgorithmOf(int variant, uint64_t count) const {
    const Algorithm algorithm =
        options_.algorithms.size() > 1 ? options_.algorithms[variant] : options_.algorithms.front();
    if (algorithm != Algorithm::kAuto || sides_.size() == 1) return algorithm;
    return Chosen(count);
  }
  int Previous() const { return (rank_ + ranks_ - 1) % ranks_; }

  absl::StatusOr<Work> Submit(Side& side, Algorithm algorithm, uint64_t count) {
    Communicator& comm = *side.communicator;
    switch (options_.kind) {
      case CollectiveKind::kAllReduce:
        return comm.AllReduce({*side.input, {}, count, options_.type, options_.redop, algorithm});
      case CollectiveKind::kAllGather:
        return comm.AllGather({*side.input, *side.output, count, options_.type, algorithm});
      case CollectiveKind::kReduceScatter:
        return comm.ReduceScatter(
            {*side.input, *side.output, count, options_.type, options_.redop, algorithm});
      case CollectiveKind::kBroadcast:
        return comm.Broadcast({*side.input, *side.output, count, options_.type, 0, algorithm});
      case CollectiveKind::kReduce:
        return comm.Reduce(
            {*side.input, *side.output, count, options_.type, options_.redop, 0, algorithm});
      case CollectiveKind::kGather:
        return comm.Gather({*side.input, *side.output, count, options_.type, 0});
      case CollectiveKind::kScatter:
        return comm.Scatter({*side.input, *side.output, count, options_.type, 0});
      case CollectiveKind::kAllToAll:
        return comm.AllToAll({*side.input, *side.output, count, options_.type, algorithm});
      case CollectiveKind::kSendRecv:
        break;
    }
    const absl::StatusOr<Work> sent =
        comm.Send({*side.input, count, options_.type, (rank_ + 1) % ranks_});
    if (!sent.ok()) return sent.status();
    // Operations complete in order: the receive's end is the send's too.
    return comm.Recv({*side.output, count, options_.type, Previous()});
  }

  const Settings settings_;
  const CollectiveOptions options_;
  const int rank_;
  const int ranks_;
  const uint64_t width_;
  std::vector<Side> sides_;
};

absl::StatusOr<Side> ConnectSide(const Settings& settings, const CollectiveOptions& options,
                                 int rank, const NodePlace& place) {
  Side side;
  NodeOptions node_options;
  node_options.runtime_dir = place.runtime_dir;
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Connect(node_options);
  if (!node.ok()) return node.status();
  side.node = *std::move(node);
  const uint64_t bytes = std::max<uint64_t>(settings.max_bytes, 8);
  absl::StatusOr<std::unique_ptr<Buffer>> input = side.node->Allocate(bytes);
  if (!input.ok()) return input.status();
  side.input = *std::move(input);
  if (options.kind != CollectiveKind::kAllReduce) {
    absl::StatusOr<std::unique_ptr<Buffer>> output = side.node->Allocate(bytes);
    if (!output.ok()) return output.status();
    side.output = *std::move(output);
  }
  absl::StatusOr<std::unique_ptr<Communicator>> communicator = Communicator::Create(
      *side.node, {kName, place.root_address}, rank, settings.ranks, options.communicator);
  if (!communicator.ok()) return communicator.status();
  side.communicator = *std::move(communicator);
  side.counters = DaemonCounters::Connect(place.runtime_dir, kName);
  const absl::StatusOr<std::string> suite = side.counters->Suite();
  if (!suite.ok()) return suite.status();
  side.suite = *suite;
  auto table = side.counters->Table();
  if (!table.ok()) return table.status();
  side.table = *std::move(table);
  return side;
}

}  // namespace

collective::Operation OperationOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return collective::Operation::kAllReduce;
    case CollectiveKind::kAllGather:
      return collective::Operation::kAllGather;
    case CollectiveKind::kReduceScatter:
      return collective::Operation::kReduceScatter;
    case CollectiveKind::kBroadcast:
      return collective::Operation::kBroadcast;
    case CollectiveKind::kReduce:
      return collective::Operation::kReduce;
    case CollectiveKind::kGather:
      return collective::Operation::kGather;
    case CollectiveKind::kScatter:
      return collective::Operation::kScatter;
    case CollectiveKind::kAllToAll:
      return collective::Operation::kAllToAll;
    case CollectiveKind::kSendRecv:
      break;
  }
  return collective::Operation::kSend;
}

absl::StatusOr<CollectiveOptions> ReadCollectiveOptions(const Settings& settings) {
  CollectiveOptions options;
  const auto kind = Lookup<CollectiveKind>("--op", settings.extra.at("--op"),
                                           {{"all_reduce", CollectiveKind::kAllReduce},
                                            {"all_gather", CollectiveKind::kAllGather},
                                            {"reduce_scatter", CollectiveKind::kReduceScatter},
                                            {"broadcast", CollectiveKind::kBroadcast},
                                            {"reduce", CollectiveKind::kReduce},
                                            {"gather", CollectiveKind::kGather},
                                            {"scatter", CollectiveKind::kScatter},
                                            {"alltoall", CollectiveKind::kAllToAll},
                                            {"sendrecv", CollectiveKind::kSendRecv}});
  if (!kind.ok()) return kind.status();
  const auto type = Lookup<DataType>("-d", settings.type,
                                     {{"half", DataType::kFloat16},
                                      {"bfloat16", DataType::kBfloat16},
                                      {"float", DataType::kFloat32},
                                      {"double", DataType::kFloat64},
                                      {"int32", DataType::kInt32},
                                      {"uint32", DataType::kUint32},
                                      {"uint64", DataType::kUint64},
                                      {"int64", DataType::kInt64}});
  if (!type.ok()) return type.status();
  const auto redop = Lookup<ReduceOp>("-o", settings.redop,
                                      {{"sum", ReduceOp::kSum},
                                       {"prod", ReduceOp::kProd},
                                       {"min", ReduceOp::kMin},
                                       {"max", ReduceOp::kMax},
                                       {"avg", ReduceOp::kAvg}});
  if (!redop.ok()) return redop.status();
  const bool each = settings.extra.at("--algorithm") == "each";
  const auto algorithm =
      Lookup<Algorithm>("--algorithm", each ? "auto" : settings.extra.at("--algorithm"),
                        {{"auto", Algorithm::kAuto},
                         {"direct", Algorithm::kDirect},
                         {"ring", Algorithm::kRing},
                         {"ring-forward", Algorithm::kRingForward},
                         {"chain-forward", Algorithm::kChainForward},
                         {"doubling-forward", Algorithm::kDoublingForward},
                         {"one-shot", Algorithm::kOneShot},
                         {"binomial-forward", Algorithm::kBinomialForward},
                         {"bruck-forward", Algorithm::kBruckForward}});
  if (!algorithm.ok()) return algorithm.status();
  options.kind = *kind;
  options.type = *type;
  options.redop = *redop;
  options.algorithms = {*algorithm};
  if (each) {
    for (const auto known : collective::AlgorithmsFor(OperationOf(*kind))) {
      options.algorithms.push_back(Algorithm(known));
    }
  }
  options.communicator.suite = settings.extra.at("--suite");
  if (!absl::SimpleAtoi(settings.extra.at("--chunk-log2"), &options.communicator.chunk_log2)) {
    return absl::InvalidArgumentError("flag --chunk-log2: must be a number from 14 to 18");
  }
  if (!absl::SimpleAtoi(settings.extra.at("--lanes"), &options.communicator.lanes)) {
    return absl::InvalidArgumentError("flag --lanes: must be a number from 0 to 16");
  }
  if (!absl::SimpleAtoi(settings.extra.at("--ranks-per-node"),
                        &options.communicator.ranks_per_node) ||
      options.communicator.ranks_per_node < 1 || options.communicator.ranks_per_node > 64) {
    return absl::InvalidArgumentError("flag --ranks-per-node: must be a number from 1 to 64");
  }
  return options;
}

absl::StatusOr<std::unique_ptr<Rank>> MakeCollectiveRank(const Settings& settings,
                                                         const CollectiveOptions& options, int rank,
                                                         const std::vector<NodePlace>& places) {
  std::vector<Side> sides;
  for (const NodePlace& place : places) {
    absl::StatusOr<Side> side = ConnectSide(settings, options, rank, place);
    if (!side.ok()) return side.status();
    sides.push_back(*std::move(side));
  }
  return std::make_unique<CollectiveRank>(settings, options, rank, std::move(sides));
}

Algorithm ChosenBy(const Rank& rank, uint64_t count) {
  return static_cast<const CollectiveRank&>(rank).Chosen(count);
}

}  // namespace caravan::bench
