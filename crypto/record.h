// SPDX-License-Identifier: Apache-2.0
//
// Sealed records: a 48-byte header (all of it associated data), the ciphertext, a 16-byte tag
// (docs/protocol.md, "Sealed records"). Every integer is little-endian.
#ifndef CARAVAN_CRYPTO_RECORD_H_
#define CARAVAN_CRYPTO_RECORD_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "crypto/aead.h"
#include "crypto/key_tree.h"
#include "crypto/nonce_ledger.h"

namespace caravan::crypto {

inline constexpr uint8_t kRecordVersion = 1;
inline constexpr size_t kRecordHeaderSize = 48;
inline constexpr size_t kRecordOverhead = kRecordHeaderSize + kAeadTagSize;
inline constexpr uint32_t kMaxRecordPayload = 262144;
inline constexpr uint8_t kFlagLast = 1;

struct RecordHeader {
  Suite suite = Suite::kAes256Gcm;
  uint8_t op = 0;
  bool last = false;
  uint16_t phase = 0;
  uint16_t source = 0;
  uint16_t destination = 0;  // kEveryDestination: sender key
  uint32_t payload_size = 0;
  std::array<uint8_t, 8> epoch_prefix{};
  uint64_t sequence = 0;
  uint32_t chunk = 0;        // position in the source's whole vector
  uint32_t chunk_count = 0;  // of the source's whole vector
  std::array<uint8_t, 8> operation_digest{};

  friend bool operator==(const RecordHeader&, const RecordHeader&) = default;
};

// `out` is kRecordHeaderSize bytes.
void EncodeRecordHeader(const RecordHeader& header, absl::Span<uint8_t> out);

// InvalidArgument, naming the field, when the version, suite, flags, reserved field, payload size
// (over kMaxRecordPayload) or chunk (not below chunk_count) is wrong.
absl::StatusOr<RecordHeader> DecodeRecordHeader(absl::Span<const uint8_t> bytes);

// Seals and opens the records of one op key. The seam between real suites and the bench's
// plaintext engine. Not thread-safe.
class RecordCipher {
 public:
  virtual ~RecordCipher() = default;

  // Writes header, ciphertext and tag to `record` (payload.size() + kRecordOverhead bytes).
  // Spends the nonce of header.chunk first: FailedPrecondition when it was spent before.
  virtual absl::Status Seal(const RecordHeader& header, absl::Span<const uint8_t> payload,
                            absl::Span<uint8_t> record) = 0;

  // Opens a whole `record` into `payload` (payload_size bytes of private scratch). DataLoss when
  // the tag does not match: `payload` then holds zeros.
  virtual absl::Status Open(absl::Span<const uint8_t> record, absl::Span<uint8_t> payload) = 0;

  // False: copy the payload to private memory before Seal when another process can write it.
  virtual bool ReadsPlaintextOnce() const = 0;
};

// Makes a RecordCipher for an op key. The daemon takes one; release binaries link only
// SealedRecords().
class RecordCipherFactory {
 public:
  virtual ~RecordCipherFactory() = default;
  virtual absl::StatusOr<std::unique_ptr<RecordCipher>> Create(const SecretBytes& parent,
                                                               const EpochId& epoch,
                                                               const OpKeyId& id,
                                                               int chunk_log2) = 0;
  // "AES_256_GCM/ipsec-mb": for status and benchmarks.
  virtual std::string Describe(Suite suite) const = 0;
};

// The real one: op keys from `parent`, AEAD by BestEngine(suite). Never null.
std::unique_ptr<RecordCipherFactory> SealedRecords();
// Sealed records with a fixed engine, for tests and benchmarks.
std::unique_ptr<RecordCipherFactory> SealedRecordsWith(Engine engine);

}  // namespace caravan::crypto

#endif  // CARAVAN_CRYPTO_RECORD_H_
