// SPDX-License-Identifier: Apache-2.0
//
// Hashes, HMAC and HKDF over SHA-2 (FIPS 180-4, RFC 2104, RFC 5869), and a byte writer whose
// output no two inputs share.
#ifndef CARAVAN_CRYPTO_HASH_H_
#define CARAVAN_CRYPTO_HASH_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "crypto/secret_bytes.h"

namespace caravan::crypto {

using Sha256Digest = std::array<uint8_t, 32>;
using Sha384Digest = std::array<uint8_t, 48>;

Sha256Digest Sha256(absl::Span<const uint8_t> bytes);
Sha384Digest Sha384(absl::Span<const uint8_t> bytes);

// HMAC-SHA-384. Errors only on exhausted resources.
absl::StatusOr<Sha384Digest> HmacSha384(const SecretBytes& key, absl::Span<const uint8_t> bytes);

// HKDF-SHA-384. An empty salt is 48 zero bytes.
absl::StatusOr<SecretBytes> HkdfExtract(const SecretBytes& salt, const SecretBytes& input);
// `size` ≤ 255 × 48; InvalidArgument otherwise.
absl::StatusOr<SecretBytes> HkdfExpand(const SecretBytes& parent, absl::Span<const uint8_t> info,
                                       size_t size);

// Appends fixed-width little-endian integers and length-prefixed strings: the encoding of every
// hash input and every handshake message (docs/protocol.md).
class ByteWriter {
 public:
  ByteWriter& U8(uint8_t v);
  ByteWriter& U16(uint16_t v);
  ByteWriter& U32(uint32_t v);
  ByteWriter& U64(uint64_t v);
  // Bytes as they are: only for fields of fixed size.
  ByteWriter& Fixed(absl::Span<const uint8_t> bytes);
  ByteWriter& Label(std::string_view text);
  // u32 length, then the bytes.
  ByteWriter& Prefixed(absl::Span<const uint8_t> bytes);
  ByteWriter& Prefixed(std::string_view text);

  const std::string& str() const { return out_; }
  std::string&& Take() { return static_cast<std::string&&>(out_); }
  absl::Span<const uint8_t> span() const;

 private:
  std::string out_;
};

// The reading half: each call fails with InvalidArgument, naming `what`, when bytes run out.
class ByteReader {
 public:
  explicit ByteReader(absl::Span<const uint8_t> bytes) : rest_(bytes) {}

  absl::StatusOr<uint8_t> U8(std::string_view what);
  absl::StatusOr<uint16_t> U16(std::string_view what);
  absl::StatusOr<uint32_t> U32(std::string_view what);
  absl::StatusOr<uint64_t> U64(std::string_view what);
  absl::StatusOr<absl::Span<const uint8_t>> Fixed(size_t size, std::string_view what);
  // A u32 length of at most `max`, then that many bytes.
  absl::StatusOr<absl::Span<const uint8_t>> Prefixed(size_t max, std::string_view what);
  // InvalidArgument when bytes are left.
  absl::Status Finish(std::string_view what) const;
  size_t remaining() const { return rest_.size(); }

 private:
  absl::Span<const uint8_t> rest_;
};

absl::Span<const uint8_t> AsBytes(std::string_view text);

}  // namespace caravan::crypto

#endif  // CARAVAN_CRYPTO_HASH_H_
