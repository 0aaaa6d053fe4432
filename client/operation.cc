// SPDX-License-Identifier: Apache-2.0
#include "client/operation.h"

#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace caravan {

size_t SizeOf(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
      return 1;
    case DataType::kFloat16:
    case DataType::kBfloat16:
    case DataType::kInt16:
    case DataType::kUint16:
      return 2;
    case DataType::kFloat32:
    case DataType::kInt32:
    case DataType::kUint32:
      return 4;
    case DataType::kFloat64:
    case DataType::kInt64:
    case DataType::kUint64:
      return 8;
  }
  return 0;
}

namespace client {
namespace {

absl::string_view Name(Operation op) {
  switch (op) {
    case Operation::kAllReduce:
      return "allreduce";
    case Operation::kAllGather:
      return "allgather";
    case Operation::kReduceScatter:
      return "reducescatter";
    case Operation::kBroadcast:
      return "broadcast";
    case Operation::kSend:
      return "send";
    case Operation::kRecv:
      return "recv";
    case Operation::kBarrier:
      return "barrier";
    case Operation::kAllGatherV:
      return "allgatherv";
    case Operation::kGather:
      return "gather";
    case Operation::kScatter:
      return "scatter";
    case Operation::kReduce:
      return "reduce";
    case Operation::kAllToAll:
      return "alltoall";
    case Operation::kAllToAllV:
      return "alltoallv";
  }
  return "unknown operation";
}

template <typename... T>
absl::Status Invalid(Operation op, const T&... what) {
  return absl::InvalidArgumentError(absl::StrCat(Name(op), ": ", what...));
}

absl::Status CheckRange(Operation op, absl::string_view name, const Place& place, uint64_t bytes) {
  if (place.id == 0) return Invalid(op, name, " has no buffer");
  if (place.offset > place.size || bytes > place.size - place.offset) {
    return Invalid(op, name, " of ", bytes, " bytes at offset ", place.offset,
                   " leaves its buffer of ", place.size, " bytes");
  }
  return absl::OkStatus();
}

// Bytes of the input and of the output.
struct Extent {
  uint64_t input = 0;
  uint64_t output = 0;
};

bool HasCounts(Operation op) { return op == Operation::kAllGatherV || op == Operation::kAllToAllV; }

// Elements before rank `end`, or an error where there is not one count a rank or they overflow.
absl::StatusOr<uint64_t> SumOf(const Arguments& a, absl::Span<const uint64_t> counts,
                               absl::string_view name, int size, int end) {
  if (counts.size() != static_cast<size_t>(size)) {
    return Invalid(a.op, counts.size(), " ", name, ", expected one for each of ", size, " ranks");
  }
  const uint64_t limit = std::numeric_limits<uint64_t>::max() / SizeOf(a.dtype);
  uint64_t sum = 0;
  for (int rank = 0; rank < end; ++rank) {
    if (counts[rank] > limit - sum) return Invalid(a.op, "the sum of the ", name, " overflows");
    sum += counts[rank];
  }
  return sum;
}

absl::StatusOr<Extent> ExtentOfCounts(const Arguments& a, int rank, int size) {
  const uint64_t element = SizeOf(a.dtype);
  const bool gathers = a.op == Operation::kAllGatherV;
  auto sent = SumOf(a, a.counts, gathers ? "counts" : "send counts", size, size);
  if (!sent.ok()) return sent.status();
  if (gathers) return Extent{a.counts[rank] * element, *sent * element};
  auto received = SumOf(a, a.receive_counts, "receive counts", size, size);
  if (!received.ok()) return received.status();
  if (a.counts[rank] != a.receive_counts[rank]) {
    return Invalid(a.op, "rank ", rank, " sends itself ", a.counts[rank], " elements and receives ",
                   a.receive_counts[rank]);
  }
  return Extent{*sent * element, *received * element};
}

absl::StatusOr<Extent> ExtentOf(const Arguments& a, int rank, int size) {
  if (HasCounts(a.op)) return ExtentOfCounts(a, rank, size);
  const uint64_t element = SizeOf(a.dtype);
  if (a.count > std::numeric_limits<uint64_t>::max() / element / static_cast<uint64_t>(size)) {
    return Invalid(a.op, "count of ", a.count, " elements overflows");
  }
  const uint64_t own = a.count * element;
  const uint64_t all = own * static_cast<uint64_t>(size);
  switch (a.op) {
    case Operation::kAllReduce:
    case Operation::kBroadcast:
      return Extent{own, own};
    case Operation::kAllGather:
      return Extent{own, all};
    case Operation::kReduceScatter:
      return Extent{all, own};
    case Operation::kSend:
      return Extent{own, 0};
    case Operation::kRecv:
      return Extent{0, own};
    case Operation::kBarrier:
      return Extent{0, 0};
    case Operation::kGather:
      return Extent{own, rank == a.root ? all : 0};
    case Operation::kScatter:
      return Extent{rank == a.root ? all : 0, own};
    case Operation::kReduce:
      return Extent{own, rank == a.root ? own : 0};
    case Operation::kAllToAll:
      return Extent{all, all};
    case Operation::kAllGatherV:
    case Operation::kAllToAllV:
      break;
  }
  return Invalid(a.op, "value ", static_cast<int>(a.op));
}

// Whether input and output share memory as NCCL has it.
bool InPlace(const Arguments& a, int rank) {
  const uint64_t in = a.input.offset;
  const uint64_t out = a.output.offset;
  const uint64_t share = static_cast<uint64_t>(rank) * a.count * SizeOf(a.dtype);
  switch (a.op) {
    case Operation::kAllGather:
    case Operation::kGather:
      return in == out + share;
    case Operation::kAllGatherV:
      return in == out + *SumOf(a, a.counts, "counts", static_cast<int>(a.counts.size()), rank) *
                             SizeOf(a.dtype);
    case Operation::kReduceScatter:
    case Operation::kScatter:
      return out == in + share;
    case Operation::kAllToAll:
    case Operation::kAllToAllV:
      return false;
    default:
      return in == out;
  }
}

absl::Status CheckOverlap(const Arguments& a, const Extent& extent, int rank) {
  if (a.input.id != a.output.id || extent.input == 0 || extent.output == 0) {
    return absl::OkStatus();
  }
  const uint64_t in = a.input.offset;
  const uint64_t out = a.output.offset;
  if (in + extent.input <= out || out + extent.output <= in) return absl::OkStatus();
  if (InPlace(a, rank)) return absl::OkStatus();
  return Invalid(a.op, "input at offset ", in, " and output at offset ", out,
                 " overlap, but not in place");
}

}  // namespace

absl::StatusOr<v1::SubmitEntry> BuildEntry(const Arguments& a, int rank, int size) {
  if (SizeOf(a.dtype) == 0) {
    return Invalid(a.op, "unknown data type ", static_cast<int>(a.dtype));
  }
  if (a.reduce < ReduceOp::kSum || a.reduce > ReduceOp::kAvg) {
    return Invalid(a.op, "unknown reduction ", static_cast<int>(a.reduce));
  }
  if (a.algorithm > Algorithm::kBruckForward) {
    return Invalid(a.op, "unknown algorithm ", static_cast<int>(a.algorithm));
  }
  if (a.root < 0 || a.root >= size) {
    return Invalid(a.op, "root ", a.root, " is not a rank of ", size);
  }
  const bool paired = a.op == Operation::kSend || a.op == Operation::kRecv;
  if (paired && (a.peer < 0 || a.peer >= size || a.peer == rank)) {
    return Invalid(a.op, "peer ", a.peer, " is not another rank of ", size);
  }
  auto extent = ExtentOf(a, rank, size);
  if (!extent.ok()) return extent.status();

  Place input = a.input;
  Place output = a.output;
  // NCCL ignores what the root alone reads or writes on the other ranks.
  if (a.root != rank) {
    if (a.op == Operation::kBroadcast || a.op == Operation::kScatter) input = a.output;
    if (a.op == Operation::kReduce || a.op == Operation::kGather) output = a.input;
  }
  if (a.op != Operation::kRecv && a.op != Operation::kBarrier) {
    if (auto s = CheckRange(a.op, "input", input, extent->input); !s.ok()) return s;
  }
  if (a.op != Operation::kSend && a.op != Operation::kBarrier) {
    if (auto s = CheckRange(a.op, "output", output, extent->output); !s.ok()) return s;
  }
  Arguments checked = a;
  checked.input = input;
  checked.output = output;
  if (auto s = CheckOverlap(checked, *extent, rank); !s.ok()) return s;

  v1::SubmitEntry entry{};
  entry.op = static_cast<uint8_t>(a.op);
  entry.dtype = static_cast<uint8_t>(a.dtype);
  entry.reduce = static_cast<uint8_t>(a.reduce);
  entry.algorithm = static_cast<uint8_t>(a.algorithm);
  entry.root = static_cast<uint16_t>(a.root);
  entry.peer = static_cast<uint16_t>(a.peer);
  entry.count = a.count;
  if (HasCounts(a.op)) entry.count = *SumOf(a, a.counts, "counts", size, size);
  entry.input_buffer = input.id;
  entry.output_buffer = output.id;
  entry.input_offset = input.offset;
  entry.output_offset = output.offset;
  return entry;
}

}  // namespace client
}  // namespace caravan
