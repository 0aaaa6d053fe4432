// SPDX-License-Identifier: Apache-2.0
#include "attestation/sev_snp/chain.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attestation/certificate_pool.h"
#include "attestation/policy/amd_roots.h"
#include "attestation/revocation.h"
#include "attestation/root.h"
#include "base/hex.h"

namespace caravan::attestation::sev_snp {
namespace {

constexpr std::string_view kLeafWhat = "the key that signed the report has a certificate";
constexpr char kCrlHint[] = "bring the list from https://kdsintf.amd.com/vcek/v1/{product}/crl";

class ChainBuilder {
 public:
  ChainBuilder(const Report& report, const Policy& policy, absl::Time now, CheckList* checks)
      : report_(report), policy_(policy), now_(now), checks_(*checks), pool_("SNP", checks) {}

  void Collect(const Evidence& evidence, const Endorsements& endorsements) {
    pool_.AddAll(evidence, endorsements);
    known_ = endorsements.known_signatures.get();
  }

  // False when there is none, which a check then says.
  bool ChooseLeaf() {
    int best = -1;
    absl::Status malformed;
    for (const Certificate& certificate : pool_.certificates()) {
      if (!LooksLikeLeaf(certificate)) continue;
      absl::StatusOr<Leaf> leaf = ParseLeaf(certificate);
      if (!leaf.ok()) {
        malformed = leaf.status();
        continue;
      }
      if (const int fit = Fit(*leaf); fit > best) {
        best = fit;
        leaf_ = *std::move(leaf);
      }
    }
    if (leaf_.has_value()) {
      checks_.Pass("SNP_CERTIFICATE", kLeafWhat, leaf_->certificate.Describe());
      return true;
    }
    if (!malformed.ok()) {
      checks_.Fail("SNP_CERTIFICATE", kLeafWhat, std::string(malformed.message()));
    } else {
      checks_.Missing("SNP_CERTIFICATE", kLeafWhat,
                      "no VCEK or VLEK certificate came with the evidence or the endorsements",
                      absl::StrCat("bring the certificate from ", KdsUrl(report_)));
    }
    return false;
  }

  bool Climb() {
    intermediate_ = Issuer(leaf_->certificate, "the leaf");
    if (!intermediate_.has_value()) return false;
    return ChooseRoot();
  }

  void CheckNames() {
    const std::string prefix(insecure_ ? kInsecureNamePrefix : "");
    const std::string product(AmdName(leaf_->product));
    const bool vlek = leaf_->kind == SigningKey::kVlek;
    const std::pair<const Certificate*, std::string> expected[] = {
        {&leaf_->certificate, absl::StrCat(prefix, vlek ? "SEV-VLEK" : "SEV-VCEK")},
        {&*intermediate_, absl::StrCat(prefix, vlek ? "SEV-VLEK-" : "SEV-", product)},
        {&*root_, absl::StrCat(prefix, "ARK-", product)},
    };
    for (const auto& [certificate, name] : expected) {
      const std::string have = certificate->SubjectCommonName();
      if (have == name) continue;
      checks_.Fail("SNP_CHAIN_ROLE", "each certificate stands in its role",
                   absl::StrCat("certificate is named \"", absl::CHexEscape(have),
                                "\", its place in the chain asks for \"", name, "\""));
      return;
    }
    checks_.Pass("SNP_CHAIN_ROLE", "each certificate stands in its role");
  }

