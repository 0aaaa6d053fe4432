// SPDX-License-Identifier: Apache-2.0
#include "attestation/collateral/inspect.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "attestation/collateral/inspect_maker.h"
#include "attestation/pem.h"
#include "attestation/verify_input.h"
#include "base/hex.h"
#include "base/json.h"

namespace caravan::attestation {
namespace {

constexpr size_t kMaxChain = 64 << 10;  // bytes of PEM

std::string FormatUtc(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

// RFC 3986, percent encoding; nullopt on a '%' without two digits.
std::optional<std::string> DecodePercent(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const std::optional<std::string> byte = base::FromHex(text.substr(i + 1, 2));
    if (!byte.has_value() || byte->size() != 1) return std::nullopt;
    out += *byte;
    i += 2;
  }
  return out;
}

absl::StatusOr<std::string> DecodeChain(const std::string& encoded) {
  if (encoded.size() > kMaxChain) {
    return absl::InvalidArgumentError(
        absl::StrCat("issuer chain has ", encoded.size(), " bytes, at most ", kMaxChain));
  }
  std::optional<std::string> pem = DecodePercent(encoded);
  if (!pem.has_value()) {
    return absl::InvalidArgumentError("issuer chain is not url-encoded: a % without two digits");
  }
  absl::StatusOr<std::vector<PemBlock>> blocks = ReadPem(*pem, kMaxCertificates);
  if (!blocks.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("issuer chain: ", blocks.status().message()));
  }
  if (blocks->empty()) return absl::InvalidArgumentError("issuer chain holds no pem block");
  return *std::move(pem);
}

// NVIDIA's answer: {"id":"…","rim":"<base64>","sha256":"…"}.
absl::StatusOr<std::string> UnwrapRim(const std::string& key, std::string_view text) {
  absl::StatusOr<base::JsonValue> value = base::ParseJson(text);
  if (!value.ok()) return value.status();
  absl::Status status;
  base::JsonReader reader(&*value, "rim answer", &status);
  const std::string id = reader.Text("id");
  const std::string encoded = reader.Text("rim");
  if (!status.ok()) return status;
  if (id != key) {
    return absl::InvalidArgumentError(
        absl::StrCat("rim answer is for \"", absl::CHexEscape(id), "\", asked was for ", key));
  }
  std::string rim;
  if (!absl::Base64Unescape(encoded, &rim)) {
    return absl::InvalidArgumentError("rim answer: rim is not base64");
  }
  return rim;
}

}  // namespace

absl::StatusOr<CollateralItem> TakeAnswer(const CollateralRequest& request, std::string body,
                                          const std::string& encoded_chain) {
  CollateralItem item;
  if (body.empty()) return absl::InvalidArgumentError("the answer is empty");
  if (request.kind == CollateralKind::kNvidiaRim) {
    absl::StatusOr<std::string> rim = UnwrapRim(request.key, body);
    if (!rim.ok()) return rim.status();
    body = *std::move(rim);
  }
  item.body = std::move(body);
  if (encoded_chain.empty()) return item;
  absl::StatusOr<std::string> chain = DecodeChain(encoded_chain);
  if (!chain.ok()) return chain.status();
  item.issuer_chain = *std::move(chain);
  return item;
}

absl::StatusOr<CollateralFacts> InspectCollateral(const CollateralRequest& request,
                                                  const CollateralItem& item,
                                                  const std::vector<std::string>& issuers,
                                                  const std::vector<std::string>& extra_roots) {
  const SignerPool signers(item.issuer_chain, issuers, extra_roots);
  absl::StatusOr<CollateralFacts> facts = absl::UnimplementedError("not a known kind");
  switch (request.kind) {
    case CollateralKind::kAmdVcek:
    case CollateralKind::kAmdChain:
    case CollateralKind::kAmdCrl:
      facts = InspectAmd(request, item, signers);
      break;
    case CollateralKind::kIntelTcbInfo:
    case CollateralKind::kIntelQeIdentity:
    case CollateralKind::kIntelPckCrl:
    case CollateralKind::kIntelRootCrl:
      facts = InspectIntel(request, item, signers);
      break;
    case CollateralKind::kNvidiaRim:
    case CollateralKind::kOcsp:
      facts = InspectNvidia(request, item, signers);
      break;
  }
  if (facts.ok()) return facts;
  return absl::UnauthenticatedError(
      absl::StrCat(request.ToString(), ": ", facts.status().message()));
}

absl::Status CheckNotOlder(const CollateralFacts& fresh, const CollateralFacts& kept) {
  if (fresh.evaluation_number != kept.evaluation_number) {
    if (fresh.evaluation_number > kept.evaluation_number) return absl::OkStatus();
    return absl::UnauthenticatedError(absl::StrCat("what came has evaluation number ",
                                                   fresh.evaluation_number, ", what is kept has ",
                                                   kept.evaluation_number,
                                                   ": old collateral is played "
                                                   "back"));
  }
  if (fresh.issued >= kept.issued) return absl::OkStatus();
  return absl::UnauthenticatedError(
      absl::StrCat("what came was issued at ", FormatUtc(fresh.issued), ", what is kept at ",
                   FormatUtc(kept.issued), ": old collateral is played back"));
}

}  // namespace caravan::attestation
