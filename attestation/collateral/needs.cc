// SPDX-License-Identifier: Apache-2.0
#include "attestation/collateral/needs.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attestation/collateral/carried.h"
#include "attestation/collateral/needs_internal.h"
#include "attestation/intel/pck.h"
#include "attestation/intel/quote.h"
#include "attestation/sev_snp/chain.h"
#include "attestation/sev_snp/leaf.h"
#include "attestation/sev_snp/report.h"
#include "attestation/x509.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation {
namespace {

using sev_snp::Leaf;
using sev_snp::Product;
using sev_snp::Report;
using sev_snp::SigningKey;

// The certificate of the key that signed the report.
std::optional<Leaf> FindLeaf(const Report& report, const Certificates& certificates) {
  const std::string_view chip(reinterpret_cast<const char*>(report.chip_id.data()),
                              report.chip_id.size());
  for (const Certificate& certificate : certificates) {
    if (!sev_snp::LooksLikeLeaf(certificate)) continue;
    absl::StatusOr<Leaf> leaf = sev_snp::ParseLeaf(certificate);
    if (!leaf.ok() || static_cast<uint8_t>(leaf->kind) != report.signing_key) continue;
    if (leaf->kind == SigningKey::kVcek && !chip.starts_with(leaf->hwid) && !report.mask_chip_key) {
      continue;
    }
    if (leaf->tcb == sev_snp::DecodeTcb(report.reported_tcb, leaf->product)) return *leaf;
  }
  return std::nullopt;
}

// Whether an issuer of `leaf` and an issuer of that one are among the certificates.
bool HasIssuers(const Certificate& leaf, const Certificates& certificates) {
  for (const Certificate& intermediate : certificates) {
    if (!leaf.IsIssuedInNameOf(intermediate)) continue;
    for (const Certificate& root : certificates) {
      if (intermediate.IsIssuedInNameOf(root) && root.IsSelfIssued()) return true;
    }
  }
  return false;
}

class SnpNeeds {
 public:
  SnpNeeds(const Report& report, const Evidence& evidence, const Endorsements& at_hand,
           CollateralNeeds* needs)
      : report_(report),
        carried_(ParseAll(evidence.certificates)),
        at_hand_(ParseAll(at_hand.certificates)),
        needs_(*needs) {}

  void Collect() {
    if (IsInsecure(carried_)) return;
    const auto key = static_cast<SigningKey>(report_.signing_key);
    if (key != SigningKey::kVcek && key != SigningKey::kVlek) {
      needs_.gaps.push_back("the report is signed by no key that has a certificate");
      return;
    }
    carried_leaf_ = FindLeaf(report_, carried_);
    known_leaf_ = carried_leaf_.has_value() ? carried_leaf_ : FindLeaf(report_, at_hand_);
    const bool vlek = key == SigningKey::kVlek;
    const std::vector<Product> products = Products();
    if (products.empty()) {
      needs_.gaps.push_back(
          absl::StrFormat("the report's CPU, family 0x%02x model 0x%02x, is of no known product",
                          report_.cpuid_family, report_.cpuid_model));
      return;
    }
    const std::string service = vlek ? "vlek/" : "vcek/";
    if (!carried_leaf_.has_value() || !HasIssuers(carried_leaf_->certificate, carried_)) {
      for (Product product : products) {
        Want(CollateralKind::kAmdChain,
             absl::StrCat(service, std::string(sev_snp::AmdName(product))), &needs_);
      }
    }
    if (!carried_leaf_.has_value()) WantLeaf(vlek, report_.version < 3 ? Version2() : products);
    if (products.size() == 1) {
      Want(CollateralKind::kAmdCrl,
           absl::StrCat(service, std::string(sev_snp::AmdName(products[0]))), &needs_);
    }
  }

 private:
  // What a version 2 report may be of: it does not say.
  static std::vector<Product> Version2() { return {v1::MILAN, v1::GENOA}; }

  std::vector<Product> Products() const {
    if (known_leaf_.has_value()) return {known_leaf_->product};
    if (report_.version < 3) return Version2();
    const Product product = sev_snp::ProductOfCpuid(report_.cpuid_family, report_.cpuid_model);
    if (product == v1::SNP_PRODUCT_UNSPECIFIED) return {};
    return {product};
  }

