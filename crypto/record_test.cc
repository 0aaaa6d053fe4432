// SPDX-License-Identifier: Apache-2.0
#include "crypto/record.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace caravan::crypto {
namespace {

constexpr int kChunkLog2 = kMinChunkLog2;

const EpochId kEpoch = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};

RecordHeader SomeHeader() {
  return {.suite = Suite::kAes256Gcm,
          .op = 0x21,
          .last = true,
          .phase = 0x2322,
          .source = 0x2524,
          .destination = 0x2726,
          .payload_size = 0x00032928,
          .epoch_prefix = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17},
          .sequence = 0x3736353433323130,
          .chunk = 0x43424140,
          .chunk_count = 0x53525150,
          .operation_digest = {0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67}};
}

std::vector<uint8_t> Encode(const RecordHeader& header) {
  std::vector<uint8_t> bytes(kRecordHeaderSize, 0xEE);
  EncodeRecordHeader(header, absl::MakeSpan(bytes));
  return bytes;
}

TEST(RecordHeader, HasItsBytesWhereTheProtocolSays) {
  const std::vector<uint8_t> expected = {1,    1,    0x21, 1,    0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
                                         0,    0,    0x28, 0x29, 0x03, 0,    0x10, 0x11, 0x12, 0x13,
                                         0x14, 0x15, 0x16, 0x17, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35,
                                         0x36, 0x37, 0x40, 0x41, 0x42, 0x43, 0x50, 0x51, 0x52, 0x53,
                                         0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67};
  EXPECT_EQ(Encode(SomeHeader()), expected);
}

TEST(RecordHeader, DecodesWhatWasEncoded) {
  RecordHeader header = SomeHeader();
  EXPECT_EQ(*DecodeRecordHeader(Encode(header)), header);
  header.last = false;
  header.suite = Suite::kChaCha20Poly1305;
  header.payload_size = 0;
  header.destination = kEveryDestination;
  EXPECT_EQ(*DecodeRecordHeader(Encode(header)), header);
}

