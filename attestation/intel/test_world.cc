// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/test_world.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "attestation/pem.h"
#include "base/hex.h"

namespace caravan::attestation::intel {
namespace {

using insecure_software::MakeCertificate;
using insecure_software::MakeCrl;

constexpr int kSgxSvn = 8, kPceSvn = 11, kTdxSvn = 5, kModuleSvn = 3, kQeSvn = 4;

void Fill(std::string* bytes, size_t at, size_t size, char value) {
  std::fill_n(bytes->begin() + static_cast<std::ptrdiff_t>(at), size, value);
}

}  // namespace

TestWorld::TestWorld(WorldKind kind) : kind_(kind) {
  const auto spec = [this](std::string name, std::string issuer, EVP_PKEY* subject_key,
                           EVP_PKEY* issuer_key, uint64_t serial, bool is_ca) {
    return CertificateSpec{.common_name = "insecure Intel SGX " + std::move(name),
                           .issuer_name = "insecure Intel SGX " + std::move(issuer),
                           .subject_key = subject_key,
                           .issuer_key = issuer_key,
                           .serial = serial,
                           .not_before = now - absl::Hours(48),
                           .not_after = now + absl::Hours(48),
                           .is_ca = is_ca,
                           .digest = EVP_sha256()};
  };
  root = spec("Root CA", "Root CA", root_key.get(), root_key.get(), 1, true);
  ca = spec("PCK Platform CA", "Root CA", ca_key.get(), root_key.get(), 2, true);
  ca.path_length = 0;
  pck = spec("PCK Certificate", "PCK Platform CA", pck_key.get(), ca_key.get(), 3, false);
  signer = spec("TCB Signing", "Root CA", signer_key.get(), root_key.get(), 4, false);
  root_crl = {.issuer_name = root.common_name,
              .issuer_key = root_key.get(),
              .this_update = now - absl::Hours(1),
              .next_update = now + absl::Hours(1),
              .digest = EVP_sha256()};
  pck_crl = root_crl;
  pck_crl.issuer_name = ca.common_name;
  pck_crl.issuer_key = ca_key.get();

  pck_spec.sgx_svns[0] = kSgxSvn;
  pck_spec.pce_svn = kPceSvn;
  info_id = tdx() ? "TDX" : "SGX";
  identity_id = tdx() ? "TD_QE" : "QE";
  fmspc = base::ToHex(crypto::AsBytes(pck_spec.fmspc));
  levels = {{8, 11, 5, "2024-11-13", "UpToDate"},
            {6, 11, 4, "2024-03-13", "OutOfDate", {"INTEL-SA-01010"}},
            {5, 5, 3, "2018-01-04", "OutOfDate", {"INTEL-SA-00106", "INTEL-SA-01010"}}};
  module_levels = {{3, "2024-11-13", "UpToDate"},
                   {2, "2023-08-09", "OutOfDate", {"INTEL-SA-01036"}}};
  qe_levels = {{4, "2024-11-13", "UpToDate"}, {2, "2021-11-10", "OutOfDate", {"INTEL-SA-00615"}}};
  for (size_t i = 0; i < expected.bytes.size(); ++i) {
    expected.bytes[i] = static_cast<uint8_t>(i + 1);
  }
  MakeBodies();
  MakePolicy();
}

void TestWorld::MakeBodies() {
  const struct {
    WorldKind kind;
    uint16_t version;
    BodyType body;
    size_t size;
  } kinds[] = {{WorldKind::kTd10, 4, BodyType::kTd10, 584},
               {WorldKind::kTd10InV5, 5, BodyType::kTd10, 584},
               {WorldKind::kTd15, 5, BodyType::kTd15, 648},
               {WorldKind::kTd15Extended, 5, BodyType::kTd15Extended, 885},
               {WorldKind::kSgx3, 3, BodyType::kSgx, 384},
               {WorldKind::kSgx4, 4, BodyType::kSgx, 384},
               {WorldKind::kSgx5, 5, BodyType::kSgx, 384}};
  for (const auto& known : kinds) {
    if (known.kind != kind_) continue;
    quote.version = known.version;
    quote.body_type = known.body;
    body.assign(known.size, '\0');
  }
  quote.tee_type = tdx() ? kTeeTdx : kTeeSgx;
  const size_t report_data = tdx() ? 520 : 320;
  std::copy(expected.bytes.begin(), expected.bytes.end(),
            body.begin() + static_cast<std::ptrdiff_t>(report_data));
  if (tdx()) {
    body[0] = kModuleSvn;
    body[1] = 1;
    body[2] = kTdxSvn;
    body[123] = 0x10;  // SEPT_VE_DISABLE
    body[128] = '\xE7';
    Fill(&body, 136, 48, '\xAA');
    for (size_t i = 0; i < 4; ++i) Fill(&body, 328 + 48 * i, 48, static_cast<char>(0xB0 + i));
    if (body.size() > 584) std::copy_n(body.begin(), 16, body.begin() + 584);
  } else {
    body[48] = 0x05;  // INIT, MODE64BIT
    Fill(&body, 64, 32, '\xEE');
    Fill(&body, 128, 32, '\x55');
    body[256] = 7;
    body[258] = 3;
  }
  qe_report = insecure_software::QeReport(kQeSvn);
}

void TestWorld::MakePolicy() {
  policy.set_name("world");
  policy.set_allow_insecure(true);
  platform().set_min_tcb_evaluation_number(18);
  platform().add_ppids(base::ToHex(crypto::AsBytes(pck_spec.ppid)));
  if (tdx()) {
    v1::TdxMeasurement* measurement = tdx_policy().add_measurements();
    measurement->set_name("the image");
    measurement->set_mrtd(base::ToHex(std::vector<uint8_t>(48, 0xAA)));
    measurement->set_rtmr0(base::ToHex(std::vector<uint8_t>(48, 0xB0)));
    measurement->set_rtmr1(base::ToHex(std::vector<uint8_t>(48, 0xB1)));
    measurement->set_rtmr2(base::ToHex(std::vector<uint8_t>(48, 0xB2)));
    measurement->set_rtmr3(base::ToHex(std::vector<uint8_t>(48, 0xB3)));
  } else {
    v1::SgxEnclave* enclave = sgx_policy().add_enclaves();
    enclave->set_name("the enclave");
    enclave->set_mr_signer(base::ToHex(std::vector<uint8_t>(32, 0x55)));
    enclave->set_isv_prod_id(7);
    enclave->set_min_isv_svn(3);
  }
}

std::string TestWorld::TcbInfoBody() const {
  return insecure_software::TcbInfoBody({.id = info_id,
                                         .fmspc = fmspc,
                                         .pce_id = pce_id,
                                         .evaluation_number = evaluation_number,
                                         .issue_date = issue_date,
                                         .next_update = next_update,
                                         .levels = levels,
                                         .module_id = module_id,
                                         .module_levels = module_levels});
}

std::string TestWorld::IdentityBody() const {
  return insecure_software::QeIdentityBody(
      {.id = identity_id,
       .evaluation_number = qe_evaluation_number.value_or(evaluation_number),
       .issue_date = qe_issue_date.value_or(issue_date),
       .next_update = qe_next_update.value_or(next_update),
       .levels = qe_levels});
}

Endorsements TestWorld::MakeEndorsements(const std::string& signer_der) {
  Endorsements endorsements;
  endorsements.certificates.push_back(signer_der);
  if (with_root_crl) endorsements.crls.push_back(*MakeCrl(root_crl));
  if (with_pck_crl) endorsements.crls.push_back(*MakeCrl(pck_crl));
  std::string info = TcbInfoBody(), identity = IdentityBody();
  edit_tcb_info(&info);
  edit_identity(&identity);
  std::string signed_info = *insecure_software::SignDocument("tcbInfo", info, document_key);
  std::string signed_identity = *insecure_software::SignDocument(
      "enclaveIdentity", identity, identity_key != nullptr ? identity_key : document_key);
  edit_signed_tcb_info(&signed_info);
  edit_signed_identity(&signed_identity);
  endorsements.documents = {std::move(signed_info), std::move(signed_identity)};
  edit_endorsements(&endorsements);
  return endorsements;
}

void TestWorld::Pin(const std::string& der) {
  auto certificate = Certificate::Parse(der);
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  policy.clear_insecure_root_spki_sha256();
  policy.add_insecure_root_spki_sha256(base::ToHex(certificate->SpkiSha256()));
}

std::pair<EvidenceSet, Endorsements> TestWorld::Assemble() {
  if (pck.extensions.empty()) {
    pck.extensions = {{kOidSgxExtensions, insecure_software::PckExtension(pck_spec)}};
  } else {
    pck.extensions[0].second = insecure_software::PckExtension(pck_spec);
  }
  std::vector<std::string> chain;
  for (const CertificateSpec* member : {&pck, &ca, &root}) {
    auto der = MakeCertificate(*member);
    EXPECT_TRUE(der.ok()) << der.status();
    if (member == &root && pin_root) Pin(*der);
    chain.push_back(*std::move(der));
  }
  edit_chain(&chain);
  quote.body = body;
  quote.qe_report = qe_report;
  quote.certification_data = CertificatesToPem(chain);
  if (quote.attestation_key == nullptr) quote.attestation_key = attestation_key.get();
  if (quote.pck_key == nullptr) quote.pck_key = pck_key.get();
  auto bytes = insecure_software::MakeQuote(quote);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  edit_quote(&*bytes);
  const EvidenceKind kind = tdx() ? EvidenceKind::kTdx : EvidenceKind::kSgx;
  return {EvidenceSet{{{kind, *bytes, {}}}}, MakeEndorsements(*MakeCertificate(signer))};
}

Appraisal TestWorld::Appraise() {
  auto [evidence, endorsements] = Assemble();
  endorsements.known_signatures = known_;
  return Verify(evidence, endorsements, policy, expected, now);
}

std::string TestWorld::OutcomeOf(const Appraisal& appraisal, std::string_view id) const {
  const std::string name = absl::StrCat(tdx() ? "TDX_" : "SGX_", std::string(id));
  std::string found = "absent";
  for (const Check& check : appraisal.checks) {
    if (check.id != name) continue;
    found = std::string(Name(check.outcome));
    if (check.outcome != Outcome::kPassed) return found;
  }
  return found;
}

std::string TestWorld::Explain(const Appraisal& appraisal) {
  std::string text(Name(appraisal.verdict));
  for (const Check& check : appraisal.checks) {
    if (check.outcome == Outcome::kPassed) continue;
    absl::StrAppend(&text, "\n  ", check.id, " ", std::string(Name(check.outcome)), ": ",
                    check.detail);
  }
  return text;
}

void TestWorld::ExpectRefusedBy(std::string_view id, Verdict verdict) {
  const Appraisal appraisal = Appraise();
  EXPECT_EQ(appraisal.verdict, verdict) << Explain(appraisal);
  ASSERT_NE(appraisal.Decisive(), nullptr) << Explain(appraisal);
  const std::string prefix = tdx() ? "TDX_" : "SGX_";
  EXPECT_EQ(appraisal.Decisive()->id, prefix + std::string(id)) << Explain(appraisal);
  EXPECT_FALSE(appraisal.Decisive()->detail.empty());
}

void TestWorld::ExpectAccepted() {
  const Appraisal appraisal = Appraise();
  EXPECT_EQ(appraisal.verdict, Verdict::kWarning) << Explain(appraisal);
  EXPECT_TRUE(appraisal.insecure);
}

void TestWorld::Accept(std::initializer_list<v1::IntelTcbStatus> statuses) {
  platform().clear_accepted_tcb();
  for (v1::IntelTcbStatus status : statuses) platform().add_accepted_tcb()->set_status(status);
}

}  // namespace caravan::attestation::intel
