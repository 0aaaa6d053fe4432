// SPDX-License-Identifier: Apache-2.0
#include "crypto/secret_bytes.h"

#include <openssl/crypto.h>
#include <string.h>
#include <sys/random.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "crypto/locked_arena.h"

namespace caravan::crypto {

SecretBytes::SecretBytes(SecretBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  if (this != &other) {
    FreeLocked(data_, size_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

SecretBytes::~SecretBytes() { FreeLocked(data_, size_); }

absl::StatusOr<SecretBytes> SecretBytes::Zero(size_t size) {
  if (size > kMaxSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("secret of ", size, " bytes: at most ", kMaxSize, " are allowed"));
  }
  if (size == 0) return SecretBytes();
  absl::StatusOr<void*> memory = AllocateLocked(size);
  if (!memory.ok()) return memory.status();
  return SecretBytes(static_cast<uint8_t*>(*memory), size);
}

absl::StatusOr<SecretBytes> SecretBytes::Copy(absl::Span<const uint8_t> bytes) {
  absl::StatusOr<SecretBytes> secret = Zero(bytes.size());
  if (secret.ok() && !bytes.empty()) memcpy(secret->data_, bytes.data(), bytes.size());
  return secret;
}

absl::StatusOr<SecretBytes> SecretBytes::Random(size_t size) {
  absl::StatusOr<SecretBytes> secret = Zero(size);
  if (!secret.ok()) return secret;
  for (size_t done = 0; done < size;) {
    const ssize_t got = getrandom(secret->data_ + done, size - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return absl::InternalError(
          absl::StrCat("random secret of ", size, " bytes: getrandom failed: ", strerror(errno)));
    }
    done += static_cast<size_t>(got);
  }
  return secret;
}

bool ConstantTimeEquals(absl::Span<const uint8_t> a, absl::Span<const uint8_t> b) {
  return a.size() == b.size() && (a.empty() || CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0);
}

void Wipe(absl::Span<uint8_t> bytes) {
  if (!bytes.empty()) explicit_bzero(bytes.data(), bytes.size());
}

absl::StatusOr<void*> AllocateLocked(size_t size) { return LockedArena::Get().Allocate(size); }

void FreeLocked(void* memory, size_t size) { LockedArena::Get().Free(memory, size); }

}  // namespace caravan::crypto
