// SPDX-License-Identifier: Apache-2.0
//
// Records: a header that decodes encodes to the same bytes; nothing but the one sealed record
// opens.
#include <algorithm>

#include "absl/types/span.h"
#include "crypto/record.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

constexpr uint32_t kPayload = 40;

crypto::OpKeyId KeyId() {
  crypto::OpKeyId id;
  id.op = 1;
  id.destination = 1;
  id.sequence = 7;
  return id;
}

std::unique_ptr<crypto::RecordCipher> Cipher() {
  const auto parent = crypto::SecretBytes::Zero(crypto::kParentSize);
  auto cipher = crypto::SealedRecordsWith(crypto::Engine::kOpenSsl)
                    ->Create(*parent, crypto::EpochId{}, KeyId(), crypto::kMinChunkLog2);
  Require(cipher.ok(), "a cipher can be made");
  return *std::move(cipher);
}

const std::string& SealedRecord() {
  static const std::string& record = *[] {
    crypto::RecordHeader header;
    header.op = 1;
    header.destination = 1;
    header.sequence = 7;
    header.payload_size = kPayload;
    header.chunk_count = 3;
    auto* bytes = new std::string(kPayload + crypto::kRecordOverhead, '\0');
    const std::vector<uint8_t> payload(kPayload, 0x5A);
    const absl::Status sealed = Cipher()->Seal(
        header, payload, absl::MakeSpan(reinterpret_cast<uint8_t*>(bytes->data()), bytes->size()));
    Require(sealed.ok(), "a record can be sealed");
    return bytes;
  }();
  return record;
}

}  // namespace

std::vector<std::string> Seeds() { return {SealedRecord()}; }

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  using fuzz::Require;
  const absl::Span<const uint8_t> input(data, size);
  if (size >= crypto::kRecordHeaderSize) {
    const auto head = input.first(crypto::kRecordHeaderSize);
    const auto header = crypto::DecodeRecordHeader(head);
    if (header.ok()) {
      std::vector<uint8_t> again(crypto::kRecordHeaderSize);
      crypto::EncodeRecordHeader(*header, absl::MakeSpan(again));
      Require(std::equal(head.begin(), head.end(), again.begin()), "headers have one encoding");
      Require(header->payload_size <= crypto::kMaxRecordPayload, "payloads are bounded");
      Require(header->chunk < header->chunk_count, "chunks are bounded");
    }
  } else {
    Require(!crypto::DecodeRecordHeader(input).ok(), "a short header is refused");
  }
  static crypto::RecordCipher& cipher = *fuzz::Cipher().release();
  std::vector<uint8_t> payload(fuzz::kPayload, 1);
  const bool opened = cipher.Open(input, absl::MakeSpan(payload)).ok();
  const bool genuine = std::string(input.begin(), input.end()) == fuzz::SealedRecord();
  Require(opened == genuine, "only the sealed record opens");
  return 0;
}
