// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/chain.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "attestation/certificate_pool.h"
#include "attestation/ecdsa.h"
#include "attestation/intel/certification_chain.h"
#include "attestation/policy/intel_roots.h"
#include "attestation/revocation.h"
#include "attestation/root.h"
#include "base/hex.h"

namespace caravan::attestation::intel {
namespace {

constexpr SignatureSuite kSuite = SignatureSuite::kEcdsaP256Sha256;
constexpr std::string_view kPckWhat = "the platform's key has a certificate";
constexpr char kChainHint[] = "bring the PCK certificate's issuer chain from Intel's PCS or a PCCS";
constexpr char kPckName[] = "Intel SGX PCK Certificate";
constexpr char kPlatformCaName[] = "Intel SGX PCK Platform CA";
constexpr char kProcessorCaName[] = "Intel SGX PCK Processor CA";
constexpr char kRootName[] = "Intel SGX Root CA";
constexpr char kSignerName[] = "Intel SGX TCB Signing";

class ChainFinder {
 public:
  ChainFinder(const Policy& policy, absl::Time now, std::vector<Certificate> pool,
              KnownSignatures* known, Findings* findings)
      : policy_(policy), now_(now), pool_(std::move(pool)), known_(known), findings_(*findings) {}

  // False when there is none, which a check then says.
  bool ChoosePck(const Quote& quote) {
    absl::Status malformed;
    for (const Certificate& certificate : pool_) {
      if (!LooksLikePck(certificate)) continue;
      absl::StatusOr<Pck> pck = ParsePck(certificate);
      if (!pck.ok()) {
        malformed = pck.status();
        continue;
      }
      const bool signs = CheckEcdsa(Curve::kP256, certificate.public_key(),
                                    quote.qe_report_signature, quote.qe_report)
                             .ok();
      if (!chain_.pck.has_value() || signs) chain_.pck = *std::move(pck);
      if (signs) break;
    }
    if (chain_.pck.has_value()) {
      findings_.Pass("CERTIFICATE", kPckWhat, chain_.pck->certificate.Describe());
      return true;
    }
    if (!malformed.ok()) {
      findings_.Fail("CERTIFICATE", kPckWhat, std::string(malformed.message()));
    } else {
      findings_.Missing(
          "CERTIFICATE", kPckWhat,
          absl::StrCat("neither the quote (certification data of type ", quote.certification_type,
                       ") nor the endorsements hold a PCK certificate"),
          "bring the platform's PCK certificate from Intel's PCS or a PCCS");
    }
    return false;
  }

  bool Climb() {
    const Certificate& leaf = chain_.pck->certificate;
    std::optional<Certificate> intermediate;
    absl::Status failure;
    for (const Certificate& candidate : pool_) {
      if (!leaf.IsIssuedInNameOf(candidate)) continue;
      failure = leaf.CheckSignedBy(candidate, kSuite, known_);
      if (!failure.ok()) continue;
      intermediate = candidate;
      break;
    }
    if (!intermediate.has_value()) {
      if (failure.ok()) {
        findings_.Missing(
            "CHAIN", kChainWhat,
            absl::StrCat("the issuer of ", leaf.Describe(), " is not among the certificates"),
            kChainHint);
      } else {
        findings_.Fail("CHAIN", kChainWhat, absl::StrCat(leaf.Describe(), ": ", failure.message()));
      }
      return false;
    }
    return ChooseRoot(*intermediate);
  }

  void CheckNames() {
    constexpr std::string_view kWhat = "each certificate stands in its role";
    const std::string ca = BareName(*chain_.intermediate);
    const bool platform = ca == kPlatformCaName;
    std::string problem;
    if (BareName(chain_.pck->certificate) != kPckName) {
      problem = Misnamed(chain_.pck->certificate, kPckName);
    } else if (!platform && ca != kProcessorCaName) {
      problem = Misnamed(*chain_.intermediate, kPlatformCaName);
    } else if (BareName(*chain_.root) != kRootName) {
      problem = Misnamed(*chain_.root, kRootName);
    } else if (platform != chain_.pck->platform_instance_id.has_value()) {
      problem = platform ? "the platform CA issued a PCK certificate without platform instance id"
                         : "the processor CA issued a PCK certificate with platform instance id";
    }
    findings_.Require(problem.empty(), "CHAIN_ROLE", kWhat, problem);
  }

  void CheckConstraints() {
    constexpr std::string_view kWhat = "CAs are CAs, and the PCK's is none";
    const Certificate& leaf = chain_.pck->certificate;
    const std::pair<const Certificate*, absl::Status> findings[] = {
        {&leaf, leaf.CheckIsEndEntity()},
        {&leaf, leaf.CheckCriticalExtensions()},
        {&*chain_.intermediate, chain_.intermediate->CheckIsCa(0)},
        {&*chain_.intermediate, chain_.intermediate->CheckCriticalExtensions()},
        {&*chain_.root, chain_.root->CheckIsCa(1)},
        {&*chain_.root, chain_.root->CheckCriticalExtensions()},
    };
    std::string problem;
    for (const auto& [certificate, status] : findings) {
      if (status.ok() || !problem.empty()) continue;
      problem = absl::StrCat(certificate->Describe(), ": ", status.message());
    }
    findings_.Require(problem.empty(), "CHAIN_CONSTRAINTS", kWhat, problem);
  }