TEST(RecordHeader, RefusesEachBadFieldByName) {
  struct Case {
    size_t offset;
    std::vector<uint8_t> bytes;
    const char* named;
  };
  const Case cases[] = {
      {0, {0}, "version 0"},
      {0, {2}, "version 2"},
      {1, {0}, "suite 0"},
      {1, {3}, "suite 3"},
      {3, {2}, "flags 2"},
      {3, {0x81}, "flags 129"},
      {10, {1}, "reserved field 1"},
      {11, {1}, "reserved field 256"},
      {12, {1, 0, 4, 0}, "payload size 262145"},
      {12, {0xff, 0xff, 0xff, 0xff}, "payload size 4294967295"},
      {36, {0x40, 0x41, 0x42, 0x43}, "chunk 1128415552"},
      {36, {0, 0, 0, 0}, "chunk count 0"},
  };
  for (const Case& c : cases) {
    std::vector<uint8_t> bytes = Encode(SomeHeader());
    std::copy(c.bytes.begin(), c.bytes.end(), bytes.begin() + c.offset);
    const absl::Status status = DecodeRecordHeader(bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.named;
    EXPECT_NE(status.message().find(c.named), absl::string_view::npos) << status;
  }
}

TEST(RecordHeader, RefusesOtherSizes) {
  const std::vector<uint8_t> bytes(kRecordHeaderSize + 1, 1);
  for (size_t size : {size_t{0}, kRecordHeaderSize - 1, kRecordHeaderSize + 1}) {
    EXPECT_EQ(DecodeRecordHeader(absl::MakeConstSpan(bytes).first(size)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

// Whatever decodes, encodes to the same bytes: no two headers share a meaning.
TEST(RecordHeader, DecodingIsOneToOne) {
  std::mt19937 random(3);
  int decoded = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> bytes = Encode(SomeHeader());
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random() % bytes.size()] ^= 1 << (random() % 8);
    }
    absl::StatusOr<RecordHeader> header = DecodeRecordHeader(bytes);
    if (!header.ok()) continue;
    ++decoded;
    ASSERT_EQ(Encode(*header), bytes);
  }
  EXPECT_GT(decoded, 1000);
}

class SealedRecord : public testing::TestWithParam<Suite> {
 protected:
  OpKeyId Id() const {
    return {.suite = GetParam(),
            .op = 2,
            .source = 1,
            .destination = 3,
            .sequence = 77,
            .phase = 4,
            .superchunk = 1};
  }
  RecordHeader Header(uint32_t chunk, size_t payload_size) const {
    return {.suite = GetParam(),
            .op = 2,
            .phase = 4,
            .source = 1,
            .destination = 3,
            .payload_size = static_cast<uint32_t>(payload_size),
            .epoch_prefix = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17},
            .sequence = 77,
            .chunk = chunk,
            .chunk_count = 10000};
  }
  std::unique_ptr<RecordCipher> Make(const OpKeyId& id) {
    absl::StatusOr<std::unique_ptr<RecordCipher>> cipher =
        factory_->Create(parent_, kEpoch, id, kChunkLog2);
    EXPECT_TRUE(cipher.ok()) << cipher.status();
    return *std::move(cipher);
  }
  static std::vector<uint8_t> Payload(size_t size) {
    std::vector<uint8_t> payload(size);
    for (size_t i = 0; i < size; ++i) payload[i] = static_cast<uint8_t>(i * 7 + 1);
    return payload;
  }

  static constexpr uint32_t kFirst = 1 << (kSuperchunkLog2 - kChunkLog2);
  SecretBytes parent_ = *SecretBytes::Random(kParentSize);
  std::unique_ptr<RecordCipherFactory> factory_ = SealedRecords();
};

TEST_P(SealedRecord, OpensToItsPayload) {
  for (size_t size : {0, 1, 15, 4096, 1 << kChunkLog2}) {
    std::unique_ptr<RecordCipher> sealer = Make(Id());
    const std::vector<uint8_t> payload = Payload(size);
    std::vector<uint8_t> record(size + kRecordOverhead), opened(size);
    const RecordHeader header = Header(kFirst + 5, size);
    ASSERT_TRUE(sealer->Seal(header, payload, absl::MakeSpan(record)).ok());
    EXPECT_EQ(*DecodeRecordHeader(absl::MakeConstSpan(record).first(kRecordHeaderSize)), header);
    ASSERT_TRUE(Make(Id())->Open(record, absl::MakeSpan(opened)).ok());
    EXPECT_EQ(opened, payload);
  }
}

TEST_P(SealedRecord, RefusesEveryFlippedBitAndLeavesZeros) {
  std::unique_ptr<RecordCipher> cipher = Make(Id());
  const std::vector<uint8_t> payload = Payload(100);
  std::vector<uint8_t> record(payload.size() + kRecordOverhead);
  ASSERT_TRUE(cipher->Seal(Header(kFirst, 100), payload, absl::MakeSpan(record)).ok());
  for (size_t bit = 0; bit < record.size() * 8; ++bit) {
    record[bit / 8] ^= 1 << (bit % 8);
    std::vector<uint8_t> opened(payload.size(), 0xAA);
    ASSERT_EQ(cipher->Open(record, absl::MakeSpan(opened)).code(), absl::StatusCode::kDataLoss)
        << bit;
    ASSERT_EQ(opened, std::vector<uint8_t>(payload.size(), 0));
    record[bit / 8] ^= 1 << (bit % 8);
  }
}

TEST_P(SealedRecord, SpendsItsNonceBeforeSealing) {
  std::unique_ptr<RecordCipher> cipher = Make(Id());
  const std::vector<uint8_t> payload = Payload(32);
  std::vector<uint8_t> record(payload.size() + kRecordOverhead);
  ASSERT_TRUE(cipher->Seal(Header(kFirst, 32), payload, absl::MakeSpan(record)).ok());
  std::vector<uint8_t> untouched(record.size(), 0xAA);
  EXPECT_EQ(cipher->Seal(Header(kFirst, 32), payload, absl::MakeSpan(untouched)).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(untouched, std::vector<uint8_t>(record.size(), 0xAA));
  for (uint32_t chunk : {uint32_t{0}, kFirst - 1, 2 * kFirst}) {
    EXPECT_EQ(cipher->Seal(Header(chunk, 32), payload, absl::MakeSpan(untouched)).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_P(SealedRecord, RefusesAHeaderOfAnotherKey) {
  std::unique_ptr<RecordCipher> cipher = Make(Id());
  const std::vector<uint8_t> payload = Payload(32);
  std::vector<uint8_t> record(payload.size() + kRecordOverhead);
  const std::function<void(RecordHeader&)> changes[] = {
      [](RecordHeader& h) { h.suite = static_cast<Suite>(3 - static_cast<int>(h.suite)); },
      [](RecordHeader& h) { h.op ^= 1; },
      [](RecordHeader& h) { h.phase ^= 1; },
      [](RecordHeader& h) { h.source ^= 1; },
      [](RecordHeader& h) { h.destination = kEveryDestination; },
      [](RecordHeader& h) { h.sequence ^= 1; },
      [](RecordHeader& h) { h.epoch_prefix[7] ^= 1; },
      [](RecordHeader& h) { h.payload_size = 31; },
      [](RecordHeader& h) { h.chunk_count = h.chunk; },
  };
  for (const auto& change : changes) {
    RecordHeader header = Header(kFirst, 32);
    change(header);
    EXPECT_EQ(cipher->Seal(header, payload, absl::MakeSpan(record)).code(),
              absl::StatusCode::kInvalidArgument);
  }
  // None of them spent the nonce.
  EXPECT_TRUE(cipher->Seal(Header(kFirst, 32), payload, absl::MakeSpan(record)).ok());
}

TEST_P(SealedRecord, RefusesWrongSizes) {
  std::unique_ptr<RecordCipher> cipher = Make(Id());
  const std::vector<uint8_t> payload = Payload((1 << kChunkLog2) + 1);
  std::vector<uint8_t> record(payload.size() + kRecordOverhead);
  EXPECT_EQ(cipher->Seal(Header(kFirst, payload.size()), payload, absl::MakeSpan(record)).code(),
            absl::StatusCode::kInvalidArgument);
  const absl::Span<const uint8_t> small = absl::MakeConstSpan(payload).first(32);
  for (size_t size : {size_t{0}, kRecordOverhead, kRecordOverhead + 31, kRecordOverhead + 33}) {
    const absl::Span<uint8_t> out = absl::MakeSpan(record).first(size);
    EXPECT_EQ(cipher->Seal(Header(kFirst, 32), small, out).code(),
              absl::StatusCode::kInvalidArgument);
    std::vector<uint8_t> opened(32);
    EXPECT_EQ(cipher->Open(out, absl::MakeSpan(opened)).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_P(SealedRecord, OpensUnderItsOwnKeyOnly) {
  const std::vector<uint8_t> payload = Payload(64);
  std::vector<uint8_t> record(payload.size() + kRecordOverhead), opened(payload.size());
  ASSERT_TRUE(Make(Id())->Seal(Header(kFirst, 64), payload, absl::MakeSpan(record)).ok());
  OpKeyId other = Id();
  other.sequence ^= 1;
  EXPECT_EQ(Make(other)->Open(record, absl::MakeSpan(opened)).code(), absl::StatusCode::kDataLoss);
  parent_.ExposeMutable()[0] ^= 1;
  EXPECT_EQ(Make(Id())->Open(record, absl::MakeSpan(opened)).code(), absl::StatusCode::kDataLoss);
}

TEST_P(SealedRecord, IsTheSameUnderEveryEngine) {
  const std::vector<uint8_t> payload = Payload(10000);
  std::vector<std::vector<uint8_t>> records;
  for (Engine engine : AvailableEngines(GetParam())) {
    factory_ = SealedRecordsWith(engine);
    records.emplace_back(payload.size() + kRecordOverhead);
    ASSERT_TRUE(
        Make(Id())->Seal(Header(kFirst + 1, 10000), payload, absl::MakeSpan(records.back())).ok());
    EXPECT_EQ(records.back(), records.front());
    EXPECT_EQ(factory_->Describe(GetParam()),
              std::string(SuiteName(GetParam())) + "/" + std::string(EngineName(engine)));
  }
}

TEST_P(SealedRecord, RefusesChunkSizesAndParentsOutOfRange) {
  for (int log2 : {-1, 0, 13, 19, 26, 64}) {
    EXPECT_EQ(factory_->Create(parent_, kEpoch, Id(), log2).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(factory_->Create(SecretBytes(), kEpoch, Id(), kChunkLog2).status().code(),
            absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Suites, SealedRecord,
                         testing::Values(Suite::kAes256Gcm, Suite::kChaCha20Poly1305),
                         [](const auto& info) { return std::string(SuiteName(info.param)); });

}  // namespace
}  // namespace caravan::crypto
