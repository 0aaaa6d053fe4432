// SPDX-License-Identifier: Apache-2.0
#include "attestation/sev_snp/revocation.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace caravan::attestation::sev_snp {
namespace {

constexpr std::string_view kFreshWhat = "a fresh revocation list of the root is at hand";
constexpr std::string_view kRevokedWhat = "no certificate of the chain is revoked";
constexpr char kHint[] = "bring the list from https://kdsintf.amd.com/vcek/v1/{product}/crl";

}  // namespace

void CheckRevocation(const Endorsements& endorsements, const Certificate& root,
                     std::initializer_list<const Certificate*> certificates, absl::Time now,
                     bool waived, CheckList* checks) {
  bool fresh = false;
  std::string shortfall = absl::StrCat("no revocation list of ", root.Describe(), " is at hand");
  for (size_t i = 0; i < endorsements.crls.size(); ++i) {
    absl::StatusOr<Crl> crl = Crl::Parse(endorsements.crls[i]);
    if (!crl.ok()) {
      checks->Warn("SNP_CRL_FORM", "revocation lists are well formed",
                   absl::StrCat("endorsement list ", i, ": ", crl.status().message()),
                   "remove or replace it");
      continue;
    }
    if (!crl->IsIssuedInNameOf(root)) continue;
    if (absl::Status status = crl->CheckSignedBy(root); !status.ok()) {
      checks->Fail("SNP_CRL_SIGNATURE", "the revocation list is the root's",
                   absl::StrCat("list of ", root.Describe(), ": ", status.message()));
      return;
    }
    for (const Certificate* certificate : certificates) {
      if (!crl->Revokes(*certificate)) continue;
      checks->Fail("SNP_REVOKED", kRevokedWhat,
                   absl::StrCat(certificate->Describe(), " is on the root's revocation list"));
      return;
    }
    const absl::Status status = crl->CheckFreshness(now);
    fresh |= status.ok();
    if (!status.ok()) {
      shortfall = absl::StrCat("the revocation list of ", root.Describe(),
                               " does not help: ", status.message());
    }
  }
  if (fresh) {
    checks->Pass("SNP_CRL", kFreshWhat);
    checks->Pass("SNP_REVOKED", kRevokedWhat);
  } else if (waived) {
    checks->Skip("SNP_CRL", kFreshWhat, absl::StrCat(shortfall, "; the policy does without"));
  } else {
    checks->Missing("SNP_CRL", kFreshWhat, shortfall, kHint);
  }
}

}  // namespace caravan::attestation::sev_snp