  void CheckProduct() {
    constexpr std::string_view kWhat = "report, certificate and root are of one product";
    const std::string name(AmdName(leaf_->product));
    if (leaf_->product == v1::SNP_PRODUCT_UNSPECIFIED) {
      checks_.Missing("SNP_PRODUCT", kWhat,
                      absl::StrCat("the certificate's product \"",
                                   absl::CHexEscape(leaf_->product_name), "\" is not known"));
      return;
    }
    if (amd_root_ != nullptr && amd_root_->product != leaf_->product) {
      checks_.Fail("SNP_PRODUCT", kWhat,
                   absl::StrCat("the certificate is for ", name, ", its root for ",
                                std::string(AmdName(amd_root_->product))));
      return;
    }
    if (report_.version >= 3) {
      const Product cpuid = ProductOfCpuid(report_.cpuid_family, report_.cpuid_model);
      const std::string cpu =
          absl::StrFormat("family 0x%02x model 0x%02x", report_.cpuid_family, report_.cpuid_model);
      if (cpuid == v1::SNP_PRODUCT_UNSPECIFIED) {
        checks_.Missing("SNP_PRODUCT", kWhat,
                        absl::StrCat("the report's CPU, ", cpu, ", is not known"));
        return;
      }
      if (cpuid != leaf_->product) {
        checks_.Fail("SNP_PRODUCT", kWhat,
                     absl::StrCat("the certificate is for ", name, ", the report's CPU, ", cpu,
                                  ", is a ", std::string(AmdName(cpuid))));
        return;
      }
    }
    checks_.Pass("SNP_PRODUCT", kWhat, name);
  }

  void CheckConstraints() {
    constexpr std::string_view kWhat = "CAs are CAs, and the leaf is none";
    const std::pair<const Certificate*, absl::Status> findings[] = {
        {&leaf_->certificate, leaf_->certificate.CheckIsEndEntity()},
        {&leaf_->certificate, leaf_->certificate.CheckCriticalExtensions()},
        {&*intermediate_, intermediate_->CheckIsCa(0)},
        {&*intermediate_, intermediate_->CheckCriticalExtensions()},
        {&*root_, root_->CheckIsCa(1)},
        {&*root_, root_->CheckCriticalExtensions()},
    };
    for (const auto& [certificate, status] : findings) {
      if (status.ok()) continue;
      checks_.Fail("SNP_CHAIN_CONSTRAINTS", kWhat,
                   absl::StrCat(certificate->Describe(), ": ", status.message()));
      return;
    }
    checks_.Pass("SNP_CHAIN_CONSTRAINTS", kWhat);
  }

  void CheckTime() {
    constexpr std::string_view kWhat = "every certificate is within its validity";
    for (const Certificate* certificate : {&leaf_->certificate, &*intermediate_, &*root_}) {
      const absl::Status status = certificate->CheckValidity(now_);
      if (status.ok()) continue;
      checks_.Fail("SNP_CHAIN_VALIDITY", kWhat,
                   absl::StrCat(certificate->Describe(), ": ", status.message()));
      return;
    }
    checks_.Pass("SNP_CHAIN_VALIDITY", kWhat);
  }

  void CheckRevoked(const Endorsements& endorsements) {
    const bool waived =
        insecure_ ? !policy_.snp().require_insecure_crl() : policy_.snp().allow_missing_crl();
    const RevocationRule rule{.id = "SNP", .waived = waived, .hint = kCrlHint};
    CheckRevocation(rule, endorsements, *root_, {&*intermediate_, &leaf_->certificate}, now_,
                    &checks_);
  }

  bool insecure() const { return insecure_; }
  std::optional<Leaf> TakeLeaf() { return std::move(leaf_); }

 private:
  // How many of the report's statements about its key the leaf shares, the weightiest first.
  int Fit(const Leaf& leaf) const {
    const std::string_view chip(reinterpret_cast<const char*>(report_.chip_id.data()),
                                report_.chip_id.size());
    const bool kind = static_cast<uint8_t>(leaf.kind) == report_.signing_key;
    const bool hwid = leaf.kind == SigningKey::kVcek && chip.starts_with(leaf.hwid);
    const bool tcb = leaf.tcb == DecodeTcb(report_.reported_tcb, leaf.product);
    const bool valid = leaf.certificate.CheckValidity(now_).ok();
    return 8 * kind + 4 * hwid + 2 * tcb + valid;
  }

