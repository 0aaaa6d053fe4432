// SPDX-License-Identifier: Apache-2.0
#include "collective/plan/partition.h"

#include <algorithm>
#include <utility>

namespace caravan::collective {
namespace {

constexpr uint64_t kVectorBytes = 64;
// Blocks of at least this many bytes are at most 1/16 off balance on 64-byte borders.
constexpr uint64_t kAlignedBlockBytes = 16 * kVectorBytes;

}  // namespace

Blocks::Blocks(std::vector<uint64_t> begin, int chunk_log2, bool announced)
    : begin_(std::move(begin)), chunk_size_(uint64_t{1} << chunk_log2) {
  const bool no_stream_without = announced || begin_.back() == 0;
  first_.reserve(begin_.size());
  first_.push_back(0);
  for (int block = 0; block < size(); ++block) {
    const uint64_t filled = (bytes(block) + chunk_size_ - 1) >> chunk_log2;
    const uint64_t chunks = filled == 0 && no_stream_without ? 1 : filled;
    max_chunks_ = std::max(max_chunks_, static_cast<uint32_t>(chunks));
    first_.push_back(first_.back() + static_cast<uint32_t>(chunks));
  }
}

Blocks Blocks::Balanced(const OperationSpec& spec, int size) {
  const uint64_t bytes = spec.bytes();
  const uint64_t ranks = static_cast<uint64_t>(size);
  const bool aligned = spec.count % ranks != 0 && bytes / ranks >= kAlignedBlockBytes;
  const uint64_t unit = aligned ? kVectorBytes : SizeOf(spec.dtype);
  const uint64_t units = bytes / unit;
  std::vector<uint64_t> begin(ranks + 1, 0);
  for (uint64_t block = 0; block < ranks; ++block) {
    begin[block + 1] = begin[block] + unit * (units / ranks + (block < units % ranks ? 1 : 0));
  }
  // What is left is less than one 64-byte unit; the last block is never one of the longer ones.
  begin.back() = bytes;
  return Blocks(std::move(begin), spec.chunk_log2);
}

Blocks Blocks::Uniform(const OperationSpec& spec, int size) {
  std::vector<uint64_t> begin(static_cast<size_t>(size) + 1, 0);
  for (int block = 0; block < size; ++block) begin[block + 1] = begin[block] + spec.bytes();
  return Blocks(std::move(begin), spec.chunk_log2);
}

Blocks Blocks::Uneven(const OperationSpec& spec, const std::vector<uint64_t>& counts,
                      bool announced) {
  std::vector<uint64_t> begin(counts.size() + 1, 0);
  for (size_t block = 0; block < counts.size(); ++block) {
    begin[block + 1] = begin[block] + counts[block] * SizeOf(spec.dtype);
  }
  return Blocks(std::move(begin), spec.chunk_log2, announced);
}

uint32_t Blocks::Bytes(int block, uint32_t chunk) const {
  return static_cast<uint32_t>(std::min(chunk_size_, bytes(block) - OffsetInBlock(chunk)));
}

}  // namespace caravan::collective
