// SPDX-License-Identifier: Apache-2.0
#include "crypto/record.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::crypto {
namespace {

constexpr size_t kChunkOffset = 32;

absl::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

template <typename T>
void Put(absl::Span<uint8_t> out, size_t offset, T v) {
  for (size_t i = 0; i < sizeof(T); ++i) out[offset + i] = static_cast<uint8_t>(v >> (8 * i));
}

template <typename T>
T Get(absl::Span<const uint8_t> bytes, size_t offset) {
  T v = 0;
  for (size_t i = 0; i < sizeof(T); ++i) v |= static_cast<T>(T{bytes[offset + i]} << (8 * i));
  return v;
}

template <typename... Parts>
absl::Status BadHeader(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("record header: ", parts...));
}

class SealedRecordCipher final : public RecordCipher {
 public:
  SealedRecordCipher(std::unique_ptr<Aead> aead, const EpochId& epoch, const OpKeyId& id,
                     int chunk_log2)
      : aead_(std::move(aead)),
        id_(id),
        max_payload_(size_t{1} << chunk_log2),
        ledger_(id.superchunk, chunk_log2) {
    std::copy_n(epoch.begin(), epoch_prefix_.size(), epoch_prefix_.begin());
  }

  absl::Status Seal(const RecordHeader& header, absl::Span<const uint8_t> payload,
                    absl::Span<uint8_t> record) override {
    if (absl::Status status = CheckSeal(header, payload.size(), record.size()); !status.ok()) {
      return status;
    }
    if (absl::Status status = ledger_.Spend(header.chunk); !status.ok()) return status;
    const absl::Span<uint8_t> ad = record.first(kRecordHeaderSize);
    EncodeRecordHeader(header, ad);
    return aead_->Seal(RecordNonce(header.chunk), ad, payload,
                       record.subspan(kRecordHeaderSize, payload.size()),
                       record.last(kAeadTagSize));
  }

  absl::Status Open(absl::Span<const uint8_t> record, absl::Span<uint8_t> payload) override {
    if (record.size() != payload.size() + kRecordOverhead) {
      return absl::InvalidArgumentError(absl::StrCat(
          "record of ", record.size(), " bytes, expected ", payload.size() + kRecordOverhead));
    }
    return aead_->Open(
        RecordNonce(Get<uint32_t>(record, kChunkOffset)), record.first(kRecordHeaderSize),
        record.subspan(kRecordHeaderSize, payload.size()), record.last(kAeadTagSize), payload);
  }

  bool ReadsPlaintextOnce() const override { return aead_->ReadsPlaintextOnce(); }

 private:
  // A header of another key would be sealed under a nonce that this key's ledger does not know.
  absl::Status CheckSeal(const RecordHeader& header, size_t payload_size, size_t record_size) {
    if (header.payload_size != payload_size || payload_size > max_payload_) {
      return BadHeader("payload size ", header.payload_size, " for a payload of ", payload_size,
                       " bytes in chunks of ", max_payload_);
    }
    if (record_size != payload_size + kRecordOverhead) {
      return absl::InvalidArgumentError(absl::StrCat("record of ", record_size, " bytes, expected ",
                                                     payload_size + kRecordOverhead));
    }
    if (header.chunk >= header.chunk_count) {
      return BadHeader("chunk ", header.chunk, " of ", header.chunk_count);
    }
    const bool same_key = header.suite == id_.suite && header.op == id_.op &&
                          header.phase == id_.phase && header.source == id_.source &&
                          header.destination == id_.destination &&
                          header.sequence == id_.sequence && header.epoch_prefix == epoch_prefix_;
    if (!same_key) {
      return BadHeader("op ", header.op, " sequence ", header.sequence, " phase ", header.phase,
                       " source ", header.source, " destination ", header.destination,
                       " is not what this op key is for: op ", id_.op, " sequence ", id_.sequence,
                       " phase ", id_.phase, " source ", id_.source, " destination ",
                       id_.destination);
    }
    return absl::OkStatus();
  }

  std::unique_ptr<Aead> aead_;
  OpKeyId id_;
  size_t max_payload_;
  NonceLedger ledger_;
  std::array<uint8_t, 8> epoch_prefix_;
};

class SealedRecordFactory final : public RecordCipherFactory {
 public:
  explicit SealedRecordFactory(std::optional<Engine> engine) : engine_(engine) {}

