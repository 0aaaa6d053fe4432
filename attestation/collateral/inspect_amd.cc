// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "attestation/collateral/inspect_maker.h"
#include "attestation/policy/amd_roots.h"
#include "attestation/sev_snp/leaf.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation {
namespace {

using sev_snp::Leaf;
using sev_snp::Product;

SignerPool::IsMakersRoot RootOf(Product product) {
  return [product](const std::string& digest) {
    const AmdRoot* root = FindAmdRoot(digest);
    return root != nullptr && root->product == product;
  };
}

// "vcek/Milan".
struct ProductKey {
  bool vlek = false;
  Product product = v1::SNP_PRODUCT_UNSPECIFIED;
};

absl::StatusOr<ProductKey> ParseKey(const std::string& key) {
  const std::vector<std::string> parts = absl::StrSplit(key, '/');
  ProductKey parsed;
  if (parts.size() == 2) {
    parsed.vlek = parts[0] == "vlek";
    parsed.product = sev_snp::ProductOfName(parts[1]);
  }
  if (parsed.product == v1::SNP_PRODUCT_UNSPECIFIED || (!parsed.vlek && parts[0] != "vcek")) {
    return absl::InvalidArgumentError("the key is not vcek/ or vlek/ and a product");
  }
  return parsed;
}

// The end of a VCEK's address: what it says of the chip and its firmware.
std::string PathOf(const Leaf& leaf) {
  std::string path = absl::StrFormat("%s?blSPL=%02d&teeSPL=%02d&snpSPL=%02d&ucodeSPL=%02d",
                                     base::ToHex(crypto::AsBytes(leaf.hwid)), leaf.tcb.boot_loader,
                                     leaf.tcb.tee, leaf.tcb.snp, leaf.tcb.microcode);
  if (leaf.product == v1::TURIN) absl::StrAppendFormat(&path, "&fmcSPL=%02d", leaf.tcb.fmc);
  return path;
}

absl::StatusOr<CollateralFacts> InspectVcek(const std::string& key, const std::string& der,
                                            const SignerPool& signers) {
  absl::StatusOr<Certificate> certificate = Certificate::Parse(der);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<Leaf> leaf = sev_snp::ParseLeaf(*certificate);
  if (!leaf.ok()) return leaf.status();
  if (leaf->kind != sev_snp::SigningKey::kVcek) {
    return absl::InvalidArgumentError("the certificate is a VLEK's");
  }
  const size_t slash = key.find('/');
  const std::vector<std::string> products = absl::StrSplit(key.substr(0, slash), ',');
  const std::string product(sev_snp::AmdName(leaf->product));
  if (std::find(products.begin(), products.end(), product) == products.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate is for a ", absl::CHexEscape(leaf->product_name)));
  }
  if (slash == std::string::npos || PathOf(*leaf) != key.substr(slash + 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the certificate is for another chip or firmware: ", product, "/", PathOf(*leaf)));
  }
  absl::StatusOr<std::vector<Certificate>> chain =
      signers.Climb(*certificate, SignatureSuite::kSha384, RootOf(leaf->product));
  if (!chain.ok()) return chain.status();
  return CollateralFacts{.expires = certificate->not_after()};
}

// An intermediate and its root, which the chain itself has to hold.
absl::StatusOr<CollateralFacts> InspectChain(const ProductKey& key, const std::string& pem,
                                             const SignerPool& signers) {
  const SignerPool own = signers.WithChain(pem);
  const std::string wanted =
      absl::StrCat(key.vlek ? "SEV-VLEK-" : "SEV-", std::string(sev_snp::AmdName(key.product)));
  for (size_t i = 0; i < own.chain_size(); ++i) {
    const Certificate& intermediate = own.certificates()[i];
    if (intermediate.SubjectCommonName() != wanted) continue;
    absl::StatusOr<std::vector<Certificate>> chain =
        own.Climb(intermediate, SignatureSuite::kSha384, RootOf(key.product));
    if (!chain.ok()) return chain.status();
    return CollateralFacts{.expires = own.chain_end()};
  }
  return absl::InvalidArgumentError(absl::StrCat("the chain holds no certificate of ", wanted));
}

absl::StatusOr<CollateralFacts> InspectList(const ProductKey& key, const std::string& der,
                                            const SignerPool& signers) {
  absl::StatusOr<Crl> crl = Crl::Parse(der);
  if (!crl.ok()) return crl.status();
  absl::Status status = absl::InvalidArgumentError(
      absl::StrCat("no root of ", std::string(sev_snp::AmdName(key.product)),
                   " is at hand that the list is named after"));
  for (const Certificate& root : signers.certificates()) {
    if (!crl->IsIssuedInNameOf(root) || !signers.IsRoot(root, RootOf(key.product))) continue;
    status = crl->CheckSignedBy(root);
    if (status.ok()) {
      return CollateralFacts{.issued = crl->this_update(), .expires = crl->next_update()};
    }
  }
  return status;
}

}  // namespace

absl::StatusOr<CollateralFacts> InspectAmd(const CollateralRequest& request,
                                           const CollateralItem& item, const SignerPool& signers) {
  if (request.kind == CollateralKind::kAmdVcek) {
    return InspectVcek(request.key, item.body, signers);
  }
  absl::StatusOr<ProductKey> key = ParseKey(request.key);
  if (!key.ok()) return key.status();
  if (request.kind == CollateralKind::kAmdChain) return InspectChain(*key, item.body, signers);
  return InspectList(*key, item.body, signers);
}

}  // namespace caravan::attestation
