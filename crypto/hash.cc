// SPDX-License-Identifier: Apache-2.0

// Op keys are derived while data moves, and EVP's allocations cost more than the hashing: the
// low-level SHA-384 keeps its state on the stack, where it can be wiped.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "crypto/hash.h"

#include <openssl/sha.h>
#include <string.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace caravan::crypto {
namespace {

constexpr size_t kDigestSize = SHA384_DIGEST_LENGTH;
constexpr size_t kBlockSize = SHA512_CBLOCK;

template <typename T>
absl::Span<uint8_t> Raw(T& object) {
  return {reinterpret_cast<uint8_t*>(&object), sizeof(object)};
}

// HMAC-SHA-384 with the key's two blocks hashed once, for any number of messages.
class Hmac {
 public:
  explicit Hmac(absl::Span<const uint8_t> key) {
    uint8_t pad[kBlockSize] = {};
    if (key.size() > kBlockSize) {
      SHA512_CTX context;
      SHA384_Init(&context);
      SHA384_Update(&context, key.data(), key.size());
      SHA384_Final(pad, &context);
      Wipe(Raw(context));
    } else if (!key.empty()) {
      memcpy(pad, key.data(), key.size());
    }
    for (uint8_t& b : pad) b ^= 0x36;
    SHA384_Init(&inner_);
    SHA384_Update(&inner_, pad, sizeof(pad));
    for (uint8_t& b : pad) b ^= 0x36 ^ 0x5c;
    SHA384_Init(&outer_);
    SHA384_Update(&outer_, pad, sizeof(pad));
    Wipe(pad);
    running_ = inner_;
  }
  Hmac(const Hmac&) = delete;
  Hmac& operator=(const Hmac&) = delete;
  ~Hmac() {
    Wipe(Raw(inner_));
    Wipe(Raw(outer_));
    Wipe(Raw(running_));
  }

  void Update(absl::Span<const uint8_t> bytes) {
    if (!bytes.empty()) SHA384_Update(&running_, bytes.data(), bytes.size());
  }

  // Writes 48 bytes, and begins the next message.
  void Final(uint8_t* out) {
    uint8_t digest[kDigestSize];
    SHA384_Final(digest, &running_);
    running_ = outer_;
    SHA384_Update(&running_, digest, sizeof(digest));
    SHA384_Final(out, &running_);
    Wipe(digest);
    running_ = inner_;
  }

 private:
  SHA512_CTX inner_;
  SHA512_CTX outer_;
  SHA512_CTX running_;
};

}  // namespace

Sha256Digest Sha256(absl::Span<const uint8_t> bytes) {
  Sha256Digest digest;
  SHA256(bytes.data(), bytes.size(), digest.data());
  return digest;
}

Sha384Digest Sha384(absl::Span<const uint8_t> bytes) {
  Sha384Digest digest;
  SHA384(bytes.data(), bytes.size(), digest.data());
  return digest;
}

absl::StatusOr<Sha384Digest> HmacSha384(const SecretBytes& key, absl::Span<const uint8_t> bytes) {
  Sha384Digest digest;
  Hmac hmac(key.Expose());
  hmac.Update(bytes);
  hmac.Final(digest.data());
  return digest;
}

absl::StatusOr<SecretBytes> HkdfExtract(const SecretBytes& salt, const SecretBytes& input) {
  absl::StatusOr<SecretBytes> out = SecretBytes::Zero(kDigestSize);
  if (!out.ok()) return out;
  // HMAC pads its key with zeros: an empty salt is 48 zero bytes.
  Hmac hmac(salt.Expose());
  hmac.Update(input.Expose());
  hmac.Final(out->ExposeMutable().data());
  return out;
}

absl::StatusOr<SecretBytes> HkdfExpand(const SecretBytes& parent, absl::Span<const uint8_t> info,
                                       size_t size) {
  if (size > 255 * kDigestSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("hkdf expand to ", size, " bytes: at most ", 255 * kDigestSize));
  }
  absl::StatusOr<SecretBytes> out = SecretBytes::Zero(size);
  if (!out.ok()) return out;
  Hmac hmac(parent.Expose());
  uint8_t block[kDigestSize];
  uint8_t counter = 0;
  for (size_t done = 0; done < size; done += kDigestSize) {
    if (++counter > 1) hmac.Update(block);
    hmac.Update(info);
    hmac.Update({&counter, 1});
    hmac.Final(block);
    memcpy(out->ExposeMutable().data() + done, block, std::min(kDigestSize, size - done));
  }
  Wipe(block);
  return out;
}

}  // namespace caravan::crypto
