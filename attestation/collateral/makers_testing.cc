// SPDX-License-Identifier: Apache-2.0
#include "attestation/collateral/makers_testing.h"

#include <utility>

#include "attestation/collateral/needs.h"
#include "attestation/insecure_software/forge.h"
#include "attestation/insecure_software/forge_intel.h"
#include "attestation/pem.h"
#include "attestation/x509.h"
#include "base/hex.h"

namespace caravan::attestation {
namespace {

using insecure_software::MakeCertificate;
using insecure_software::MakeCrl;

// Takes "insecure " off a name: the namesakes' certificates are named like the makers' own.
void BareName(std::string* name) {
  if (name->starts_with(kInsecureNamePrefix)) name->erase(0, kInsecureNamePrefix.size());
}

std::string DigestOf(const std::string& der) {
  auto certificate = Certificate::Parse(der);
  EXPECT_TRUE(certificate.ok()) << certificate.status();
  return certificate.ok() ? base::ToHex(certificate->SpkiSha256()) : "";
}

std::vector<CollateralRequest> RequestsOf(const EvidenceSet& evidence) {
  auto needs = RequiredCollateral(evidence, {});
  EXPECT_TRUE(needs.ok()) << needs.status();
  return needs.ok() ? std::move(needs->requests) : std::vector<CollateralRequest>();
}

}  // namespace

AmdForTest::AmdForTest(v1::SnpProduct which) : product(which), world(which) {
  for (auto* spec : {&world.ark, &world.ask, &world.leaf}) {
    BareName(&spec->common_name);
    BareName(&spec->issuer_name);
    spec->not_after = now + absl::Hours(24 * 3650);
  }
  world.crl.issuer_name = world.ark.common_name;
}

std::vector<std::string> AmdForTest::Certificates() {
  world.leaf.extensions = insecure_software::LeafExtensions(world.leaf_spec);
  std::vector<std::string> certificates;
  for (const auto* spec : {&world.leaf, &world.ask, &world.ark}) {
    certificates.push_back(*MakeCertificate(*spec));
  }
  return certificates;
}

EvidenceSet AmdForTest::Evidence(bool with_chain) {
  attestation::Evidence item{
      EvidenceKind::kSevSnp, insecure_software::SerializeReport(world.report), {}};
  EXPECT_TRUE(sev_snp::SignReport(world.report_key, &item.report).ok());
  if (with_chain) item.certificates = Certificates();
  return {{std::move(item)}};
}

std::vector<CollateralRequest> AmdForTest::Requests() { return RequestsOf(Evidence()); }

CollateralItem AmdForTest::Vcek() { return {.body = Certificates()[0]}; }

CollateralItem AmdForTest::Chain() {
  const std::vector<std::string> all = Certificates();
  return {.body = CertificatesToPem({all[1], all[2]})};
}

CollateralItem AmdForTest::CrlOf(absl::Time this_update, absl::Time next_update) {
  world.crl.this_update = this_update;
  world.crl.next_update = next_update;
  return {.body = *MakeCrl(world.crl)};
}

std::string AmdForTest::RootDigest() { return DigestOf(Certificates()[2]); }

IntelForTest::IntelForTest(intel::WorldKind kind) : world(kind) {
  for (auto* spec : {&world.root, &world.ca, &world.pck, &world.signer}) {
    BareName(&spec->common_name);
    BareName(&spec->issuer_name);
    spec->not_after = now + absl::Hours(24 * 3650);
  }
  for (auto* crl : {&world.root_crl, &world.pck_crl}) {
    BareName(&crl->issuer_name);
    crl->next_update = now + absl::Hours(30 * 24);
  }
}

IntelForTest::Made IntelForTest::Make() {
  Made made;
  world.edit_quote = [&](std::string* quote) { made.quote = *quote; };
  world.edit_chain = [&](std::vector<std::string>* chain) { made.chain = *chain; };
  world.edit_endorsements = [&](Endorsements* all) { made.endorsements = *all; };
  (void)world.Appraise();  // its verdict is not asked for, only what it was made of
  return made;
}

EvidenceSet IntelForTest::Evidence() {
  const EvidenceKind kind = world.tdx() ? EvidenceKind::kTdx : EvidenceKind::kSgx;
  return {{{kind, Make().quote, {}}}};
}

std::vector<CollateralRequest> IntelForTest::Requests() { return RequestsOf(Evidence()); }

CollateralItem IntelForTest::TcbInfo(IntelDates dates) {
  world.issue_date = dates.issue;
  world.next_update = dates.next_update;
  world.evaluation_number = dates.evaluation_number;
  const Made made = Make();
  return {.body = made.endorsements.documents[0],
          .issuer_chain = CertificatesToPem({made.endorsements.certificates[0], made.chain[2]})};
}

CollateralItem IntelForTest::QeIdentity(IntelDates dates) {
  world.issue_date = dates.issue;
  world.next_update = dates.next_update;
  world.evaluation_number = dates.evaluation_number;
  const Made made = Make();
  return {.body = made.endorsements.documents[1],
          .issuer_chain = CertificatesToPem({made.endorsements.certificates[0], made.chain[2]})};
}

CollateralItem IntelForTest::PckCrl() {
  const Made made = Make();
  return {.body = made.endorsements.crls[1],
          .issuer_chain = CertificatesToPem({made.chain[1], made.chain[2]})};
}

CollateralItem IntelForTest::RootCrl() { return {.body = Make().endorsements.crls[0]}; }

std::string IntelForTest::RootDigest() { return DigestOf(Make().chain[2]); }

}  // namespace caravan::attestation