  absl::StatusOr<std::unique_ptr<RecordCipher>> Create(const SecretBytes& parent,
                                                       const EpochId& epoch, const OpKeyId& id,
                                                       int chunk_log2) override {
    if (chunk_log2 < kMinChunkLog2 || chunk_log2 > kMaxChunkLog2) {
      return absl::InvalidArgumentError(absl::StrCat("chunk size 2^", chunk_log2, ", expected 2^",
                                                     kMinChunkLog2, " to 2^", kMaxChunkLog2));
    }
    absl::StatusOr<SecretBytes> key = OpKey(parent, epoch, id);
    if (!key.ok()) return key.status();
    absl::StatusOr<std::unique_ptr<Aead>> aead = Aead::Create(id.suite, EngineOf(id.suite), *key);
    if (!aead.ok()) return aead.status();
    return std::make_unique<SealedRecordCipher>(*std::move(aead), epoch, id, chunk_log2);
  }

  std::string Describe(Suite suite) const override {
    return absl::StrCat(Text(SuiteName(suite)), "/", Text(EngineName(EngineOf(suite))));
  }

 private:
  Engine EngineOf(Suite suite) const { return engine_.value_or(BestEngine(suite)); }

  const std::optional<Engine> engine_;
};

}  // namespace

void EncodeRecordHeader(const RecordHeader& header, absl::Span<uint8_t> out) {
  Put(out, 0, kRecordVersion);
  Put(out, 1, static_cast<uint8_t>(header.suite));
  Put(out, 2, header.op);
  Put(out, 3, header.last ? kFlagLast : uint8_t{0});
  Put(out, 4, header.phase);
  Put(out, 6, header.source);
  Put(out, 8, header.destination);
  Put(out, 10, uint16_t{0});
  Put(out, 12, header.payload_size);
  std::copy(header.epoch_prefix.begin(), header.epoch_prefix.end(), out.begin() + 16);
  Put(out, 24, header.sequence);
  Put(out, kChunkOffset, header.chunk);
  Put(out, 36, header.chunk_count);
  std::copy(header.operation_digest.begin(), header.operation_digest.end(), out.begin() + 40);
}

absl::StatusOr<RecordHeader> DecodeRecordHeader(absl::Span<const uint8_t> bytes) {
  if (bytes.size() != kRecordHeaderSize) {
    return BadHeader(bytes.size(), " bytes, expected ", kRecordHeaderSize);
  }
  if (bytes[0] != kRecordVersion) {
    return BadHeader("version ", bytes[0], ", expected ", kRecordVersion);
  }
  RecordHeader header;
  header.suite = static_cast<Suite>(bytes[1]);
  if (header.suite != Suite::kAes256Gcm && header.suite != Suite::kChaCha20Poly1305) {
    return BadHeader("unknown suite ", bytes[1]);
  }
  header.op = bytes[2];
  if ((bytes[3] & ~kFlagLast) != 0) return BadHeader("unknown flags ", bytes[3]);
  header.last = bytes[3] == kFlagLast;
  header.phase = Get<uint16_t>(bytes, 4);
  header.source = Get<uint16_t>(bytes, 6);
  header.destination = Get<uint16_t>(bytes, 8);
  if (const uint16_t reserved = Get<uint16_t>(bytes, 10); reserved != 0) {
    return BadHeader("reserved field ", reserved, ", expected 0");
  }
  header.payload_size = Get<uint32_t>(bytes, 12);
  if (header.payload_size > kMaxRecordPayload) {
    return BadHeader("payload size ", header.payload_size, " is over ", kMaxRecordPayload);
  }
  std::copy_n(bytes.begin() + 16, header.epoch_prefix.size(), header.epoch_prefix.begin());
  header.sequence = Get<uint64_t>(bytes, 24);
  header.chunk = Get<uint32_t>(bytes, kChunkOffset);
  header.chunk_count = Get<uint32_t>(bytes, 36);
  if (header.chunk >= header.chunk_count) {
    return BadHeader("chunk ", header.chunk, " is not below the chunk count ", header.chunk_count);
  }
  std::copy_n(bytes.begin() + 40, header.operation_digest.size(), header.operation_digest.begin());
  return header;
}

std::unique_ptr<RecordCipherFactory> SealedRecords() {
  return std::make_unique<SealedRecordFactory>(std::nullopt);
}

std::unique_ptr<RecordCipherFactory> SealedRecordsWith(Engine engine) {
  return std::make_unique<SealedRecordFactory>(engine);
}

}  // namespace caravan::crypto
