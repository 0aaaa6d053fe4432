// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/checked_call.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace caravan::testing {
namespace {

// collective::Operation's numbers.
enum {
  kAllReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kBroadcast = 4,
  kBarrier = 7,
  kAllGatherV = 8,
  kGather = 9,
  kScatter = 10,
  kReduce = 11,
  kAllToAll = 12,
  kAllToAllV = 13,
};

// Element i of a rank's input. Sums over a few hundred ranks stay whole numbers that a float holds.
float Element(int rank, uint64_t i) { return static_cast<float>(rank + 1 + i % 251); }
float Sum(int size, uint64_t i) {
  return static_cast<float>(size * (size + 1) / 2 + size * (i % 251));
}

// Where rank `rank`'s block for or from `other` begins.
uint64_t OffsetOf(const Call& call, int from, int to, bool received) {
  uint64_t offset = 0;
  for (int i = 0; i < (received ? from : to); ++i) {
    offset += received ? CountOf(call, i, to) : CountOf(call, from, i);
  }
  return offset;
}

absl::StatusOr<Work> Submit(Communicator& comm, Buffer& input, Buffer& output, const Call& call) {
  const DataType type = DataType::kFloat32;
  const ReduceOp sum = ReduceOp::kSum;
  const Algorithm by = call.algorithm;
  switch (call.op) {
    case kAllReduce:
      return comm.AllReduce({input, output, call.count, type, sum, by});
    case kAllGather:
      return comm.AllGather({input, output, call.count, type, by});
    case kReduceScatter:
      return comm.ReduceScatter({input, output, call.count, type, sum, by});
    case kBroadcast:
      return comm.Broadcast({input, output, call.count, type, call.root, by});
    case kBarrier:
      return comm.Barrier();
    case kGather:
      return comm.Gather({input, output, call.count, type, call.root});
    case kScatter:
      return comm.Scatter({input, output, call.count, type, call.root});
    case kReduce:
      return comm.Reduce({input, output, call.count, type, sum, call.root, by});
    case kAllToAll:
      return comm.AllToAll({input, output, call.count, type, by});
    default:
      break;
  }
  std::vector<uint64_t> sent;
  std::vector<uint64_t> received;
  for (int r = 0; r < comm.size(); ++r) {
    sent.push_back(CountOf(call, call.op == kAllGatherV ? r : comm.rank(), r));
    received.push_back(CountOf(call, r, comm.rank()));
  }
  if (call.op == kAllGatherV) return comm.AllGatherV({input, output, sent, type, by});
  if (call.op == kAllToAllV) return comm.AllToAllV({input, output, sent, received, type});
  return absl::InvalidArgumentError("no such call");
}

// What element i of a rank's output is.
std::function<float(uint64_t)> Expected(const Call& call, int rank, int size) {
  const uint64_t count = call.count;
  switch (call.op) {
    case kAllReduce:
    case kReduce:
      return [size](uint64_t i) { return Sum(size, i); };
    case kReduceScatter:
      return [=](uint64_t i) { return Sum(size, static_cast<uint64_t>(rank) * count + i); };
    case kBroadcast:
      return [root = call.root](uint64_t i) { return Element(root, i); };
    case kScatter:
      return [=, root = call.root](uint64_t i) {
        return Element(root, static_cast<uint64_t>(rank) * count + i);
      };
    case kAllGather:
    case kGather:
      return [=](uint64_t i) { return Element(static_cast<int>(i / count), i % count); };
    case kAllToAll:
      return [=](uint64_t i) {
        return Element(static_cast<int>(i / count),
                       static_cast<uint64_t>(rank) * count + i % count);
      };
    default:
      break;
  }
  // One block after another: where each ends, and where it begins in its rank's input.
  std::vector<uint64_t> ends;
  std::vector<uint64_t> firsts;
  uint64_t end = 0;
  for (int from = 0; from < size; ++from) {
    ends.push_back(end += CountOf(call, from, rank));
    firsts.push_back(call.op == kAllToAllV ? OffsetOf(call, from, rank, false) : 0);
  }
  return [ends = std::move(ends), firsts = std::move(firsts)](uint64_t i) {
    const auto from = std::upper_bound(ends.begin(), ends.end(), i) - ends.begin();
    return Element(static_cast<int>(from), firsts[from] + i - (from == 0 ? 0 : ends[from - 1]));
  };
}

}  // namespace

uint64_t CountOf(const Call& call, int from, int to) {
  if (call.op == kAllGatherV) return from % 3 == 2 ? 0 : call.count + static_cast<uint64_t>(from);
  if (call.count == 0 || (from + to) % 3 == 2) return 0;
  return call.count + static_cast<uint64_t>(2 * from + to);
}

uint64_t InputElements(const Call& call, int rank, int size) {
  switch (call.op) {
    case kBarrier:
      return 0;
    case kReduceScatter:
    case kAllToAll:
      return call.count * static_cast<uint64_t>(size);
    case kScatter:
      return rank == call.root ? call.count * static_cast<uint64_t>(size) : 0;
    case kAllGatherV:
      return CountOf(call, rank, 0);
    case kAllToAllV:
      return OffsetOf(call, rank, size, false);
    default:
      return call.count;
  }
}

uint64_t OutputElements(const Call& call, int rank, int size) {
  switch (call.op) {
    case kBarrier:
      return 0;
    case kAllGather:
    case kAllToAll:
      return call.count * static_cast<uint64_t>(size);
    case kGather:
      return rank == call.root ? call.count * static_cast<uint64_t>(size) : 0;
    case kReduce:
      return rank == call.root ? call.count : 0;
    case kAllGatherV:
    case kAllToAllV:
      return OffsetOf(call, size, rank, true);
    default:
      return call.count;
  }
}

absl::Status RunChecked(Communicator& communicator, Buffer& input, Buffer& output,
                        const Call& call) {
  const int rank = communicator.rank();
  const int size = communicator.size();
  const uint64_t in = InputElements(call, rank, size);
  const uint64_t out = OutputElements(call, rank, size);
  float* const from = input.As<float>();
  float* const to = output.As<float>();
  for (uint64_t i = 0; i < in; ++i) from[i] = Element(rank, i);
  if (from != to) std::fill_n(to, out, -1.0f);
  auto work = Submit(communicator, input, output, call);
  absl::Status status = work.ok() ? work->Wait() : work.status();
  if (!status.ok()) return status;
  const auto expected = Expected(call, rank, size);
  for (uint64_t i = 0; i < out; ++i) {
    if (to[i] == expected(i)) continue;
    return absl::DataLossError("operation " + std::to_string(call.op) + " by algorithm " +
                               std::to_string(static_cast<int>(call.algorithm)) + ", " +
                               std::to_string(call.count) + " elements: element " +
                               std::to_string(i) + " is " + std::to_string(to[i]));
  }
  return absl::OkStatus();
}

absl::Status RunChecked(Node& node, Communicator& communicator, const Call& call) {
  auto bytes = [](uint64_t elements) { return std::max<uint64_t>(elements, 1) * sizeof(float); };
  const int rank = communicator.rank();
  const int size = communicator.size();
  auto input = node.Allocate(bytes(InputElements(call, rank, size)));
  if (!input.ok()) return input.status();
  auto output = node.Allocate(bytes(OutputElements(call, rank, size)));
  if (!output.ok()) return output.status();
  return RunChecked(communicator, **input, **output, call);
}

}  // namespace caravan::testing
