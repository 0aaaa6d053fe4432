// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/chain.h"

#include <openssl/x509v3.h>

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attestation/certificate_pool.h"
#include "attestation/ecdsa.h"
#include "attestation/policy/nvidia_roots.h"
#include "attestation/root.h"

namespace caravan::attestation::nvidia {
namespace {

constexpr std::string_view kLeafWhat = "the key that signed the report has a certificate";
constexpr char kChainHint[] =
    "bring the chain that the driver gives beside the report, up to NVIDIA Device Identity CA";

// As many as a machine has devices: each costs a signature check.
constexpr size_t kMaxLeaves = 64;

class ChainBuilder {
 public:
  ChainBuilder(const Policy& policy, absl::Time now, CheckList* checks)
      : policy_(policy), now_(now), checks_(*checks), pool_("NVIDIA", checks) {}

  void Collect(const Evidence& evidence, const Endorsements& endorsements) {
    pool_.AddAll(evidence, endorsements);
    known_ = endorsements.known_signatures.get();
    has_own_ = !evidence.certificates.empty();
  }

  // False when there is none, which a check then says.
  bool ChooseLeaf(const Report& report) {
    const std::vector<Certificate>& all = pool_.certificates();
    size_t tried = 0;
    for (size_t i = 0; i < all.size() && tried < kMaxLeaves; ++i) {
      // The first that came with the evidence is said to be the leaf, whatever it looks like.
      const bool leaf = LooksLikeLeaf(all[i]);
      if (!leaf && !(i == 0 && has_own_)) continue;
      ++tried;
      const absl::Status signature = CheckReportSignature(report, all[i].public_key());
      if (!leaf && !signature.ok()) continue;
      if (!chain_.leaf.has_value() || signature.ok()) {
        chain_.leaf = all[i];
        chain_.signature = signature;
      }
      if (signature.ok()) break;
    }
    if (!chain_.leaf.has_value()) {
      checks_.Missing("NVIDIA_CERTIFICATE", kLeafWhat,
                      "no device certificate came with the evidence or the endorsements",
                      kChainHint);
      return false;
    }
    checks_.Pass("NVIDIA_CERTIFICATE", kLeafWhat, chain_.leaf->Describe());
    std::string_view name = name_ = chain_.leaf->SubjectCommonName();
    if (name.starts_with(kInsecureNamePrefix)) name.remove_prefix(kInsecureNamePrefix.size());
    chain_.chip = ChipOfName(name);
    if (chain_.chip.has_value()) {
      checks_.Pass("NVIDIA_CHIP", "the chip is known", chain_.chip->name);
    } else {
      checks_.Missing("NVIDIA_CHIP", "the chip is known",
                      absl::StrCat("the certificate is named \"", absl::CHexEscape(name_),
                                   "\", which begins with no chip that is known"));
    }
    return true;
  }

  bool Climb() {
    std::vector<Certificate> chain = {*chain_.leaf};
    // Device CA, provisioner, identity; the root is found by its key.
    while (chain.size() + 1 < kChainLength) {
      std::optional<Certificate> issuer = Issuer(chain.back());
      if (!issuer.has_value()) return false;
      chain.push_back(*std::move(issuer));
    }
    const RootRule rule{
        .id = "NVIDIA",
        .maker = "NVIDIA",
        .chain_hint = kChainHint,
        .is_makers =
            [](const std::string& digest) { return digest == kNvidiaDeviceRootSpkiSha256; },
        .known = known_};
    FoundRoot root = FindRoot(rule, chain.back(), pool_.certificates(), policy_, &checks_);
    chain_.insecure = root.insecure;
    if (!root.certificate.has_value()) return false;
    chain.push_back(*std::move(root.certificate));
    chain_.certificates = std::move(chain);
    chain_.verified = true;
    chain_.pdi = CertifiedPdi(chain_.certificates[1]);
    return true;
  }

