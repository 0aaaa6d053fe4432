// SPDX-License-Identifier: Apache-2.0
//
// SecretBytes: the only home of a secret. Memory comes from one mlocked arena, is excluded from
// core dumps, and is zeroed when released.
//
// How to use it safely
//   - Derive into it (crypto/hash.h, crypto/key_tree.h), move it, never copy it out.
//   - The bytes are reachable only through Expose() and ExposeMutable(), so that every reader in
//     the tree can be found by searching for "Expose".
//   - Compare with ConstantTimeEquals(), never with memcmp.
#ifndef CARAVAN_CRYPTO_SECRET_BYTES_H_
#define CARAVAN_CRYPTO_SECRET_BYTES_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace caravan::crypto {

// Move-only owner of secret memory. A moved-from object is empty. Not thread-safe; distinct
// objects may be used from distinct threads.
class SecretBytes {
 public:
  // Largest single secret, in bytes.
  static constexpr size_t kMaxSize = 1 << 16;

  SecretBytes() = default;
  SecretBytes(SecretBytes&& other) noexcept;
  SecretBytes& operator=(SecretBytes&& other) noexcept;
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;
  ~SecretBytes();

  // `size` zero bytes. InvalidArgument when size is over kMaxSize; ResourceExhausted when the
  // locked arena is full or the kernel refuses to lock it (RLIMIT_MEMLOCK): memory that could be
  // swapped is never handed out.
  static absl::StatusOr<SecretBytes> Zero(size_t size);
  // A copy of `bytes`. The caller still has to wipe its own copy. Errors as Zero().
  static absl::StatusOr<SecretBytes> Copy(absl::Span<const uint8_t> bytes);
  // `size` bytes from the system's random generator. Errors as Zero(), and Internal when
  // the generator fails.
  static absl::StatusOr<SecretBytes> Random(size_t size);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  absl::Span<const uint8_t> Expose() const { return {data_, size_}; }
  absl::Span<uint8_t> ExposeMutable() { return {data_, size_}; }

  // A second owner of the same value. Errors as Zero().
  absl::StatusOr<SecretBytes> Clone() const { return Copy(Expose()); }

 private:
  SecretBytes(uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

// True when both hold the same bytes. Time depends on the lengths alone.
bool ConstantTimeEquals(absl::Span<const uint8_t> a, absl::Span<const uint8_t> b);

// Zeroes `bytes` in a way that the compiler keeps.
void Wipe(absl::Span<uint8_t> bytes);

// Allocates raw locked, zeroed, 64-byte-aligned memory from the same arena, for key schedules of
// the crypto libraries. Pair with FreeLocked(). Errors as SecretBytes::Zero(), up to 1 MiB.
absl::StatusOr<void*> AllocateLocked(size_t size);
void FreeLocked(void* memory, size_t size);

}  // namespace caravan::crypto

#endif  // CARAVAN_CRYPTO_SECRET_BYTES_H_
