// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/intake.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace caravan::engine {
namespace {

using collective::Operation::kAllToAllV;
using collective::Operation::kBarrier;
using collective::Operation::kRecv;
using collective::Operation::kSend;

// No range of one operation is larger: products below stay far from overflow.
constexpr uint64_t kMaxBytes = uint64_t{1} << 46;

absl::Status RingError(const v1::SubmitEntry& entry, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("entry ", entry.id, ": ", what, " [APPLICATION_RING]"));
}

absl::Status CheckFields(const v1::SubmitEntry& e) {
  if (e.op < 1 || e.op > static_cast<uint8_t>(kAllToAllV)) {
    return RingError(e, absl::StrCat("operation ", e.op, " does not exist: expected 1 to 13"));
  }
  if (e.dtype < 1 || e.dtype > static_cast<uint8_t>(collective::DataType::kUint64)) {
    return RingError(e,
                     absl::StrCat("element type ", e.dtype, " does not exist: expected 1 to 12"));
  }
  if (e.reduce < 1 || e.reduce > static_cast<uint8_t>(collective::ReduceOp::kAvg)) {
    return RingError(e, absl::StrCat("reduction ", e.reduce, " does not exist: expected 1 to 5"));
  }
  if (e.algorithm > static_cast<uint8_t>(collective::Algorithm::kBruckForward)) {
    return RingError(e,
                     absl::StrCat("algorithm ", e.algorithm, " does not exist: expected 0 to 8"));
  }
  const bool counts = HasCounts(static_cast<collective::Operation>(e.op));
  if (e.reserved != 0 || (!counts && (e.counts_buffer != 0 || e.counts_offset != 0))) {
    return RingError(e, "the fields that this operation does not use are not zero");
  }
  if (e.counts_offset % sizeof(uint64_t) != 0) {
    return RingError(e,
                     absl::StrCat("counts at offset ", e.counts_offset, ", not a multiple of 8"));
  }
  return absl::OkStatus();
}

absl::StatusOr<BufferRef> FindRange(const v1::SubmitEntry& entry, absl::string_view name,
                                    uint32_t id, uint64_t offset, uint64_t bytes,
                                    const BufferTable& buffers) {
  if (bytes == 0) return BufferRef();
  std::shared_ptr<SharedMemory> memory = buffers.Find(id);
  if (memory == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("entry ", entry.id, ": ", name, " buffer ", id,
                                                   " does not exist [APPLICATION_BUFFER]"));
  }
  if (offset > memory->size() || bytes > memory->size() - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("entry ", entry.id, ": the ", name, " of ", bytes, " bytes at offset ", offset,
                     " leaves buffer ", id, " of ", memory->size(), " bytes [APPLICATION_BUFFER]"));
  }
  return BufferRef{std::move(memory), offset, bytes};
}

// The counts of an operation whose counts differ by rank. The application may write the buffer
// meanwhile: they are copied once, and the copies are checked.
absl::Status CopyCounts(const v1::SubmitEntry& entry, const IntakeRules& rules,
                        collective::OperationSpec& spec) {
  const size_t ranks = static_cast<size_t>(rules.islands.ranks());
  const uint64_t bytes = ranks * sizeof(uint64_t);
  const bool both = spec.op == kAllToAllV;
  auto counts = FindRange(entry, "counts", entry.counts_buffer, entry.counts_offset,
                          both ? 2 * bytes : bytes, *rules.buffers);
  if (!counts.ok()) return counts.status();
  const uint8_t* from = counts->host();
  spec.counts.resize(ranks);
  std::memcpy(spec.counts.data(), from, bytes);
  if (!both) return absl::OkStatus();
  spec.receive_counts.resize(ranks);
  std::memcpy(spec.receive_counts.data(), from + bytes, bytes);
  return absl::OkStatus();
}

// Ranges may be apart, or in place by NCCL's conventions.
bool OverlapIsInPlace(const LocalPart& part, uint16_t rank) {
  if (!part.input.Meets(part.output)) return true;
  const collective::InPlace shared = part.spec.InPlaceOffsets(rank);
  return shared.allowed && part.input.offset + shared.output == part.output.offset + shared.input;
}

// Where each rank has its node the reason is not asked for: telling it takes longer than choosing.
absl::StatusOr<collective::Algorithm> Choose(const collective::OperationSpec& spec,
                                             const IntakeRules& rules) {
  if (rules.islands.local == 1) {
    return collective::Resolve(spec, rules.islands.nodes, *rules.selector);
  }
  auto selection = collective::SelectFor(spec, rules.islands, *rules.selector);
  if (!selection.ok()) return selection.status();
  return selection->algorithm;
}

}  // namespace

absl::StatusOr<Submission> CheckEntry(const v1::SubmitEntry& entry, const IntakeRules& rules) {
  if (auto s = CheckFields(entry); !s.ok()) return s;
  const int size = rules.islands.ranks();
  LocalPart result;
  collective::OperationSpec& spec = result.spec;
  spec.op = static_cast<collective::Operation>(entry.op);
  spec.dtype = static_cast<collective::DataType>(entry.dtype);
  spec.algorithm = static_cast<collective::Algorithm>(entry.algorithm);
  spec.root = HasRoot(spec.op) ? entry.root : 0;
  spec.peer = spec.op == kSend || spec.op == kRecv ? entry.peer : 0;
  spec.count = entry.count;
  spec.chunk_log2 = rules.chunk_log2;
  // Where nothing is reduced the field says nothing: one value, so that all ranks agree.
  if (Reduces(spec.op)) spec.reduce = static_cast<collective::ReduceOp>(entry.reduce);
  if (spec.op == kBarrier) {
    spec.dtype = collective::DataType::kFloat32;
    if (spec.count != 0) return RingError(entry, "a barrier has a count: expected 0");
  }
  if (spec.count > kMaxBytes / SizeOf(spec.dtype) / static_cast<uint64_t>(size)) {
    return RingError(entry, absl::StrCat("a count of ", spec.count, " is out of range"));
  }
  if (HasCounts(spec.op)) {
    if (auto s = CopyCounts(entry, rules, spec); !s.ok()) return s;
  }
  if (auto s = spec.Validate(rules.rank, size); !s.ok()) return RingError(entry, s.message());
  auto algorithm = Choose(spec, rules);
  if (!algorithm.ok()) {
    return absl::Status(algorithm.status().code(),
                        RingError(entry, algorithm.status().message()).message());
  }
  spec.algorithm = *algorithm;

  const uint64_t in_bytes = spec.InputBytes(rules.rank, size);
  const uint64_t out_bytes = spec.OutputBytes(rules.rank, size);
  auto input =
      FindRange(entry, "input", entry.input_buffer, entry.input_offset, in_bytes, *rules.buffers);
  if (!input.ok()) return input.status();
  auto output = FindRange(entry, "output", entry.output_buffer, entry.output_offset, out_bytes,
                          *rules.buffers);
  if (!output.ok()) return output.status();
  result.input = *std::move(input);
  result.output = *std::move(output);
  if (!OverlapIsInPlace(result, rules.rank)) {
    return absl::InvalidArgumentError(
        absl::StrCat("entry ", entry.id, ": input and output of ", spec.Describe(),
                     " overlap and are not in place [APPLICATION_BUFFER]"));
  }
  Submission submission;
  submission.id = entry.id;
  submission.parts.push_back(std::move(result));
  return submission;
}

}  // namespace caravan::engine
