// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/rim_check.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attestation/ecdsa.h"
#include "attestation/nvidia/rim_signature.h"
#include "attestation/policy/nvidia_roots.h"
#include "attestation/root.h"

namespace caravan::attestation::nvidia {
namespace {

constexpr char kChainHint[] = "fetch the manifest again from NVIDIA's RIM service";
constexpr char kRootName[] = "NVIDIA CoRIM signing Root CA";

// A document among the endorsements that says it is the one wanted.
struct Candidate {
  SignedDocument document;
  Rim rim;
};

class Signer {
 public:
  Signer(const RimRequest& request, const Policy& policy, absl::Time now, KnownSignatures* known,
         CheckList* checks)
      : request_(request), policy_(policy), now_(now), known_(known), checks_(*checks) {}

  // With the document's certificates, and with `more` beside them.
  bool Check(const SignedDocument& document, absl::Span<const std::string> more) {
    if (!ReadCertificates(document, more) || !Climb()) return false;
    CheckRoles();
    CheckConstraints();
    CheckTime();
    const absl::Status status = document.CheckSignedBy(chain_[0], known_);
    checks_.Require(status.ok(), Id("SIGNATURE"), "the manifest is its signer's",
                    std::string(status.message()));
    return true;
  }

  std::vector<Certificate> TakeChain() { return std::move(chain_); }
  bool insecure() const { return insecure_; }

 private:
  std::string Id(const char* id) const { return absl::StrCat(request_.id, "_", id); }

  bool ReadCertificates(const SignedDocument& document, absl::Span<const std::string> more) {
    for (size_t i = 0; i < document.certificates().size(); ++i) {
      absl::StatusOr<Certificate> certificate = Certificate::Parse(document.certificates()[i]);
      if (!certificate.ok()) {
        checks_.Fail(Id("CHAIN"), kChainWhat,
                     absl::StrCat("certificate ", i, ": ", certificate.status().message()));
        return false;
      }
      pool_.push_back(*std::move(certificate));
    }
    for (const std::string& der : more) {
      absl::StatusOr<Certificate> certificate = Certificate::Parse(der);
      if (certificate.ok()) pool_.push_back(*std::move(certificate));
    }
    return true;
  }

  // The leaf comes first; each of the two CAs above it is whoever signed, the root who is pinned.
  bool Climb() {
    chain_.push_back(pool_.front());
    for (size_t level = 0; level < 2; ++level) {
      const auto issuer = std::find_if(pool_.begin(), pool_.end(), [this](const auto& candidate) {
        return chain_.back().IsIssuedInNameOf(candidate) &&
               chain_.back().CheckSignedBy(candidate, SignatureSuite::kSha384, known_).ok();
      });
      if (issuer == pool_.end()) {
        const bool named = std::any_of(pool_.begin(), pool_.end(), [this](const auto& candidate) {
          return chain_.back().IsIssuedInNameOf(candidate);
        });
        if (named) {
          checks_.Fail(Id("CHAIN"), kChainWhat,
                       absl::StrCat("the key of the one in its issuer's name did not sign ",
                                    chain_.back().Describe()));
        } else {
          checks_.Missing(Id("CHAIN"), kChainWhat,
                          absl::StrCat("the issuer of ", chain_.back().Describe(),
                                       " is not among the certificates"),
                          kChainHint);
        }
        return false;
      }
      chain_.push_back(*issuer);
    }
    const RootRule rule{
        .id = request_.id,
        .maker = "NVIDIA",
        .chain_hint = kChainHint,
        .is_makers = [](const std::string& digest) { return digest == kNvidiaRimRootSpkiSha256; },
        .known = known_};
    FoundRoot found = FindRoot(rule, chain_.back(), pool_, policy_, &checks_);
    insecure_ = found.insecure;
    if (!found.certificate.has_value()) return false;
    chain_.push_back(*std::move(found.certificate));
    return true;
  }

  // A stand-in's names may say what they are.
  std::string BareName(const Certificate& certificate) const {
    std::string name = certificate.SubjectCommonName();
    if (insecure_ && name.starts_with(kInsecureNamePrefix)) {
      name.erase(0, kInsecureNamePrefix.size());
    }
    return name;
  }

  // "NVIDIA Reference Value L3 GH100 001": a number and nothing else ("Debug Only") behind it.
  bool IsSigningCa(const std::string& name) const {
    const std::string prefix = absl::StrCat("NVIDIA Reference Value L3 ", request_.product, " ");
    return name.size() > prefix.size() && name.starts_with(prefix) &&
           std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                       [](unsigned char c) { return absl::ascii_isdigit(c); });
  }

  // All products' signers share the root: only names tell them apart.
  void CheckRoles() {
    const std::string leaf = BareName(chain_[0]), product_ca = BareName(chain_[2]);
    const bool roles =
        (leaf == "HCC RIM L4 Signer" ||
         leaf == absl::StrCat("NVIDIA Reference Value L4 ", request_.product)) &&
        IsSigningCa(BareName(chain_[1])) &&
        product_ca == absl::StrCat("NVIDIA Reference Value ", request_.product, " CA") &&
        BareName(chain_[3]) == kRootName;
    checks_.Require(
        roles, Id("ROLE"), "the signer speaks for this product",
        absl::StrCat("signed by \"", absl::CHexEscape(leaf), "\" of \"",
                     absl::CHexEscape(BareName(chain_[1])), "\" of \"",
                     absl::CHexEscape(product_ca), "\", the device is a ", request_.product));
  }