  void WantLeaf(bool vlek, const std::vector<Product>& products) {
    if (vlek) {
      if (known_leaf_.has_value()) return;
      needs_.gaps.push_back(
          "the report is signed by a cloud's VLEK, whose certificate AMD's service does not hand "
          "out: it has to come with the evidence, from the host's certificate table");
      return;
    }
    const bool masked = std::all_of(report_.chip_id.begin(), report_.chip_id.end(),
                                    [](uint8_t byte) { return byte == 0; });
    if (masked) {
      needs_.gaps.push_back(
          "the report's chip id is masked: its VCEK certificate has to come with the evidence");
      return;
    }
    std::string names;
    for (Product product : products) {
      absl::StrAppend(&names, names.empty() ? "" : ",", std::string(sev_snp::AmdName(product)));
    }
    Want(CollateralKind::kAmdVcek,
         absl::StrCat(names, "/", sev_snp::VcekPath(report_, products[0])), &needs_);
  }

  const Report& report_;
  const Certificates carried_, at_hand_;
  CollateralNeeds& needs_;
  std::optional<Leaf> carried_leaf_, known_leaf_;
};

std::optional<intel::Pck> FindPck(const Certificates& certificates) {
  for (const Certificate& certificate : certificates) {
    if (!intel::LooksLikePck(certificate)) continue;
    absl::StatusOr<intel::Pck> pck = intel::ParsePck(certificate);
    if (pck.ok()) return *std::move(pck);
  }
  return std::nullopt;
}

absl::Status CollectIntel(const Evidence& evidence, const Endorsements& at_hand,
                          CollateralNeeds* needs) {
  absl::StatusOr<intel::Quote> quote = intel::ParseQuote(evidence.report);
  if (!quote.ok()) return quote.status();
  const Certificates carried = ParseAll(CarriedCertificates(evidence));
  if (IsInsecure(carried)) return absl::OkStatus();
  std::optional<intel::Pck> pck = FindPck(carried);
  if (!pck.has_value()) pck = FindPck(ParseAll(at_hand.certificates));
  if (!pck.has_value()) {
    needs->gaps.push_back(absl::StrCat(
        "the quote carries certification data of type ", quote->certification_type,
        " and no PCK certificate, which a PCCS hands out to the platform alone: have the host make "
        "quotes with certification data of type 5"));
    return absl::OkStatus();
  }
  const std::string tee = quote->tee_type == intel::kTeeTdx ? "tdx" : "sgx";
  Want(CollateralKind::kIntelPckCrl,
       pck->platform_instance_id.has_value() ? "platform" : "processor", needs);
  Want(CollateralKind::kIntelTcbInfo,
       absl::StrCat(tee, "/", base::ToHex(crypto::AsBytes(pck->fmspc))), needs);
  Want(CollateralKind::kIntelQeIdentity, tee, needs);
  Want(CollateralKind::kIntelRootCrl, "root", needs);
  return absl::OkStatus();
}

absl::Status Collect(const Evidence& evidence, const Endorsements& at_hand,
                     CollateralNeeds* needs) {
  switch (evidence.kind) {
    case EvidenceKind::kSevSnp: {
      absl::StatusOr<Report> report = sev_snp::ParseReport(evidence.report);
      if (!report.ok()) return report.status();
      SnpNeeds(*report, evidence, at_hand, needs).Collect();
      return absl::OkStatus();
    }
    case EvidenceKind::kTdx:
    case EvidenceKind::kSgx:
      return CollectIntel(evidence, at_hand, needs);
    case EvidenceKind::kNvidia:
      return CollectNvidia(evidence, at_hand, needs);
    case EvidenceKind::kVtpm:
      break;
  }
  needs->gaps.push_back(absl::StrCat("what ", std::string(Name(evidence.kind)),
                                     " evidence needs is not known to this version"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CollateralNeeds> RequiredCollateral(const Evidence& evidence,
                                                   const Endorsements& at_hand) {
  return RequiredCollateral(EvidenceSet{{evidence}}, at_hand);
}

absl::StatusOr<CollateralNeeds> RequiredCollateral(const EvidenceSet& set,
                                                   const Endorsements& at_hand) {
  CollateralNeeds needs;
  for (const Evidence& evidence : set.items) {
    if (absl::Status status = Collect(evidence, at_hand, &needs); !status.ok()) return status;
  }
  return needs;
}

}  // namespace caravan::attestation
