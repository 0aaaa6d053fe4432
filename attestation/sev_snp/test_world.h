// SPDX-License-Identifier: Apache-2.0
//
// A chain, a policy and a report that pass, each part of which a test may spoil before Appraise().
#ifndef CARAVAN_ATTESTATION_SEV_SNP_TEST_WORLD_H_
#define CARAVAN_ATTESTATION_SEV_SNP_TEST_WORLD_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/insecure_software/forge.h"
#include "attestation/known_signatures.h"
#include "attestation/sev_snp/signature.h"
#include "attestation/verifier.h"
#include "base/hex.h"
#include "gtest/gtest.h"

namespace caravan::attestation {

class TestWorld {
 public:
  using CertificateSpec = insecure_software::CertificateSpec;

  explicit TestWorld(v1::SnpProduct product = v1::MILAN) : product_(product) {
    const bool turin = product == v1::TURIN;
    const std::string line(sev_snp::AmdName(product));
    leaf_spec.product_name = product == v1::MILAN ? "Milan-B0" : line;
    leaf_spec.product = product;
    leaf_spec.tcb = {
        .fmc = uint8_t(turin ? 1 : 0), .boot_loader = 4, .tee = 1, .snp = 24, .microcode = 0xD1};
    leaf_spec.hwid = std::string(turin ? 8 : 64, '\x5A');
    ark = {.common_name = "insecure ARK-" + line,
           .issuer_name = "insecure ARK-" + line,
           .subject_key = ark_key.get(),
           .issuer_key = ark_key.get(),
           .serial = 1,
           .not_before = now - absl::Hours(24),
           .not_after = now + absl::Hours(24),
           .is_ca = true};
    ask = ark;
    ask.common_name = "insecure SEV-" + line;
    ask.subject_key = ask_key.get();
    ask.serial = 2;
    ask.path_length = 0;
    leaf = ark;
    leaf.is_ca = false;
    leaf.common_name = "insecure SEV-VCEK";
    leaf.issuer_name = ask.common_name;
    leaf.subject_key = leaf_key.get();
    leaf.issuer_key = ask_key.get();
    leaf.serial = 3;
    crl = {.issuer_name = ark.common_name,
           .issuer_key = ark_key.get(),
           .this_update = now - absl::Hours(1),
           .next_update = now + absl::Hours(1)};
    MakeReport();
    MakePolicy();
  }

  // Signs and assembles everything as it stands now, and verifies it.
  Appraisal Appraise() {
    auto [item, endorsements] = Make();
    endorsements.known_signatures = known_;
    return Verify(EvidenceSet{{item}}, endorsements, policy, expected, now);
  }

  // The first half of that.
  std::pair<Evidence, Endorsements> Make() {
    Evidence item{EvidenceKind::kSevSnp, insecure_software::SerializeReport(report), {}};
    edit_unsigned_report(&item.report);
    EXPECT_TRUE(sev_snp::SignReport(report_key, &item.report).ok());
    edit_signed_report(&item.report);
    insecure_software::ExtensionList extensions = insecure_software::LeafExtensions(leaf_spec);
    edit_extensions(&extensions);
    leaf.extensions = extensions;
    for (const CertificateSpec* spec : {&leaf, &ask, &ark}) {
      auto der = insecure_software::MakeCertificate(*spec);
      EXPECT_TRUE(der.ok()) << der.status();
      if (spec == &ark && pin_root) Pin(*der);
      item.certificates.push_back(*std::move(der));
    }
    edit_certificates(&item.certificates);
    Endorsements endorsements;
    if (with_crl) {
      auto der = insecure_software::MakeCrl(crl);
      EXPECT_TRUE(der.ok()) << der.status();
      edit_crl(&*der);
      endorsements.crls.push_back(*std::move(der));
    }
    return {std::move(item), std::move(endorsements)};
  }

  // The name of the outcome of the check `id`, the worst where it stands twice, or "absent".
  static std::string OutcomeOf(const Appraisal& appraisal, std::string_view id) {
    for (const Check& check : appraisal.checks) {
      if (check.id == id && check.outcome != Outcome::kPassed) {
        return std::string(Name(check.outcome));
      }
    }
    for (const Check& check : appraisal.checks) {
      if (check.id == id) return "passed";
    }
    return "absent";
  }

  static std::string Explain(const Appraisal& appraisal) {
    std::string text(Name(appraisal.verdict));
    for (const Check& check : appraisal.checks) {
      if (check.outcome == Outcome::kPassed) continue;
      absl::StrAppend(&text, "\n  ", check.id, " ", std::string(Name(check.outcome)), ": ",
                      check.detail);
    }
    return text;
  }

