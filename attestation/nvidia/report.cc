// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/report.h"

#include <bitset>

#include "absl/strings/str_cat.h"
#include "attestation/ecdsa.h"

namespace caravan::attestation::nvidia {
namespace {

constexpr uint8_t kSpdm11 = 0x11;
constexpr uint8_t kGetMeasurements = 0xE0;
constexpr uint8_t kMeasurements = 0x60;
constexpr uint8_t kError = 0x7F;
constexpr uint8_t kSignatureRequested = 0x01;
constexpr uint8_t kAllBlocks = 0xFF;
constexpr uint8_t kMaxSlot = 7;
constexpr uint8_t kDmtfSpecification = 0x01;
constexpr uint8_t kRawBitStream = 0x80;

// Reads a part of the report, front to back. The first failure stays; reads after it give zeros.
class Reader {
 public:
  Reader(std::string_view bytes, absl::Status* status) : rest_(bytes), status_(*status) {}

  std::string_view Take(size_t size, std::string_view name) {
    if (!status_.ok()) return {};
    if (size > rest_.size()) {
      Fail(absl::StrCat(std::string(name), " of ", size, " bytes, ", rest_.size(), " are left"));
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  // Little endian, `size` bytes, at most 4.
  uint32_t Number(size_t size, std::string_view name) {
    uint32_t value = 0;
    const std::string_view bytes = Take(size, name);
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  }
  uint8_t Byte(std::string_view name) { return static_cast<uint8_t>(Number(1, name)); }

  void Fail(std::string problem) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat("nvidia report: ", problem));
  }
  bool ok() const { return status_.ok(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  absl::Status& status_;
};

std::string Hex(uint8_t byte) { return absl::StrCat("0x", absl::Hex(byte, absl::kZeroPad2)); }

void ReadVersion(Reader& reader, const char* message) {
  const uint8_t version = reader.Byte(absl::StrCat(message, " version"));
  if (!reader.ok() || version == kSpdm11) return;
  const std::string name = absl::StrCat("spdm ", version >> 4, ".", version & 15);
  reader.Fail(absl::StrCat("the ", message, " is ", name, ", expected spdm 1.1",
                           version > kSpdm11 ? ": later versions sign a transcript of the "
                                               "negotiation too, which a report does not carry"
                                             : ""));
}

void ReadRequest(Reader& reader, Report* report) {
  ReadVersion(reader, "request");
  const uint8_t code = reader.Byte("request code");
  if (code != kGetMeasurements) {
    reader.Fail(absl::StrCat("the request has the code ", Hex(code),
                             ", expected GET_MEASUREMENTS, ", Hex(kGetMeasurements)));
  }
  const uint8_t attributes = reader.Byte("request attributes");
  if ((attributes & kSignatureRequested) == 0) {
    reader.Fail("the request asks for no signature");
  }
  if ((attributes & ~kSignatureRequested) != 0) report->unknown.push_back("request attributes");
  const uint8_t which = reader.Byte("measurement asked for");
  if (which != kAllBlocks) {
    reader.Fail(absl::StrCat("the request asks for the measurement ", Hex(which),
                             " alone, expected all, ", Hex(kAllBlocks)));
  }
  report->nonce = reader.Take(kNonceSize, "nonce");
  report->slot = reader.Byte("request slot");
  if (report->slot > kMaxSlot) {
    reader.Fail(absl::StrCat("the request is for slot ", report->slot, ", at most ", kMaxSlot));
  }
}

void ReadResponseHeader(Reader& reader, Report* report) {
  ReadVersion(reader, "response");
  const uint8_t code = reader.Byte("response code");
  if (code != kMeasurements) {
    reader.Fail(code == kError ? "the device answered with an error, not with measurements"
                               : absl::StrCat("the response has the code ", Hex(code),
                                              ", expected MEASUREMENTS, ", Hex(kMeasurements)));
  }
  if (reader.Byte("response parameter 1") != 0) report->unknown.push_back("response parameter 1");
  const uint8_t slot = reader.Byte("response slot");
  if (slot != report->slot) {
    reader.Fail(absl::StrCat("the response is for slot ", slot, ", the request was for slot ",
                             report->slot));
  }
}

Measurement ReadBlock(Reader& reader, const std::string& where) {
  Measurement measurement;
  measurement.index = reader.Byte(absl::StrCat(where, ": index"));
  if (measurement.index == 0) reader.Fail(absl::StrCat(where, ": index is 0"));
  const uint8_t specification = reader.Byte(absl::StrCat(where, ": specification"));
  if (specification != kDmtfSpecification) {
    reader.Fail(absl::StrCat(where, ": measurement specification ", Hex(specification),
                             ", expected DMTF's, ", Hex(kDmtfSpecification)));
  }
  const uint32_t size = reader.Number(2, absl::StrCat(where, ": size"));
  measurement.type = reader.Byte(absl::StrCat(where, ": value type"));
  const uint32_t value_size = reader.Number(2, absl::StrCat(where, ": value size"));
  if (value_size + 3 != size) {
    reader.Fail(
        absl::StrCat(where, ": a value of ", value_size, " bytes in a measurement of ", size));
  }
  if ((measurement.type & kRawBitStream) != 0 || value_size != kDigestSize) {
    reader.Fail(absl::StrCat(where, ": value of type ", Hex(measurement.type), " and ", value_size,
                             " bytes, expected a digest of ", kDigestSize));
  }
  measurement.digest = reader.Take(kDigestSize, absl::StrCat(where, ": value"));
  return measurement;
}

void ReadBlocks(Reader& reader, absl::Status* status, Report* report) {
  const uint8_t count = reader.Byte("number of blocks");
  const uint32_t size = reader.Number(3, "measurement record length");
  Reader record(reader.Take(size, "measurement record"), status);
  if (count == 0) record.Fail("it has no measurement");
  std::bitset<256> seen;
  for (uint8_t i = 0; i < count && record.ok(); ++i) {
    const std::string where = absl::StrCat("block ", i + 1, " of ", count);
    const Measurement measurement = ReadBlock(record, where);
    if (seen.test(measurement.index)) {
      record.Fail(absl::StrCat(where, ": index ", measurement.index, " stands twice"));
    }
    seen.set(measurement.index);
    report->measurements.push_back(measurement);
  }
  if (!record.rest().empty()) {
    record.Fail(absl::StrCat(count, " blocks leave ", record.rest().size(),
                             " bytes of the measurement record"));
  }
}

void ReadOpaque(Reader& reader, absl::Status* status, Report* report) {
  const uint32_t size = reader.Number(2, "opaque length");
  Reader opaque(reader.Take(size, "opaque data"), status);
  while (opaque.ok() && !opaque.rest().empty()) {
    if (report->opaque.size() >= kMaxOpaqueFields) {
      opaque.Fail(absl::StrCat("over ", kMaxOpaqueFields, " opaque fields"));
      break;
    }
    const std::string where = absl::StrCat("opaque field ", report->opaque.size() + 1);
    OpaqueField field;
    field.type = static_cast<uint16_t>(opaque.Number(2, absl::StrCat(where, ": type")));
    const uint32_t length = opaque.Number(2, absl::StrCat(where, ": length"));
    field.value = opaque.Take(length, absl::StrCat(where, " (type ", field.type, ")"));
    if (opaque.ok()) report->opaque.push_back(field);
  }
}

}  // namespace

absl::StatusOr<Report> ParseReport(std::string_view bytes) {
  if (bytes.size() > kMaxReportSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("nvidia report: ", bytes.size(), " bytes, at most ", kMaxReportSize));
  }
  absl::Status status;
  Report report;
  Reader reader(bytes, &status);
  ReadRequest(reader, &report);
  ReadResponseHeader(reader, &report);
  ReadBlocks(reader, &status, &report);
  report.responder_nonce = reader.Take(kNonceSize, "responder nonce");
  ReadOpaque(reader, &status, &report);
  report.signed_bytes = bytes.substr(0, bytes.size() - reader.rest().size());
  report.signature = reader.Take(kSignatureSize, "signature");
  report.trailing = reader.rest();
  if (!status.ok()) return status;
  return report;
}

absl::Status CheckReportSignature(const Report& report, EVP_PKEY* key) {
  return CheckEcdsa(Curve::kP384, key, report.signature, report.signed_bytes);
}

}  // namespace caravan::attestation::nvidia