  // The certificate in `child`'s issuer's name whose key signed it; a check says why there is none.
  std::optional<Certificate> Issuer(const Certificate& child, const char* whose) {
    absl::Status failure;
    bool named = false;
    for (const Certificate& candidate : pool_.certificates()) {
      if (!child.IsIssuedInNameOf(candidate)) continue;
      named = true;
      failure = child.CheckSignedBy(candidate, SignatureSuite::kSha384, known_);
      if (failure.ok()) return candidate;
    }
    if (named) {
      checks_.Fail("SNP_CHAIN", kChainWhat,
                   absl::StrCat(child.Describe(), ": ", failure.message()));
    } else {
      checks_.Missing("SNP_CHAIN", kChainWhat,
                      absl::StrCat("the issuer of ", whose, ", ", child.Describe(),
                                   ", is not among the certificates"),
                      "bring AMD's cert_chain of the product");
    }
    return std::nullopt;
  }

  bool ChooseRoot() {
    const RootRule rule{
        .id = "SNP",
        .maker = "AMD",
        .chain_hint = "bring AMD's cert_chain of the product",
        .is_makers = [](const std::string& digest) { return FindAmdRoot(digest) != nullptr; },
        .known = known_};
    FoundRoot found = FindRoot(rule, *intermediate_, pool_.certificates(), policy_, &checks_);
    insecure_ = found.insecure;
    if (!found.certificate.has_value()) return false;
    root_ = std::move(found.certificate);
    amd_root_ = FindAmdRoot(base::ToHex(root_->SpkiSha256()));
    return true;
  }

  const Report& report_;
  const Policy& policy_;
  const absl::Time now_;
  CheckList& checks_;
  CertificatePool pool_;
  KnownSignatures* known_ = nullptr;
  std::optional<Leaf> leaf_;
  std::optional<Certificate> intermediate_;
  std::optional<Certificate> root_;
  const AmdRoot* amd_root_ = nullptr;
  bool insecure_ = false;
};

}  // namespace

Chain CheckChain(const Report& report, const Evidence& evidence, const Endorsements& endorsements,
                 const Policy& policy, absl::Time now, CheckList* checks) {
  ChainBuilder builder(report, policy, now, checks);
  builder.Collect(evidence, endorsements);
  Chain chain;
  if (!builder.ChooseLeaf()) return chain;
  if (builder.Climb()) {
    chain.verified = true;
    chain.insecure = builder.insecure();
    builder.CheckNames();
    builder.CheckProduct();
    builder.CheckConstraints();
    builder.CheckTime();
    builder.CheckRevoked(endorsements);
  }
  chain.leaf = builder.TakeLeaf();
  return chain;
}

std::string VcekPath(const Report& report, Product product) {
  const Tcb tcb = DecodeTcb(report.reported_tcb, product);
  const size_t hwid_size = product == v1::TURIN ? 8 : report.chip_id.size();
  std::string path =
      absl::StrFormat("%s?blSPL=%02d&teeSPL=%02d&snpSPL=%02d&ucodeSPL=%02d",
                      base::ToHex(absl::MakeConstSpan(report.chip_id).first(hwid_size)),
                      tcb.boot_loader, tcb.tee, tcb.snp, tcb.microcode);
  if (product == v1::TURIN) absl::StrAppendFormat(&path, "&fmcSPL=%02d", tcb.fmc);
  return path;
}

std::string KdsUrl(const Report& report) {
  const Product product = ProductOfCpuid(report.cpuid_family, report.cpuid_model);
  const bool known = product != v1::SNP_PRODUCT_UNSPECIFIED;
  return absl::StrCat("https://kdsintf.amd.com/vcek/v1/",
                      known ? std::string(AmdName(product)) : "{Milan|Genoa}", "/",
                      VcekPath(report, product));
}

}  // namespace caravan::attestation::sev_snp
