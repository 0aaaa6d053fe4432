// SPDX-License-Identifier: Apache-2.0
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <string>

#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/insecure_software/insecure_devices.h"
#include "attestation/insecure_software/insecure_root.h"
#include "attestation/insecure_software/insecure_td_attester.h"
#include "attestation/verifier.h"
#include "base/hex.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'780'000'000);

InsecureAttesterOptions Options() {
  InsecureAttesterOptions options;
  options.measurement.fill(0x11);
  options.chip_id = DeriveInsecureChipId("node-0");
  return options;
}

Policy PolicyFor(const InsecureRoot& root, const InsecureAttesterOptions& options) {
  const size_t chip_size = root.product() == v1::TURIN ? 8 : 64;
  const auto policy = ParsePolicy(
      "name: \"trial\" allow_insecure: true insecure_root_spki_sha256: \"" +
          base::ToHex(root.SpkiSha256()) + "\" snp { require_insecure_crl: true any_tcb: true " +
          "measurements { name: \"daemon\" sha384: \"" + base::ToHex(options.measurement) +
          "\" } " + "chip_ids: \"" +
          base::ToHex(absl::MakeConstSpan(options.chip_id).first(chip_size)) + "\" }",
      "trial.textproto");
  EXPECT_TRUE(policy.ok()) << policy.status();
  return *policy;
}

TEST(InsecureAttester, PassesTheRealVerifierOnEveryProductAndVersion) {
  for (v1::SnpProduct product : {v1::MILAN, v1::GENOA, v1::TURIN}) {
    for (uint32_t version : {3, 5}) {
      const auto root = InsecureRoot::Create(kNow, product);
      ASSERT_TRUE(root.ok());
      InsecureAttesterOptions options = Options();
      options.report_version = version;
      const auto attester = MakeInsecureAttester(*root, options, kNow);
      ASSERT_TRUE(attester.ok()) << attester.status();
      ReportData data;
      data.bytes.fill(9);
      const auto evidence = (*attester)->Collect(data);
      ASSERT_TRUE(evidence.ok());
      const Appraisal appraisal =
          Verify(*evidence, {{}, {root->CrlDer()}}, PolicyFor(*root, options), data, kNow);
      EXPECT_EQ(appraisal.verdict, Verdict::kWarning) << appraisal.ToStatus();
      EXPECT_TRUE(appraisal.insecure);
      EXPECT_EQ(appraisal.platform.find("insecure-software"), 0u);
    }
  }
}

// A copy of the daemon with one more byte has another measurement.
TEST(InsecureAttester, WithAnotherMeasurementIsRefused) {
  const auto root = InsecureRoot::Create(kNow);
  InsecureAttesterOptions changed = Options();
  changed.measurement[0] ^= 1;
  const auto evidence = (*MakeInsecureAttester(*root, changed, kNow))->Collect(ReportData());
  const Appraisal appraisal =
      Verify(*evidence, {{}, {root->CrlDer()}}, PolicyFor(*root, Options()), {}, kNow);
  EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
  EXPECT_EQ(appraisal.Decisive()->id, "SNP_MEASUREMENT");
}

TEST(InsecureAttester, OfAnotherClusterIsRefused) {
  const auto ours = InsecureRoot::Create(kNow);
  const auto theirs = InsecureRoot::Create(kNow);
  const auto evidence = (*MakeInsecureAttester(*theirs, Options(), kNow))->Collect(ReportData());
  const Appraisal appraisal = Verify(*evidence, {ours->ChainDer(), {ours->CrlDer()}},
                                     PolicyFor(*ours, Options()), {}, kNow);
  EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
  EXPECT_EQ(appraisal.Decisive()->id, "SNP_ROOT_INSECURE");
}

TEST(InsecureAttester, RefusesOptionsThatMakeNoReport) {
  const auto root = InsecureRoot::Create(kNow);
  InsecureAttesterOptions masked = Options();
  masked.chip_id = {};
  EXPECT_FALSE(MakeInsecureAttester(*root, masked, kNow).ok());
  InsecureAttesterOptions old = Options();
  old.report_version = 2;
  EXPECT_FALSE(MakeInsecureAttester(*root, old, kNow).ok());
}

InsecureTdOptions TdOptions() {
  InsecureTdOptions options;
  options.measurement.fill(0x11);
  options.ppid = DeriveInsecurePpid("node-0");
  return options;
}

