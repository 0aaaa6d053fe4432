// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "attestation/collateral/inspect_maker.h"
#include "attestation/ecdsa.h"
#include "attestation/intel/collateral.h"
#include "attestation/policy/intel_roots.h"
#include "attestation/verify_input.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation {
namespace {

constexpr SignatureSuite kSuite = SignatureSuite::kEcdsaP256Sha256;

bool IsIntelRoot(const std::string& digest) { return digest == kIntelRootSpkiSha256; }

// The certificate that signed the document: the root issued it, and it issues none.
absl::Status CheckSigned(const intel::SignedDocument& document, const SignerPool& signers) {
  absl::Status failure = absl::InvalidArgumentError(
      "no TCB signing certificate came with the document whose signature it bears");
  for (const Certificate& signer : signers.certificates()) {
    if (!signer.CheckIsEndEntity().ok() ||
        !CheckEcdsa(Curve::kP256, signer.public_key(), document.signature, document.body).ok()) {
      continue;
    }
    absl::StatusOr<std::vector<Certificate>> chain = signers.Climb(signer, kSuite, &IsIntelRoot);
    if (!chain.ok()) {
      failure = chain.status();
    } else if (chain->size() != 1) {
      failure = absl::InvalidArgumentError(
          absl::StrCat("the document is signed by ", signer.Describe(), ", which may not"));
    } else {
      return absl::OkStatus();
    }
  }
  return failure;
}

CollateralFacts FactsOf(const intel::Validity& validity, const SignerPool& signers) {
  return {.issued = validity.issue_date,
          .expires = std::min(validity.next_update, signers.chain_end()),
          .evaluation_number = validity.evaluation_number};
}

absl::StatusOr<CollateralFacts> InspectTcbInfo(const std::string& key,
                                               const intel::SignedDocument& document,
                                               const SignerPool& signers) {
  absl::StatusOr<intel::TcbInfo> info = intel::ParseTcbInfo(document.body);
  if (!info.ok()) return info.status();
  const std::string about =
      absl::StrCat(info->tdx ? "tdx/" : "sgx/", base::ToHex(crypto::AsBytes(info->fmspc)));
  if (about != key) return absl::InvalidArgumentError(absl::StrCat("TCB info is for ", about));
  return FactsOf(info->validity, signers);
}

absl::StatusOr<CollateralFacts> InspectIdentity(const std::string& key,
                                                const intel::SignedDocument& document,
                                                const SignerPool& signers) {
  absl::StatusOr<intel::EnclaveIdentity> identity = intel::ParseEnclaveIdentity(document.body);
  if (!identity.ok()) return identity.status();
  if (identity->id != (key == "tdx" ? "TD_QE" : "QE")) {
    return absl::InvalidArgumentError(
        absl::StrCat("the identity is of ", absl::CHexEscape(identity->id)));
  }
  return FactsOf(identity->validity, signers);
}

absl::StatusOr<CollateralFacts> InspectDocument(const CollateralRequest& request,
                                                const std::string& text,
                                                const SignerPool& signers) {
  absl::StatusOr<intel::SignedDocument> document = intel::ParseSignedDocument(text);
  if (!document.ok()) return document.status();
  const bool tcb_info = request.kind == CollateralKind::kIntelTcbInfo;
  if ((document->name == "tcbInfo") != tcb_info) {
    return absl::InvalidArgumentError(absl::StrCat("the document is a ", document->name));
  }
  if (absl::Status status = CheckSigned(*document, signers); !status.ok()) return status;
  return tcb_info ? InspectTcbInfo(request.key, *document, signers)
                  : InspectIdentity(request.key, *document, signers);
}

// "Intel SGX PCK Platform CA" for the key "platform".
bool IsNamedFor(const Certificate& issuer, const std::string& key) {
  const std::string name = issuer.SubjectCommonName();
  if (key == "root") return name.ends_with("Root CA");
  return name.ends_with(key == "platform" ? "PCK Platform CA" : "PCK Processor CA");
}

absl::StatusOr<CollateralFacts> InspectList(const std::string& key, const std::string& text,
                                            const SignerPool& signers) {
  Endorsements held;
  if (absl::Status status = ParseEndorsements(text, &held); !status.ok()) return status;
  if (held.crls.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the answer holds ", held.crls.size(), " revocation lists, expected one"));
  }
  absl::StatusOr<Crl> crl = Crl::Parse(held.crls[0]);
  if (!crl.ok()) return crl.status();
  absl::Status failure = absl::InvalidArgumentError(
      "no certificate of its issuer is at hand, or it is another issuer's list");
  for (const Certificate& issuer : signers.certificates()) {
    if (!crl->IsIssuedInNameOf(issuer) || !IsNamedFor(issuer, key)) continue;
    failure = crl->CheckSignedBy(issuer, kSuite);
    if (failure.ok() && !signers.IsRoot(issuer, &IsIntelRoot)) {
      failure = signers.Climb(issuer, kSuite, &IsIntelRoot).status();
    }
    if (failure.ok()) {
      return CollateralFacts{.issued = crl->this_update(),
                             .expires = std::min(crl->next_update(), signers.chain_end())};
    }
  }
  return failure;
}

}  // namespace

absl::StatusOr<CollateralFacts> InspectIntel(const CollateralRequest& request,
                                             const CollateralItem& item,
                                             const SignerPool& signers) {
  const bool list =
      request.kind == CollateralKind::kIntelPckCrl || request.kind == CollateralKind::kIntelRootCrl;
  return list ? InspectList(request.key, item.body, signers)
              : InspectDocument(request, item.body, signers);
}

}  // namespace caravan::attestation
