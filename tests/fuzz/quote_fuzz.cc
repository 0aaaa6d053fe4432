// SPDX-License-Identifier: Apache-2.0
//
// TDX and SGX quotes: what is read lies inside the input, in order, and covers it.
#include "attestation/insecure_software/forge_intel.h"
#include "attestation/intel/quote.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

namespace intel = attestation::intel;

std::string Make(uint16_t version, uint32_t tee, intel::BodyType type, size_t size) {
  static const auto& key = *attestation::insecure_software::MakeP256Key()->release();
  attestation::insecure_software::QuoteSpec spec;
  spec.version = version;
  spec.tee_type = tee;
  spec.body_type = type;
  spec.body.assign(size, 'b');
  spec.attestation_key = spec.pck_key = const_cast<EVP_PKEY*>(&key);
  spec.certification_data = "certificates";
  const auto quote = attestation::insecure_software::MakeQuote(spec);
  Require(quote.ok(), "a quote can be made");
  return *quote;
}

void RequireInside(const std::string& bytes, std::string_view view) {
  Require(view.data() >= bytes.data() && view.data() + view.size() <= bytes.data() + bytes.size(),
          "a quote's parts lie in its bytes");
}

}  // namespace

std::vector<std::string> Seeds() {
  return {Make(3, intel::kTeeSgx, intel::BodyType::kSgx, 384),
          Make(4, intel::kTeeTdx, intel::BodyType::kTd10, 584),
          Make(5, intel::kTeeTdx, intel::BodyType::kTd15, 648),
          Make(5, intel::kTeeTdx, intel::BodyType::kTd15Extended, 885)};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto quote = attestation::intel::ParseQuote(bytes);
  if (!quote.ok()) return 0;
  for (std::string_view view :
       {quote->body, quote->signed_bytes, quote->signature, quote->attestation_key,
        quote->qe_report, quote->qe_report_signature, quote->qe_auth_data,
        quote->certification_data, quote->trailing}) {
    fuzz::RequireInside(bytes, view);
  }
  fuzz::Require(quote->signed_bytes.data() == bytes.data(), "the signature covers the beginning");
  fuzz::Require(
      quote->certification_data.data() + quote->certification_data.size() == quote->trailing.data(),
      "a quote's parts leave nothing out");
  return 0;
}