Policy TdPolicyFor(const InsecureRoot& root, const InsecureTdOptions& options) {
  const auto policy =
      ParsePolicy("name: \"trial\" allow_insecure: true insecure_root_spki_sha256: \"" +
                      base::ToHex(root.intel()->SpkiSha256()) +
                      "\" tdx { platform { min_tcb_evaluation_number: 1 ppids: \"" +
                      base::ToHex(options.ppid) + "\" } measurements { name: \"daemon\" mrtd: \"" +
                      base::ToHex(options.measurement) + "\" } }",
                  "trial.textproto");
  EXPECT_TRUE(policy.ok()) << policy.status();
  return *policy;
}

TEST(InsecureTdAttester, PassesTheRealVerifierInEitherVersion) {
  const auto root = InsecureRoot::Create(kNow);
  for (bool td15 : {false, true}) {
    InsecureTdOptions options = TdOptions();
    options.td15 = td15;
    const auto attester = MakeInsecureTdAttester(*root, options, kNow);
    ASSERT_TRUE(attester.ok()) << attester.status();
    ReportData data;
    data.bytes.fill(9);
    const auto evidence = (*attester)->Collect(data);
    ASSERT_TRUE(evidence.ok()) << evidence.status();
    const Appraisal appraisal =
        Verify(*evidence, *root->MakeEndorsements(kNow), TdPolicyFor(*root, options), data, kNow);
    EXPECT_EQ(appraisal.verdict, Verdict::kWarning) << appraisal.ToStatus();
    EXPECT_TRUE(appraisal.insecure);
    EXPECT_EQ(appraisal.platform, td15 ? "insecure tdx 1.5" : "insecure tdx 1.0");
    EXPECT_EQ(appraisal.claims.at("tcb_status"), "UpToDate");
  }
}

TEST(InsecureTdAttester, WithAnotherMeasurementOrMachineIsRefused) {
  const auto root = InsecureRoot::Create(kNow);
  InsecureTdOptions changed = TdOptions();
  changed.measurement[0] ^= 1;
  InsecureTdOptions elsewhere = TdOptions();
  elsewhere.ppid = DeriveInsecurePpid("node-1");
  for (const auto& [options, check] :
       {std::pair(changed, "TDX_MEASUREMENT"), std::pair(elsewhere, "TDX_PLATFORM")}) {
    const auto evidence = (*MakeInsecureTdAttester(*root, options, kNow))->Collect(ReportData());
    const Appraisal appraisal = Verify(*evidence, *root->MakeEndorsements(kNow),
                                       TdPolicyFor(*root, TdOptions()), ReportData(), kNow);
    EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
    EXPECT_EQ(appraisal.Decisive()->id, check);
  }
}

TEST(InsecureTdAttester, OfAnotherClusterIsRefused) {
  const auto ours = InsecureRoot::Create(kNow);
  const auto theirs = InsecureRoot::Create(kNow);
  const auto evidence =
      (*MakeInsecureTdAttester(*theirs, TdOptions(), kNow))->Collect(ReportData());
  const Appraisal appraisal = Verify(*evidence, *ours->MakeEndorsements(kNow),
                                     TdPolicyFor(*ours, TdOptions()), ReportData(), kNow);
  EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
}

