// SPDX-License-Identifier: Apache-2.0
#include "crypto/nonce_ledger.h"

#include "absl/strings/str_cat.h"

namespace caravan::crypto {

std::array<uint8_t, 12> RecordNonce(uint32_t chunk) {
  std::array<uint8_t, 12> nonce{};
  for (int i = 0; i < 4; ++i) nonce[4 + i] = static_cast<uint8_t>(chunk >> (8 * i));
  return nonce;
}

uint32_t SuperchunkOf(uint32_t chunk, int chunk_log2) {
  return chunk >> (kSuperchunkLog2 - chunk_log2);
}

NonceLedger::NonceLedger(uint32_t superchunk, int chunk_log2) {
  if (chunk_log2 < kMinChunkLog2 || chunk_log2 > kMaxChunkLog2) return;
  const int chunks_log2 = kSuperchunkLog2 - chunk_log2;
  first_ = uint64_t{superchunk} << chunks_log2;
  spent_.resize(size_t{1} << chunks_log2);
}

absl::Status NonceLedger::Spend(uint32_t chunk) {
  if (chunk < first_ || chunk - first_ >= spent_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("nonce of chunk ", chunk, ": this op key seals the ", spent_.size(),
                     " chunks from ", first_, " on; derive the key of its superchunk"));
  }
  std::vector<bool>::reference spent = spent_[chunk - first_];
  if (spent) {
    return absl::FailedPreconditionError(
        absl::StrCat("nonce of chunk ", chunk, ": spent already; end the epoch"));
  }
  spent = true;
  return absl::OkStatus();
}

}  // namespace caravan::crypto
