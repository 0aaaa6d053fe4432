// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/quote.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace caravan::attestation::intel {
namespace {

constexpr std::string_view kIntelVendor(
    "\x93\x9a\x72\x33\xf7\x9c\x4c\xa9\x94\x0a\x0d\xb3\x95\x7f\x06\x07", 16);
constexpr size_t kSignatureSize = 64;
constexpr size_t kKeySize = 64;

struct Body {
  BodyType type;
  size_t size;
  uint32_t tee;
};
constexpr Body kBodies[] = {
    {BodyType::kSgx, kSgxReportSize, kTeeSgx},
    {BodyType::kTd10, 584, kTeeTdx},
    {BodyType::kTd15, 648, kTeeTdx},
    {BodyType::kTd15Extended, 885, kTeeTdx},
};

// Takes fields off the front; the first that does not fit stays as the error.
class Cursor {
 public:
  Cursor(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  std::string_view Take(size_t size, std::string_view what) {
    if (!status_.ok()) return {};
    if (size > bytes_.size() - at_) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat(where_, ": ", std::string(what), " of ", size, " bytes at ", at_,
                       " reaches past the end at ", bytes_.size()));
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  uint32_t Little(size_t size, std::string_view what) {
    const std::string_view field = Take(size, what);
    uint32_t value = 0;
    for (size_t i = field.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(field[i]);
    return value;
  }
  uint16_t U16(std::string_view what) { return static_cast<uint16_t>(Little(2, what)); }
  uint32_t U32(std::string_view what) { return Little(4, what); }

  void Expect(bool holds, const std::string& problem) {
    if (status_.ok() && !holds) {
      status_ = absl::InvalidArgumentError(absl::StrCat(where_, ": ", problem));
    }
  }
  // All bytes have to be used up.
  void Finish(std::string_view what) {
    Expect(at_ == bytes_.size(),
           absl::StrCat(std::string(what), " has ", bytes_.size(), " bytes, its fields ", at_));
  }

  size_t at() const { return at_; }
  std::string_view rest() const { return bytes_.substr(at_); }
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  std::string_view bytes_;
  std::string where_;
  size_t at_ = 0;
  absl::Status status_;
};

void ReadHeader(Cursor& in, Quote* quote) {
  quote->version = in.U16("version");
  in.Expect(quote->version >= 3 && quote->version <= 5,
            absl::StrCat("version is ", quote->version, ", expected 3 to 5"));
  quote->key_type = in.U16("attestation key type");
  in.Expect(quote->key_type == kEcdsaP256,
            absl::StrCat("attestation key type is ", quote->key_type, ", expected 2, ECDSA P-256"));
  quote->tee_type = in.U32("tee type");
  const bool known =
      quote->tee_type == kTeeSgx || (quote->tee_type == kTeeTdx && quote->version > 3);
  in.Expect(known, absl::StrCat("tee type is 0x", absl::Hex(quote->tee_type),
                                ", expected 0 (sgx) or, from version 4 on, 0x81 (tdx)"));
  quote->qe_svn = in.U16("qe svn");
  quote->pce_svn = in.U16("pce svn");
  quote->qe_vendor_id = in.Take(16, "qe vendor id");
  quote->user_data = in.Take(20, "user data");
}

void ReadBody(Cursor& in, Quote* quote) {
  Body wanted = quote->tee_type == kTeeSgx ? kBodies[0] : kBodies[1];
  if (quote->version >= 5) {
    const uint16_t type = in.U16("body type");
    const uint32_t size = in.U32("body size");
    std::optional<Body> found;
    for (const Body& body : kBodies) {
      if (static_cast<uint16_t>(body.type) == type) found = body;
    }
    in.Expect(found.has_value(), absl::StrCat("body type is ", type, ", expected 1 to 4"));
    if (!in.ok()) return;
    wanted = *found;
    in.Expect(size == wanted.size,
              absl::StrCat("body size is ", size, ", a body of type ", type, " has ", wanted.size));
    in.Expect(wanted.tee == quote->tee_type,
              absl::StrCat("body type ", type, " does not go with tee type 0x",
                           absl::Hex(quote->tee_type)));
  }
  quote->body_type = wanted.type;
  quote->body = in.Take(wanted.size, "body");
}

void ReadCertification(Cursor& in, Quote* quote) {
  quote->qe_report = in.Take(kSgxReportSize, "qe report");
  quote->qe_report_signature = in.Take(kSignatureSize, "qe report signature");
  quote->qe_auth_data = in.Take(in.U16("qe authentication data size"), "qe authentication data");
  quote->certification_type = in.U16("certification data type");
  const uint32_t size = in.U32("certification data size");
  in.Expect(size <= kMaxCertificationData, absl::StrCat("certification data has ", size,
                                                        " bytes, at most ", kMaxCertificationData));
  quote->certification_data = in.Take(size, "certification data");
  in.Finish("what holds the certification data");
}

}  // namespace

bool IsIntelVendor(std::string_view qe_vendor_id) { return qe_vendor_id == kIntelVendor; }

absl::StatusOr<Quote> ParseQuote(std::string_view bytes) {
  Quote quote;
  Cursor in(bytes, "quote");
  ReadHeader(in, &quote);
  ReadBody(in, &quote);
  quote.signed_bytes = bytes.substr(0, in.at());
  const std::string_view data = in.Take(in.U32("signature data size"), "signature data");
  if (!in.ok()) return in.status();
  quote.trailing = in.rest();

  Cursor auth(data, "quote's signature data");
  quote.signature = auth.Take(kSignatureSize, "signature");
  quote.attestation_key = auth.Take(kKeySize, "attestation key");
  if (quote.version == 3) {
    ReadCertification(auth, &quote);
    if (!auth.ok()) return auth.status();
    return quote;
  }
  const uint16_t type = auth.U16("outer certification data type");
  auth.Expect(type == kQeReportCertification,
              absl::StrCat("outer certification data type is ", type, ", expected 6"));
  const std::string_view nested =
      auth.Take(auth.U32("outer certification data size"), "outer certification data");
  auth.Finish("the signature data");
  if (!auth.ok()) return auth.status();
  Cursor inner(nested, "quote's outer certification data");
  ReadCertification(inner, &quote);
  if (!inner.ok()) return inner.status();
  return quote;
}

}  // namespace caravan::attestation::intel