TEST(InsecureTdAttester, NeedsAPlatformAndARootWithAPartForIt) {
  const auto root = InsecureRoot::Create(kNow);
  EXPECT_EQ(MakeInsecureTdAttester(*root, {}, kNow).status().code(),
            absl::StatusCode::kInvalidArgument);
  // Files of a root that was made before there was such a part: two keys, two certificates, a list.
  const auto pem = root->ToPem();
  const auto first = [](std::string_view text, int blocks) {
    size_t end = 0;
    for (int i = 0; i < blocks; ++i) end = text.find('\n', text.find("-----END", end)) + 1;
    return text.substr(0, end);
  };
  const absl::Span<const uint8_t> key = pem->key.Expose();
  const std::string_view keys(reinterpret_cast<const char*>(key.data()), key.size());
  const auto older = InsecureRoot::FromPem(crypto::AsBytes(first(keys, 2)), first(pem->chain, 2),
                                           first(pem->crl, 1));
  ASSERT_TRUE(older.ok()) << older.status();
  EXPECT_EQ(older->intel(), nullptr);
  EXPECT_EQ(MakeInsecureTdAttester(*older, TdOptions(), kNow).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(MakeInsecureAttester(*older, Options(), kNow).ok());
  // A part of such a part is none.
  EXPECT_FALSE(InsecureRoot::FromPem(key, first(pem->chain, 4), pem->crl).ok());
  EXPECT_FALSE(InsecureRoot::FromPem(key, pem->chain, first(pem->crl, 1)).ok());
}

TEST(InsecureDevices, AreAsManyAsAskedForWithinLimits) {
  const auto root = InsecureRoot::Create(kNow);
  const auto devices =
      MakeInsecureDevices(*root, {.node_name = "n", .gpus = 2, .switches = 1}, kNow);
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ((*devices)->DeviceCount(), 3u);
  EXPECT_FALSE((*devices)->Collect(3, {}).ok());
  EXPECT_FALSE(MakeInsecureDevices(*root, {.node_name = "n", .gpus = 0, .switches = 1}, kNow).ok());
  EXPECT_FALSE(MakeInsecureDevices(*root, {.node_name = "n", .gpus = 17}, kNow).ok());
  EXPECT_FALSE(
      MakeInsecureDevices(*root, {.node_name = "n", .gpus = 1, .switches = 17}, kNow).ok());
}

TEST(InsecureChipId, DiffersByNode) {
  EXPECT_NE(DeriveInsecureChipId("a"), DeriveInsecureChipId("b"));
  EXPECT_EQ(DeriveInsecureChipId("a"), DeriveInsecureChipId("a"));
}

TEST(InsecureRoot, SurvivesItsFiles) {
  const auto root = InsecureRoot::Create(kNow, v1::GENOA);
  const auto pem = root->ToPem();
  ASSERT_TRUE(pem.ok()) << pem.status();
  const auto again = InsecureRoot::FromPem(pem->key.Expose(), pem->chain, pem->crl);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->SpkiSha256(), root->SpkiSha256());
  EXPECT_EQ(again->ChainDer(), root->ChainDer());
  EXPECT_EQ(again->CrlDer(), root->CrlDer());
  EXPECT_EQ(again->product(), v1::GENOA);
  ASSERT_NE(again->intel(), nullptr);
  EXPECT_EQ(again->intel()->SpkiSha256(), root->intel()->SpkiSha256());
  EXPECT_EQ(again->intel()->CertificatesDer(), root->intel()->CertificatesDer());
  EXPECT_EQ(again->intel()->CrlsDer(), root->intel()->CrlsDer());
}

TEST(InsecureRoot, RefusesFilesThatDoNotBelongTogether) {
  const auto pem = InsecureRoot::Create(kNow)->ToPem();
  const auto other = InsecureRoot::Create(kNow)->ToPem();
  EXPECT_FALSE(InsecureRoot::FromPem(other->key.Expose(), pem->chain, pem->crl).ok());
  EXPECT_FALSE(InsecureRoot::FromPem(pem->key.Expose(), "", pem->crl).ok());
  EXPECT_FALSE(InsecureRoot::FromPem(pem->key.Expose(), pem->chain, "").ok());
  EXPECT_FALSE(InsecureRoot::FromPem({}, pem->chain, pem->crl).ok());
}

// Nobody is asked for a passphrase: the file is refused.
TEST(InsecureRoot, RefusesAnEncryptedKey) {
  const auto pem = InsecureRoot::Create(kNow)->ToPem();
  const auto plain = pem->key.Expose();
  BIO* in = BIO_new_mem_buf(plain.data(), static_cast<int>(plain.size()));
  EVP_PKEY* private_key = PEM_read_bio_PrivateKey(in, nullptr, nullptr, nullptr);
  ASSERT_NE(private_key, nullptr);
  BIO* out = BIO_new(BIO_s_mem());
  char passphrase[] = "passphrase";
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(out, private_key, EVP_aes_256_cbc(), passphrase,
                                          sizeof(passphrase) - 1, nullptr, nullptr),
            1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out, &text);
  const std::string encrypted(text, static_cast<size_t>(size));
  EXPECT_FALSE(InsecureRoot::FromPem(crypto::AsBytes(encrypted), pem->chain, pem->crl).ok());
  BIO_free(in);
  BIO_free(out);
  EVP_PKEY_free(private_key);
}

}  // namespace
}  // namespace caravan::attestation
