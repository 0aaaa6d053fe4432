// SPDX-License-Identifier: Apache-2.0
#include "attestation/root.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hex.h"

namespace caravan::attestation {
namespace {

constexpr std::string_view kRootWhat = "the root key is pinned";

class Search {
 public:
  Search(const RootRule& rule, const Policy& policy, CheckList* checks)
      : rule_(rule), policy_(policy), checks_(*checks) {}

  FoundRoot Run(const Certificate& intermediate, const std::vector<Certificate>& pool) {
    FoundRoot found;
    std::optional<Certificate> unpinned;
    bool named = false;
    for (const Certificate& candidate : pool) {
      if (!intermediate.IsIssuedInNameOf(candidate)) continue;
      named = true;
      if (!intermediate.CheckSignedBy(candidate, rule_.suite, rule_.known).ok()) continue;
      const std::string digest = base::ToHex(candidate.SpkiSha256());
      const bool makers = rule_.is_makers(digest);
      found.insecure = !makers && IsPinnedStandIn(digest);
      if (!makers && !found.insecure) {
        unpinned = candidate;
        continue;
      }
      if (absl::Status self = candidate.CheckSignedBy(candidate, rule_.suite, rule_.known);
          !self.ok()) {
        checks_.Fail(Id("ROOT"), kRootWhat,
                     absl::StrCat(candidate.Describe(), ": ", self.message()));
        return found;
      }
      found.certificate = candidate;
      Accept(candidate, digest, found.insecure);
      return found;
    }
    if (unpinned.has_value()) {
      Refuse(*unpinned);
    } else if (named) {
      checks_.Fail(Id("CHAIN"), kChainWhat,
                   absl::StrCat(intermediate.Describe(),
                                ": not signed by the key of the root in its issuer's name"));
    } else {
      checks_.Missing(Id("CHAIN"), kChainWhat,
                      absl::StrCat("the root above ", intermediate.Describe(),
                                   " is not among the certificates"),
                      rule_.chain_hint);
    }
    return found;
  }

 private:
  std::string Id(std::string_view id) const { return absl::StrCat(rule_.id, "_", std::string(id)); }

  bool IsPinnedStandIn(const std::string& digest) const {
    const auto& pins = policy_.insecure_root_spki_sha256();
    return policy_.allow_insecure() && std::find(pins.begin(), pins.end(), digest) != pins.end();
  }

  void Accept(const Certificate& root, const std::string& digest, bool insecure) {
    checks_.Pass(Id("CHAIN"), kChainWhat);
    checks_.appraisal().claims["root_spki_sha256"] = digest;
    checks_.Pass(Id("ROOT"), kRootWhat, absl::StrCat(root.Describe(), ", key sha256:", digest));
    if (!insecure) return;
    checks_.Warn(Id("INSECURE"), "the evidence comes from hardware",
                 absl::StrCat("the root is not ", std::string(rule_.maker),
                              "'s: a software stand-in's, which the policy pins"),
                 "never set allow_insecure where data matters");
  }

  void Refuse(const Certificate& root) {
    const std::string digest = base::ToHex(root.SpkiSha256());
    if (root.SubjectCommonName().starts_with(kInsecureNamePrefix)) {
      const bool allowed = policy_.allow_insecure();
      checks_.Fail(Id("ROOT_INSECURE"), kRootWhat,
                   allowed
                       ? absl::StrCat("the insecure root's key sha256:", digest,
                                      " is not pinned in the policy")
                       : "the evidence is a software stand-in's, which the policy does not allow",
                   allowed ? "for a trial, add it to insecure_root_spki_sha256" : "");
      return;
    }
    checks_.Fail(Id("ROOT"), kRootWhat,
                 absl::StrCat(root.Describe(), " has the key sha256:", digest,
                              ", which is no root of ", std::string(rule_.maker), "'s"));
  }

  const RootRule& rule_;
  const Policy& policy_;
  CheckList& checks_;
};

}  // namespace

FoundRoot FindRoot(const RootRule& rule, const Certificate& intermediate,
                   const std::vector<Certificate>& pool, const Policy& policy, CheckList* checks) {
  return Search(rule, policy, checks).Run(intermediate, pool);
}

}  // namespace caravan::attestation