  // Expects that the world is refused, and by the check `id` before any other.
  void ExpectRefusedBy(std::string_view id, Verdict verdict = Verdict::kContraindicated) {
    const Appraisal appraisal = Appraise();
    EXPECT_EQ(appraisal.verdict, verdict) << Explain(appraisal);
    ASSERT_NE(appraisal.Decisive(), nullptr) << Explain(appraisal);
    EXPECT_EQ(appraisal.Decisive()->id, id) << Explain(appraisal);
    EXPECT_FALSE(appraisal.Decisive()->detail.empty());
  }
  void ExpectAccepted() {
    const Appraisal appraisal = Appraise();
    EXPECT_EQ(appraisal.verdict, Verdict::kWarning) << Explain(appraisal);
    EXPECT_TRUE(appraisal.insecure);
  }

  void SetTcb(const sev_snp::Tcb& tcb) {
    const sev_snp::RawTcb raw = sev_snp::EncodeTcb(tcb, product_);
    report.reported_tcb = report.committed_tcb = report.current_tcb = report.launch_tcb = raw;
  }
  sev_snp::RawTcb Raw(const sev_snp::Tcb& tcb) const { return sev_snp::EncodeTcb(tcb, product_); }

  // Turns the world into one whose reports a VLEK signs.
  void UseVlek() {
    leaf_spec.hwid.clear();
    leaf_spec.csp_id = "CN=cloud.example";
    leaf_spec.product_name = std::string(sev_snp::AmdName(product_));
    leaf.common_name = "insecure SEV-VLEK";
    ask.common_name = absl::StrCat("insecure SEV-VLEK-", leaf_spec.product_name);
    leaf.issuer_name = ask.common_name;
    report.signing_key = 1;
    report.chip_id = {};
    snp().set_allow_vlek(true);
    snp().clear_chip_ids();
    snp().set_any_platform(true);
  }

  v1::SnpPolicy& snp() { return *policy.mutable_snp(); }

  const absl::Time now = absl::FromUnixSeconds(1'780'000'000);
  EvpPkeyPtr ark_key = *insecure_software::MakeP384Key();
  EvpPkeyPtr ask_key = *insecure_software::MakeP384Key();
  EvpPkeyPtr leaf_key = *insecure_software::MakeP384Key();
  EVP_PKEY* report_key = leaf_key.get();
  CertificateSpec ark, ask, leaf;
  insecure_software::LeafSpec leaf_spec;
  insecure_software::CrlSpec crl;
  bool with_crl = true;
  bool pin_root = true;
  sev_snp::Report report;
  ReportData expected;
  Policy policy;
  std::function<void(std::string*)> edit_unsigned_report = [](std::string*) {};
  std::function<void(std::string*)> edit_signed_report = [](std::string*) {};
  std::function<void(insecure_software::ExtensionList*)> edit_extensions = [](auto*) {};
  std::function<void(std::vector<std::string>*)> edit_certificates = [](auto*) {};
  std::function<void(std::string*)> edit_crl = [](std::string*) {};

 private:
  void MakeReport() {
    const bool turin = product_ == v1::TURIN;
    report.version = turin ? 5 : 3;
    report.policy = 1u << sev_snp::kMustBeOne | 0x1F;
    report.signature_algorithm = sev_snp::kEcdsaP384Sha384;
    report.platform_info = 1u << 5;
    for (size_t i = 0; i < expected.bytes.size(); ++i) expected.bytes[i] = uint8_t(i + 1);
    report.report_data = expected.bytes;
    report.measurement.fill(0xAB);
    report.report_id_ma.fill(0xFF);
    report.cpuid_family = turin ? 0x1A : 0x19;
    report.cpuid_model = product_ == v1::GENOA ? 0x11 : 0x01;
    std::copy(leaf_spec.hwid.begin(), leaf_spec.hwid.end(), report.chip_id.begin());
    report.current = report.committed = {.major = 1, .minor = 55, .build = 29};
    SetTcb(leaf_spec.tcb);
  }

  void MakePolicy() {
    policy.set_name("world");
    policy.set_allow_insecure(true);
    v1::SnpMeasurement* measurement = snp().add_measurements();
    measurement->set_name("the daemon");
    measurement->set_sha384(base::ToHex(report.measurement));
    std::string chip = leaf_spec.hwid;
    snp().add_chip_ids(base::ToHex({reinterpret_cast<const uint8_t*>(chip.data()), chip.size()}));
    v1::SnpTcbFloor* floor = snp().add_tcb_floors();
    floor->set_product(product_);
    floor->set_boot_loader(4);
    floor->set_tee(1);
    floor->set_snp(24);
    floor->set_microcode(0xD1);
    if (product_ == v1::TURIN) floor->set_fmc(1);
    snp().set_require_insecure_crl(true);
    snp().set_min_abi_minor(0x1F);
  }

  void Pin(const std::string& der) {
    auto certificate = Certificate::Parse(der);
    ASSERT_TRUE(certificate.ok());
    policy.clear_insecure_root_spki_sha256();
    policy.add_insecure_root_spki_sha256(base::ToHex(certificate->SpkiSha256()));
  }

  const v1::SnpProduct product_;
  // What held before must not help what differs.
  const std::shared_ptr<KnownSignatures> known_ = std::make_shared<KnownSignatures>();
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_SEV_SNP_TEST_WORLD_H_
