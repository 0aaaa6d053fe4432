// SPDX-License-Identifier: Apache-2.0
//
// How a vector falls into blocks, one a rank, and each block into chunks.
#ifndef CARAVAN_COLLECTIVE_PLAN_PARTITION_H_
#define CARAVAN_COLLECTIVE_PLAN_PARTITION_H_

#include <cstdint>
#include <vector>

#include "collective/types.h"

namespace caravan::collective {

class Blocks {
 public:
  // `spec.bytes()` split over `size` blocks: equal when the count is divisible, otherwise on
  // 64-byte borders (vector kernels stay aligned) when blocks are large enough to stay balanced
  // so, otherwise on element borders. Block sizes differ by one unit at most, hence chunk counts
  // by one at most.
  static Blocks Balanced(const OperationSpec& spec, int size);
  // `size` blocks of `spec.bytes()` each.
  static Blocks Uniform(const OperationSpec& spec, int size);
  // Blocks of as many elements as `counts` says. `announced`: a block without bytes has one empty
  // chunk, for a reader who could not know that it is empty.
  static Blocks Uneven(const OperationSpec& spec, const std::vector<uint64_t>& counts,
                       bool announced);

  int size() const { return static_cast<int>(begin_.size()) - 1; }
  uint64_t bytes(int block) const { return begin_[block + 1] - begin_[block]; }
  // A block without bytes has no chunk, unless it is announced or the whole vector is empty: then
  // each block has one empty chunk, so that every stream still carries a record.
  uint32_t chunks(int block) const { return first_[block + 1] - first_[block]; }
  uint32_t total_chunks() const { return first_.back(); }
  uint32_t max_chunks() const { return max_chunks_; }
  uint64_t chunk_size() const { return chunk_size_; }

  // Position of a chunk among all chunks of the vector.
  uint32_t Index(int block, uint32_t chunk) const { return first_[block] + chunk; }
  // Bytes from the start of the vector, and from the start of the block.
  uint64_t Offset(int block, uint32_t chunk) const { return begin_[block] + OffsetInBlock(chunk); }
  uint64_t OffsetInBlock(uint32_t chunk) const { return chunk * chunk_size_; }
  uint32_t Bytes(int block, uint32_t chunk) const;

 private:
  Blocks(std::vector<uint64_t> begin, int chunk_log2, bool announced = false);

  std::vector<uint64_t> begin_;  // size + 1 byte offsets
  std::vector<uint32_t> first_;  // size + 1 chunk positions
  uint64_t chunk_size_;
  uint32_t max_chunks_ = 0;
};

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_PLAN_PARTITION_H_
