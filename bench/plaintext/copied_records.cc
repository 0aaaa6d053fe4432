// SPDX-License-Identifier: Apache-2.0
#include "bench/plaintext/copied_records.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace caravan::bench {
namespace {

class CopiedRecordCipher final : public crypto::RecordCipher {
 public:
  absl::Status Seal(const crypto::RecordHeader& header, absl::Span<const uint8_t> payload,
                    absl::Span<uint8_t> record) override {
    if (absl::Status status = CheckSizes(payload.size(), record.size()); !status.ok()) {
      return status;
    }
    crypto::EncodeRecordHeader(header, record.first(crypto::kRecordHeaderSize));
    std::copy(payload.begin(), payload.end(), record.begin() + crypto::kRecordHeaderSize);
    std::fill(record.end() - crypto::kAeadTagSize, record.end(), uint8_t{0});
    return absl::OkStatus();
  }

  absl::Status Open(absl::Span<const uint8_t> record, absl::Span<uint8_t> payload) override {
    if (absl::Status status = CheckSizes(payload.size(), record.size()); !status.ok()) {
      return status;
    }
    const auto first = record.begin() + crypto::kRecordHeaderSize;
    std::copy(first, first + payload.size(), payload.begin());
    return absl::OkStatus();
  }

  // Nothing depends on what a racing writer does here; the real engine's path is what counts.
  bool ReadsPlaintextOnce() const override { return true; }

 private:
  static absl::Status CheckSizes(size_t payload, size_t record) {
    if (record == payload + crypto::kRecordOverhead) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("record of ", record, " bytes, expected ",
                                                   payload + crypto::kRecordOverhead));
  }
};

class CopiedRecordFactory final : public crypto::RecordCipherFactory {
 public:
  absl::StatusOr<std::unique_ptr<crypto::RecordCipher>> Create(const crypto::SecretBytes&,
                                                               const crypto::EpochId&,
                                                               const crypto::OpKeyId&,
                                                               int) override {
    return std::make_unique<CopiedRecordCipher>();
  }
  std::string Describe(crypto::Suite) const override { return "caravan-bench-plaintext"; }
};

}  // namespace

std::unique_ptr<crypto::RecordCipherFactory> CopiedRecords() {
  return std::make_unique<CopiedRecordFactory>();
}

}  // namespace caravan::bench