  void CheckTime() {
    constexpr std::string_view kWhat = "every certificate is within its validity";
    std::string problem;
    for (const Certificate* certificate :
         {&chain_.pck->certificate, &*chain_.intermediate, &*chain_.root}) {
      const absl::Status status = certificate->CheckValidity(now_);
      if (status.ok() || !problem.empty()) continue;
      problem = absl::StrCat(certificate->Describe(), ": ", status.message());
    }
    findings_.Require(problem.empty(), "CHAIN_VALIDITY", kWhat, problem);
  }

  // Any other certificate, a PCK's above all, may sign none of Intel's statements.
  void FindSigners() {
    for (const Certificate& candidate : pool_) {
      if (BareName(candidate) != kSignerName || !candidate.IsIssuedInNameOf(*chain_.root)) continue;
      const bool good = candidate.CheckSignedBy(*chain_.root, kSuite, known_).ok() &&
                        candidate.CheckIsEndEntity().ok() &&
                        candidate.CheckCriticalExtensions().ok() &&
                        candidate.CheckValidity(now_).ok();
      const auto same = [&](const Certificate& other) { return other.der() == candidate.der(); };
      if (good && std::none_of(chain_.signers.begin(), chain_.signers.end(), same)) {
        chain_.signers.push_back(candidate);
      }
    }
  }

  Chain Take() { return std::move(chain_); }

 private:
  // A stand-in's names may say what they are.
  std::string BareName(const Certificate& certificate) const {
    std::string name = certificate.SubjectCommonName();
    if (chain_.insecure && name.starts_with(kInsecureNamePrefix)) {
      name.erase(0, kInsecureNamePrefix.size());
    }
    return name;
  }

  static std::string Misnamed(const Certificate& certificate, const char* wanted) {
    return absl::StrCat("certificate is named \"",
                        absl::CHexEscape(certificate.SubjectCommonName()),
                        "\", its place in the chain asks for \"", wanted, "\"");
  }

  bool ChooseRoot(const Certificate& intermediate) {
    const RootRule rule{
        .id = findings_.prefix(),
        .suite = kSuite,
        .maker = "Intel",
        .chain_hint = kChainHint,
        .is_makers = [](const std::string& digest) { return digest == kIntelRootSpkiSha256; },
        .known = known_};
    FoundRoot found = FindRoot(rule, intermediate, pool_, policy_, findings_.checks());
    chain_.insecure = found.insecure;
    if (!found.certificate.has_value()) return false;
    chain_.intermediate = intermediate;
    chain_.root = std::move(found.certificate);
    return true;
  }

  const Policy& policy_;
  const absl::Time now_;
  const std::vector<Certificate> pool_;
  KnownSignatures* const known_;
  Findings& findings_;
  Chain chain_;
};

// The quote's certificates come first.
std::vector<Certificate> CollectCertificates(const Quote& quote, const Evidence& evidence,
                                             const Endorsements& endorsements, Findings* findings) {
  CertificatePool pool(findings->prefix(), findings->checks());
  if (quote.certification_type == kPckCertChain) {
    absl::StatusOr<std::vector<std::string>> chain =
        ReadCertificationChain(quote.certification_data);
    if (!chain.ok()) pool.Refuse(std::string(chain.status().message()));
    for (size_t i = 0; chain.ok() && i < chain->size(); ++i) {
      pool.Add((*chain)[i], absl::StrCat("certificate ", i, " of the quote"), true);
    }
  }
  pool.AddAll(evidence, endorsements);
  return pool.certificates();
}

}  // namespace

Chain CheckChain(const Quote& quote, const Evidence& evidence, const Endorsements& endorsements,
                 const Policy& policy, absl::Time now, Findings* findings) {
  ChainFinder finder(policy, now, CollectCertificates(quote, evidence, endorsements, findings),
                     endorsements.known_signatures.get(), findings);
  if (finder.ChoosePck(quote) && finder.Climb()) {
    finder.CheckNames();
    finder.CheckConstraints();
    finder.CheckTime();
    finder.FindSigners();
  }
  return finder.Take();
}

void CheckChainRevocation(const Chain& chain, const std::vector<Certificate>& signers,
                          const Endorsements& endorsements, bool waived, absl::Time now,
                          Findings* findings) {
  std::vector<const Certificate*> issued = {&*chain.intermediate};
  for (const Certificate& signer : signers) issued.push_back(&signer);
  const RevocationRule root{
      .id = findings->Id("ROOT"),
      .suite = kSuite,
      .waived = waived,
      .hint = "bring https://certificates.trustedservices.intel.com/IntelSGXRootCA.der"};
  CheckRevocation(root, endorsements, *chain.root, issued, now, findings->checks());
  const bool platform = chain.pck->platform_instance_id.has_value();
  const RevocationRule pck{
      .id = findings->Id("PCK"),
      .suite = kSuite,
      .waived = waived,
      .hint = absl::StrCat(
          "bring https://api.trustedservices.intel.com/sgx/certification/v4/pckcrl?ca=",
          platform ? "platform" : "processor", "&encoding=der")};
  CheckRevocation(pck, endorsements, *chain.intermediate, {&chain.pck->certificate}, now,
                  findings->checks());
}

}  // namespace caravan::attestation::intel
