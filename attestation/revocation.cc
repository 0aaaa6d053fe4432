// SPDX-License-Identifier: Apache-2.0
#include "attestation/revocation.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace caravan::attestation {
namespace {

constexpr std::string_view kFreshWhat = "a fresh revocation list of the issuer is at hand";
constexpr std::string_view kRevokedWhat = "no certificate that it issued is revoked";

}  // namespace

void CheckRevocation(const RevocationRule& rule, const Endorsements& endorsements,
                     const Certificate& issuer, absl::Span<const Certificate* const> certificates,
                     absl::Time now, CheckList* checks) {
  const std::string crl_id = absl::StrCat(rule.id, "_CRL");
  const std::string revoked_id = absl::StrCat(rule.id, "_REVOKED");
  bool fresh = false;
  std::string shortfall = absl::StrCat("no revocation list of ", issuer.Describe(), " is at hand");
  for (size_t i = 0; i < endorsements.crls.size(); ++i) {
    absl::StatusOr<Crl> crl = Crl::Parse(endorsements.crls[i]);
    if (!crl.ok()) {
      checks->Warn(absl::StrCat(crl_id, "_FORM"), "revocation lists are well formed",
                   absl::StrCat("endorsement list ", i, ": ", crl.status().message()),
                   "remove or replace it");
      continue;
    }
    if (!crl->IsIssuedInNameOf(issuer)) continue;
    if (absl::Status status = crl->CheckSignedBy(issuer, rule.suite); !status.ok()) {
      checks->Fail(absl::StrCat(crl_id, "_SIGNATURE"), "the revocation list is the issuer's",
                   absl::StrCat("list of ", issuer.Describe(), ": ", status.message()));
      return;
    }
    for (const Certificate* certificate : certificates) {
      if (!crl->Revokes(*certificate)) continue;
      checks->Fail(revoked_id, kRevokedWhat,
                   absl::StrCat(certificate->Describe(), " is on the revocation list of ",
                                issuer.Describe()));
      return;
    }
    const absl::Status status = crl->CheckFreshness(now);
    fresh |= status.ok();
    if (!status.ok()) {
      shortfall = absl::StrCat("the revocation list of ", issuer.Describe(),
                               " does not help: ", status.message());
    }
  }
  if (fresh) {
    checks->Pass(crl_id, kFreshWhat);
    checks->Pass(revoked_id, kRevokedWhat);
  } else if (rule.waived) {
    checks->Skip(crl_id, kFreshWhat, absl::StrCat(shortfall, "; the policy does without"));
  } else {
    checks->Missing(crl_id, kFreshWhat, shortfall, rule.hint);
  }
}

}  // namespace caravan::attestation
