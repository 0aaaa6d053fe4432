// SPDX-License-Identifier: Apache-2.0
//
// What a TPM writes, the container it travels in, and the JSON of tools.
#include "attestation/insecure_software/forge_vtpm.h"
#include "attestation/tpm/evidence.h"
#include "attestation/tpm/input.h"
#include "attestation/tpm/quote.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {

std::vector<std::string> Seeds() {
  namespace forge = attestation::insecure_software;
  namespace tpm = attestation::tpm;
  forge::TpmQuoteSpec spec;
  spec.extra_data = "nonce";
  spec.pcr_digest.assign(32, 'd');
  const auto ak = forge::MakeRsaKey();
  Require(ak.ok(), "a key can be made");
  const auto area = forge::MakePublicArea(ak->get(), 0x00050072);
  Require(area.ok(), "a public area can be made");
  tpm::VtpmEvidence evidence{.hcl_report = "hcl",
                             .td_quote = "td",
                             .quote = forge::MakeTpmQuote(spec),
                             .signature = "signature",
                             .ak_public = *area,
                             .pcrs = {}};
  evidence.pcrs[7].fill(1);
  return {forge::MakeTpmQuote(spec), forge::WrapSignature(std::string(256, 's')), *area,
          tpm::Encode(evidence),
          "{\"hcl_report\":\"00\",\"tpm_quote\":{\"message\":[255,84],\"signature\":\"AA==\","
          "\"pcrs\":[\"00\"]},\"td_quote\":\"_w\",\"vcek\":\"00\"}"};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  namespace tpm = attestation::tpm;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const auto quote = tpm::ParseQuote(bytes); quote.ok()) {
    fuzz::Require(quote->extra_data.size() <= 66, "a nonce has a bound");
    if (const auto selected = tpm::SelectedPcrs(*quote); selected.ok()) {
      fuzz::Require(!selected->empty() && selected->back() < tpm::kPcrs,
                    "registers are known ones");
    }
  }
  if (const auto area = tpm::ParsePublicArea(bytes); area.ok()) {
    fuzz::Require(area->modulus.size() <= 256, "a modulus has a bound");
  }
  if (const auto signature = tpm::RsaSignatureOf(bytes); signature.ok()) {
    fuzz::Require(signature->size() <= 256, "a signature has a bound");
  }
  if (const auto evidence = tpm::DecodeVtpmEvidence(bytes); evidence.ok()) {
    fuzz::Require(tpm::Encode(*evidence) == bytes, "a container has one encoding");
  }
  if (const auto item = tpm::FromJson(bytes); item.ok()) {
    fuzz::Require(tpm::DecodeVtpmEvidence(item->report).ok(), "what JSON gives can be read");
  }
  return 0;
}