  void CheckConstraints() {
    std::string problem;
    for (size_t i = 0; i < chain_.size() && problem.empty(); ++i) {
      absl::Status status =
          i == 0 ? chain_[i].CheckIsEndEntity() : chain_[i].CheckIsCa(static_cast<int>(i) - 1);
      if (status.ok()) status = chain_[i].CheckCriticalExtensions();
      if (status.ok() && !IsOnCurve(chain_[i].public_key(), Curve::kP384)) {
        status = absl::InvalidArgumentError("its key is not on P-384");
      }
      if (status.ok() && i == 0 &&
          (X509_get_key_usage(chain_[i].get()) & KU_DIGITAL_SIGNATURE) == 0) {
        status = absl::PermissionDeniedError("its key usage does not allow signing documents");
      }
      if (!status.ok()) problem = absl::StrCat(chain_[i].Describe(), ": ", status.message());
    }
    checks_.Require(problem.empty(), Id("CONSTRAINTS"), "CAs are CAs, and the signer is none",
                    problem);
  }

  void CheckTime() {
    std::string problem;
    for (const Certificate& certificate : chain_) {
      const absl::Status status = certificate.CheckValidity(now_);
      if (status.ok() || !problem.empty()) continue;
      problem = absl::StrCat(certificate.Describe(), ": ", status.message());
    }
    checks_.Require(problem.empty(), Id("VALIDITY"), "every certificate is within its validity",
                    problem, "fetch the manifest again: NVIDIA signs it anew before it expires");
  }

  const RimRequest& request_;
  const Policy& policy_;
  const absl::Time now_;
  KnownSignatures* const known_;
  CheckList& checks_;
  std::vector<Certificate> pool_;   // the document's, then the endorsements'
  std::vector<Certificate> chain_;  // leaf, two CAs, root
  bool insecure_ = false;
};

// What came of a candidate.
struct Attempt {
  Appraisal appraisal;
  std::optional<VerifiedRim> rim;  // nothing unless every check passed
};

std::string Describe(const RimRequest& request) {
  return absl::StrCat(std::string(Name(request.kind)), " manifest of ", request.product, " ",
                      request.version);
}

std::vector<Candidate> FindCandidates(const RimRequest& request, const Endorsements& endorsements,
                                      std::string* malformed) {
  const std::string upper = absl::AsciiStrToUpper(request.version);
  const std::string lower = absl::AsciiStrToLower(request.version);
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < endorsements.rims.size(); ++i) {
    // Spares the reading of all others: a folder may hold manifests of every board and driver.
    const std::string& text = endorsements.rims[i];
    if (text.find(upper) == std::string::npos && text.find(lower) == std::string::npos) continue;
    absl::StatusOr<SignedDocument> document = SignedDocument::Parse(text);
    absl::StatusOr<Rim> rim =
        document.ok() ? ParseRim(document->content()) : absl::StatusOr<Rim>(document.status());
    if (!rim.ok()) {
      *malformed = absl::StrCat("; endorsement manifest ", i, ": ", rim.status().message());
      continue;
    }
    if (rim->kind != request.kind || rim->product != request.product ||
        !absl::EqualsIgnoreCase(rim->version, request.version)) {
      continue;
    }
    candidates.push_back({*std::move(document), *std::move(rim)});
  }
  return candidates;
}

}  // namespace

std::optional<VerifiedRim> FindRim(const RimRequest& request, const Endorsements& endorsements,
                                   const Policy& policy, absl::Time now, CheckList* checks) {
  std::string malformed;
  std::vector<Candidate> candidates = FindCandidates(request, endorsements, &malformed);
  const std::string what = "the firmware's manifest is at hand";
  if (candidates.empty()) {
    checks->Missing(request.id, what,
                    absl::StrCat("no ", Describe(request), " among ", endorsements.rims.size(),
                                 " manifests", malformed),
                    request.rim_id.empty()
                        ? ""
                        : absl::StrCat("bring ", request.rim_id, " from NVIDIA's RIM service"));
    return std::nullopt;
  }
  const auto attempt = [&](const Candidate& candidate, absl::Span<const std::string> more) {
    Attempt made;
    CheckList list(&made.appraisal);
    list.Pass(request.id, what, absl::StrCat(Describe(request), ", tag ", candidate.rim.tag_id));
    Signer signer(request, policy, now, endorsements.known_signatures.get(), &list);
    const bool climbed = signer.Check(candidate.document, more);
    list.Conclude();
    if (climbed && made.appraisal.accepted()) {
      made.rim = VerifiedRim{candidate.rim, signer.TakeChain(), signer.insecure()};
    }
    return made;
  };
  // What is found about one that does not pass is told only when none passes.
  std::optional<Appraisal> first;
  for (const Candidate& candidate : candidates) {
    // Most documents hold their chain whole, and reading certificates takes longer than the rest.
    Attempt made = attempt(candidate, {});
    if (!made.rim.has_value() && !endorsements.certificates.empty()) {
      made = attempt(candidate, endorsements.certificates);
    }
    if (made.rim.has_value()) {
      for (Check& check : made.appraisal.checks) {
        checks->appraisal().checks.push_back(std::move(check));
      }
      return std::move(made.rim);
    }
    if (!first.has_value()) first = std::move(made.appraisal);
  }
  for (Check& check : first->checks) checks->appraisal().checks.push_back(std::move(check));
  return std::nullopt;
}

}  // namespace caravan::attestation::nvidia
