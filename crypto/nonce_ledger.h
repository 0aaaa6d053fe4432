// SPDX-License-Identifier: Apache-2.0
//
// One ledger per op key: every nonce is spent once, whoever seals.
#ifndef CARAVAN_CRYPTO_NONCE_LEDGER_H_
#define CARAVAN_CRYPTO_NONCE_LEDGER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace caravan::crypto {

inline constexpr int kMinChunkLog2 = 14;    // 16 KiB
inline constexpr int kMaxChunkLog2 = 18;    // 256 KiB
inline constexpr int kSuperchunkLog2 = 26;  // 64 MiB: what one op key seals at most

// nonce[12] = 0u32 ‖ chunk zero-extended to u64, little-endian.
std::array<uint8_t, 12> RecordNonce(uint32_t chunk);

// superchunk of a chunk: chunk >> (26 - chunk_log2), `chunk_log2` in kMinChunkLog2…kMaxChunkLog2.
uint32_t SuperchunkOf(uint32_t chunk, int chunk_log2);

// Marks chunks of one superchunk as spent. Not thread-safe: engines that share a key share out
// whole records and spend them under one lock.
class NonceLedger {
 public:
  // A `chunk_log2` outside kMinChunkLog2…kMaxChunkLog2 makes a ledger that refuses every chunk.
  NonceLedger(uint32_t superchunk, int chunk_log2);

  // Call before the first keystream byte. FailedPrecondition when `chunk` was spent already,
  // InvalidArgument when it belongs to another superchunk.
  absl::Status Spend(uint32_t chunk);

 private:
  uint64_t first_ = 0;
  std::vector<bool> spent_;
};

}  // namespace caravan::crypto

#endif  // CARAVAN_CRYPTO_NONCE_LEDGER_H_
