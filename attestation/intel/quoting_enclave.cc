// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/quoting_enclave.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "attestation/ecdsa.h"
#include "attestation/intel/sgx_report.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::intel {
namespace {

// SHA-256(attestation key ‖ authentication data), then 32 zero bytes.
std::string WantedReportData(const Quote& quote) {
  const std::string bound = std::string(quote.attestation_key) + std::string(quote.qe_auth_data);
  const crypto::Sha256Digest digest = crypto::Sha256(crypto::AsBytes(bound));
  std::string wanted(digest.begin(), digest.end());
  wanted.resize(64, '\0');
  return wanted;
}

std::string Masked(std::string_view value, std::string_view mask) {
  std::string out(value);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(out[i] & mask[i]);
  return out;
}

std::string Mismatch(const SgxReport& report, const EnclaveIdentity& identity) {
  const std::string misc = Masked(report.misc_select, identity.misc_select_mask);
  if (misc != identity.misc_select) {
    return absl::StrCat("MISCSELECT is ", base::ToHex(misc), ", identity says ",
                        base::ToHex(identity.misc_select));
  }
  const std::string attributes = Masked(report.attributes, identity.attributes_mask);
  if (attributes != identity.attributes) {
    return absl::StrCat("ATTRIBUTES are ", base::ToHex(attributes), ", identity says ",
                        base::ToHex(identity.attributes));
  }
  if (report.mr_signer != identity.mr_signer) {
    return absl::StrCat("MRSIGNER is ", base::ToHex(report.mr_signer), ", identity says ",
                        base::ToHex(identity.mr_signer));
  }
  if (report.isv_prod_id != identity.isv_prod_id) {
    return absl::StrCat("ISVPRODID is ", report.isv_prod_id, ", identity says ",
                        identity.isv_prod_id);
  }
  return "";
}

}  // namespace

void CheckSignatures(const Quote& quote, const std::optional<Pck>& pck, Findings* findings) {
  constexpr std::string_view kReportWhat = "the platform's key signed the quoting enclave's report";
  if (pck.has_value()) {
    const absl::Status report = CheckEcdsa(Curve::kP256, pck->certificate.public_key(),
                                           quote.qe_report_signature, quote.qe_report);
    findings->Require(report.ok(), "QE_REPORT_SIGNATURE", kReportWhat,
                      report.ok() ? "" : absl::StrCat("QE report: ", report.message()));
  } else {
    findings->Missing("QE_REPORT_SIGNATURE", kReportWhat,
                      "there is no PCK certificate to check it with");
  }
  const std::string wanted = WantedReportData(quote);
  const bool bound = ViewSgxReport(quote.qe_report).report_data == wanted;
  findings->Require(
      bound, "QE_REPORT_DATA", "the quoting enclave's report binds the attestation key",
      bound ? ""
            : absl::StrCat("QE report data is ",
                           base::ToHex(ViewSgxReport(quote.qe_report).report_data),
                           ", attestation key and authentication data give ", base::ToHex(wanted)));
  absl::StatusOr<EvpPkeyPtr> key = MakeP256PublicKey(quote.attestation_key);
  const absl::Status signature =
      key.ok() ? CheckEcdsa(Curve::kP256, key->get(), quote.signature, quote.signed_bytes)
               : key.status();
  findings->Require(signature.ok(), "QUOTE_SIGNATURE", "the attestation key signed the quote",
                    signature.ok() ? "" : absl::StrCat("quote: ", signature.message()));
}

void CheckQuotingEnclave(const Quote& quote, const std::optional<EnclaveIdentity>& identity,
                         Findings* findings) {
  const SgxReport report = ViewSgxReport(quote.qe_report);
  const bool intel = IsIntelVendor(quote.qe_vendor_id);
  findings->Require(intel, "QE_VENDOR", "the quoting enclave is Intel's",
                    intel ? "" : absl::StrCat("QE vendor id is ", base::ToHex(quote.qe_vendor_id)));
  const bool debug = (report.flags() & kSgxDebug) != 0;
  findings->Require(!debug, "QE_DEBUG", "the quoting enclave runs without debug",
                    debug ? "the quoting enclave is debuggable: the host has its keys" : "");
  constexpr std::string_view kWhat = "the quoting enclave is the one that Intel describes";
  if (!identity.has_value()) {
    findings->Missing("QE_IDENTITY_MATCH", kWhat, "there is no QE identity to compare with");
    return;
  }
  const std::string mismatch = Mismatch(report, *identity);
  findings->Require(mismatch.empty(), "QE_IDENTITY_MATCH", kWhat,
                    mismatch.empty() ? "" : absl::StrCat("QE report: ", mismatch));
}

}  // namespace caravan::attestation::intel