  void CheckNames() {
    constexpr std::string_view kWhat = "each certificate stands in its role, for one chip";
    if (!chain_.chip.has_value()) return;
    const struct {
      bool (*is_named)(const Chip&, std::string_view);
      const char* role;
    } places[] = {{IsLeafName, "a device's leaf"},
                  {IsDeviceCaName, "a device's CA"},
                  {IsProvisionerName, "a provisioner"},
                  {IsIdentityName, "an identity CA"},
                  {IsRootName, "the root"}};
    const std::string_view prefix = chain_.insecure ? kInsecureNamePrefix : "";
    for (size_t i = 0; i < kChainLength; ++i) {
      const std::string have = chain_.certificates[i].SubjectCommonName();
      std::string_view name = have;
      const bool prefixed = name.starts_with(prefix);
      if (prefixed) name.remove_prefix(prefix.size());
      if (prefixed && places[i].is_named(*chain_.chip, name)) continue;
      checks_.Fail("NVIDIA_CHAIN_ROLE", kWhat,
                   absl::StrCat("certificate ", i, " is named \"", absl::CHexEscape(have),
                                "\", its place asks for ", places[i].role, " of ",
                                std::string(prefix), chain_.chip->name));
      return;
    }
    checks_.Pass("NVIDIA_CHAIN_ROLE", kWhat, chain_.chip->name);
  }

  void CheckConstraints() {
    constexpr std::string_view kWhat = "CAs are CAs, and the leaf is none";
    for (size_t i = 0; i < kChainLength; ++i) {
      const absl::Status status = Constraints(i);
      if (status.ok()) continue;
      checks_.Fail("NVIDIA_CHAIN_CONSTRAINTS", kWhat,
                   absl::StrCat(chain_.certificates[i].Describe(), ": ", status.message()));
      return;
    }
    checks_.Pass("NVIDIA_CHAIN_CONSTRAINTS", kWhat);
  }

  void CheckTime() {
    constexpr std::string_view kWhat = "every certificate is within its validity";
    for (const Certificate& certificate : chain_.certificates) {
      const absl::Status status = certificate.CheckValidity(now_);
      if (status.ok()) continue;
      checks_.Fail("NVIDIA_CHAIN_VALIDITY", kWhat,
                   absl::StrCat(certificate.Describe(), ": ", status.message()));
      return;
    }
    checks_.Pass("NVIDIA_CHAIN_VALIDITY", kWhat);
  }

  Chain Take() { return std::move(chain_); }

 private:
  static bool IsRootName(const Chip&, std::string_view name) {
    return name == "NVIDIA Device Identity CA";
  }

  absl::Status Constraints(size_t at) const {
    const Certificate& certificate = chain_.certificates[at];
    if (!IsOnCurve(certificate.public_key(), Curve::kP384)) {
      return absl::PermissionDeniedError("its key is not on P-384");
    }
    if (absl::Status status = certificate.CheckCriticalExtensions(); !status.ok()) return status;
    if (at > 0) return certificate.CheckIsCa(static_cast<int>(at) - 1);
    if ((X509_get_key_usage(certificate.get()) & KU_DIGITAL_SIGNATURE) == 0) {
      return absl::PermissionDeniedError("key usage does not allow signing reports");
    }
    return certificate.CheckIsEndEntity();
  }

  // The certificate in `child`'s issuer's name whose key signed it; a check says why there is none.
  std::optional<Certificate> Issuer(const Certificate& child) {
    absl::Status failure;
    bool named = false;
    for (const Certificate& candidate : pool_.certificates()) {
      if (!child.IsIssuedInNameOf(candidate)) continue;
      named = true;
      failure = child.CheckSignedBy(candidate, SignatureSuite::kSha384, known_);
      if (failure.ok()) return candidate;
    }
    if (named) {
      checks_.Fail("NVIDIA_CHAIN", kChainWhat,
                   absl::StrCat(child.Describe(), ": ", failure.message()));
    } else {
      checks_.Missing(
          "NVIDIA_CHAIN", kChainWhat,
          absl::StrCat("the issuer of ", child.Describe(), " is not among the certificates"),
          kChainHint);
    }
    return std::nullopt;
  }

  const Policy& policy_;
  const absl::Time now_;
  CheckList& checks_;
  CertificatePool pool_;
  KnownSignatures* known_ = nullptr;
  bool has_own_ = false;
  std::string name_;
  Chain chain_;
};

}  // namespace

Chain CheckChain(const Report& report, const Evidence& evidence, const Endorsements& endorsements,
                 const Policy& policy, absl::Time now, CheckList* checks) {
  ChainBuilder builder(policy, now, checks);
  builder.Collect(evidence, endorsements);
  if (builder.ChooseLeaf(report) && builder.Climb()) {
    builder.CheckNames();
    builder.CheckConstraints();
    builder.CheckTime();
  }
  return builder.Take();
}

}  // namespace caravan::attestation::nvidia
