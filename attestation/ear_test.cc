// SPDX-License-Identifier: Apache-2.0
#include "attestation/ear.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <simdjson.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "attestation/check_list.h"
#include "attestation/jws.h"
#include "crypto/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

using ::testing::HasSubstr;

std::string PemOf(EVP_PKEY* key, const EVP_CIPHER* cipher = nullptr) {
  BIO* bio = BIO_new(BIO_s_mem());
  char password[] = "password";
  EXPECT_EQ(PEM_write_bio_PKCS8PrivateKey(bio, key, cipher, cipher ? password : nullptr,
                                          cipher ? 8 : 0, nullptr, nullptr),
            1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string pem(data, static_cast<size_t>(size));
  BIO_free(bio);
  return pem;
}

EvpPkeyPtr KeyOf(const std::string& algorithm) {
  if (algorithm == "EdDSA") return EvpPkeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  return EvpPkeyPtr(EVP_EC_gen(algorithm == "ES384" ? "P-384" : "P-256"));
}

std::string Decode(absl::string_view text) {
  std::string bytes;
  EXPECT_TRUE(absl::WebSafeBase64Unescape(text, &bytes)) << text;
  return bytes;
}

// By OpenSSL alone: r and s back into DER, the hash of RFC 7518.
bool Verifies(EVP_PKEY* key, const std::string& algorithm, const std::string& input,
              const std::string& raw) {
  std::string signature = raw;
  const EVP_MD* digest = nullptr;
  if (algorithm != "EdDSA") {
    digest = algorithm == "ES384" ? EVP_sha384() : EVP_sha256();
    const auto* bytes = reinterpret_cast<const unsigned char*>(raw.data());
    const int half = static_cast<int>(raw.size() / 2);
    ECDSA_SIG* parts = ECDSA_SIG_new();
    ECDSA_SIG_set0(parts, BN_bin2bn(bytes, half, nullptr), BN_bin2bn(bytes + half, half, nullptr));
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(parts, &der);
    signature.assign(reinterpret_cast<char*>(der), static_cast<size_t>(size));
    OPENSSL_free(der);
    ECDSA_SIG_free(parts);
  }
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  const bool good =
      EVP_DigestVerifyInit(context, nullptr, digest, nullptr, key) == 1 &&
      EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()),
                       signature.size(), reinterpret_cast<const unsigned char*>(input.data()),
                       input.size()) == 1;
  EVP_MD_CTX_free(context);
  return good;
}

absl::StatusOr<JwsKey> KeyFrom(const std::string& pem) {
  return JwsKey::FromPem(crypto::AsBytes(pem));
}

class JwsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(JwsTest, IsVerifiedByOpenSslAlone) {
  const EvpPkeyPtr key = KeyOf(GetParam());
  const auto signer = KeyFrom(PemOf(key.get()));
  ASSERT_TRUE(signer.ok()) << signer.status();
  const auto token = signer->Sign("{\"a\":1}");
  ASSERT_TRUE(token.ok()) << token.status();
  const std::vector<std::string> parts = absl::StrSplit(*token, '.');
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(*token, ::testing::Not(HasSubstr("=")));
  EXPECT_EQ(Decode(parts[1]), "{\"a\":1}");
  simdjson::dom::parser parser;
  simdjson::dom::element header;
  const std::string text = Decode(parts[0]);
  ASSERT_FALSE(parser.parse(text).get(header)) << text;
  EXPECT_EQ(std::string_view(header["alg"]), GetParam());
  EXPECT_EQ(std::string_view(header["typ"]), "JWT");
  const std::string signature = Decode(parts[2]);
  EXPECT_EQ(signature.size(), std::string(GetParam()) == "ES384" ? 96u : 64u);
  EXPECT_TRUE(Verifies(key.get(), GetParam(), absl::StrCat(parts[0], ".", parts[1]), signature));
  EXPECT_FALSE(
      Verifies(key.get(), GetParam(), absl::StrCat(parts[0], ".", parts[1], "A"), signature));
  // RFC 7638: the hash of the public key's members, in alphabetical order, without spaces.
  const std::string kid = Decode(std::string(std::string_view(header["kid"])));
  unsigned char digest[32];
  EVP_Digest(signer->public_jwk().data(), signer->public_jwk().size(), digest, nullptr,
             EVP_sha256(), nullptr);
  EXPECT_EQ(kid, std::string(reinterpret_cast<char*>(digest), sizeof(digest)));
}

INSTANTIATE_TEST_SUITE_P(Each, JwsTest, ::testing::Values("ES384", "ES256", "EdDSA"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Jws, HasTheThumbprintOfRfc8037) {
  // RFC 8037, appendices A.1 and A.3.
  const std::string d = Decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A");
  const EvpPkeyPtr key(EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(d.data()), d.size()));
  const auto signer = KeyFrom(PemOf(key.get()));
  ASSERT_TRUE(signer.ok()) << signer.status();
  EXPECT_EQ(signer->Thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}

TEST(Jws, RefusesWhatIsNoSigningKey) {
  const EvpPkeyPtr good = KeyOf("ES384");
  const EvpPkeyPtr rsa(EVP_RSA_gen(2048));
  const EvpPkeyPtr curve(EVP_EC_gen("secp256k1"));
  for (const std::string& pem :
       {std::string(), std::string("garbage"), PemOf(good.get(), EVP_aes_256_cbc()),
        PemOf(rsa.get()), PemOf(curve.get())}) {
    const auto key = KeyFrom(pem);
    EXPECT_TRUE(absl::IsInvalidArgument(key.status())) << pem.substr(0, 40);
  }
}

// Checks with these outcomes, concluded.
struct Given {
  const char* id;
  Outcome outcome;
};

Appraisal AppraisalOf(const std::vector<Given>& given) {
  Appraisal appraisal;
  for (const Given& check : given) {
    appraisal.checks.push_back({check.id, "what", check.outcome, "detail", ""});
  }
  CheckList(&appraisal).Conclude();
  return appraisal;
}

std::vector<Given> Good() {
  return {{"SNP_SIGNATURE", Outcome::kPassed},   {"SNP_CHAIN", Outcome::kPassed},
          {"SNP_CRL", Outcome::kPassed},         {"SNP_CHIP_ID", Outcome::kPassed},
          {"SNP_MEASUREMENT", Outcome::kPassed}, {"SNP_TCB_FLOOR", Outcome::kPassed},
          {"SNP_DEBUG", Outcome::kPassed},       {"SNP_REPORT_DATA", Outcome::kPassed}};
}

Appraisal WithOutcome(const char* id, Outcome outcome) {
  std::vector<Given> given = Good();
  for (Given& check : given) {
    if (std::string_view(check.id) == id) check.outcome = outcome;
  }
  return AppraisalOf(given);
}

const TrustVector kGood = {{"instance-identity", 2},
                           {"configuration", 2},
                           {"executables", 3},
                           {"hardware", 2},
                           {"runtime-opaque", 2}};

TrustVector Except(TrustVector vector, const TrustVector& changes) {
  for (const auto& [claim, value] : changes) vector[claim] = value;
  return vector;
}

TrustVector Without(TrustVector vector, std::initializer_list<const char*> claims) {
  for (const char* claim : claims) vector.erase(claim);
  return vector;
}

TEST(TrustVectorTest, AffirmsWhatPassed) {
  EXPECT_EQ(TrustVectorOf(AppraisalOf(Good()), "SNP_"), kGood);
}

TEST(TrustVectorTest, SaysWhichPartFellShort) {
  const TrustVector hidden = Without(kGood, {"runtime-opaque"});
  const std::pair<const char*, TrustVector> failed[] = {
      {"SNP_CHIP_ID", Except(kGood, {{"instance-identity", 97}})},
      {"SNP_MEASUREMENT", Except(kGood, {{"executables", 96}})},
      {"SNP_TCB_FLOOR", Except(hidden, {{"hardware", 96}})},
      {"SNP_DEBUG", Except(kGood, {{"configuration", 96}, {"runtime-opaque", 96}})},
  };
  for (const auto& [id, vector] : failed) {
    EXPECT_EQ(TrustVectorOf(WithOutcome(id, Outcome::kFailed), "SNP_"), vector) << id;
  }
  std::vector<Given> revoked = Good();
  revoked.push_back({"SNP_REVOKED", Outcome::kFailed});
  EXPECT_EQ(TrustVectorOf(AppraisalOf(revoked), "SNP_").at("instance-identity"), 96);
}

TEST(TrustVectorTest, BelievesNothingThatIsNotSignedOrNotForThisVerifier) {
  for (const char* id : {"SNP_SIGNATURE", "SNP_CHAIN", "SNP_REPORT_DATA"}) {
    EXPECT_EQ(TrustVectorOf(WithOutcome(id, Outcome::kFailed), "SNP_"),
              (TrustVector{{"instance-identity", 99},
                           {"configuration", 99},
                           {"executables", 99},
                           {"hardware", 99}}))
        << id;
  }
  EXPECT_EQ(
      TrustVectorOf(WithOutcome("SNP_CHAIN", Outcome::kMissing), "SNP_"),
      (TrustVector{
          {"instance-identity", 0}, {"configuration", 0}, {"executables", 0}, {"hardware", 0}}));
}

TEST(TrustVectorTest, ClaimsNothingThatThePolicyDidWithout) {
  EXPECT_EQ(TrustVectorOf(WithOutcome("SNP_MEASUREMENT", Outcome::kSkipped), "SNP_"),
            Without(kGood, {"executables"}));
  EXPECT_EQ(TrustVectorOf(WithOutcome("SNP_DEBUG", Outcome::kSkipped), "SNP_"),
            Without(kGood, {"configuration", "runtime-opaque"}));
}

TEST(TrustVectorTest, KeepsAnUnknownCheckThatFails) {
  std::vector<Given> given = Good();
  given.push_back({"SNP_SOMETHING_NEW", Outcome::kFailed});
  EXPECT_EQ(TrustVectorOf(AppraisalOf(given), "SNP_").at("configuration"), 96);
}

TEST(TrustVectorTest, NeverAffirmsAStandInsHardware) {
  Appraisal appraisal = AppraisalOf(Good());
  appraisal.insecure = true;
  EXPECT_EQ(TrustVectorOf(appraisal, "SNP_"),
            Except(Without(kGood, {"runtime-opaque"}), {{"hardware", -33}}));
}

class EarTest : public ::testing::Test {
 protected:
  EarTest() {
    options_.build = "test 1";
    options_.issued = absl::FromUnixSeconds(1'780'000'000);
    options_.appraised = absl::FromUnixSeconds(1'770'000'000);
    options_.policy_id = "prod@sha256:ab";
  }
  simdjson::dom::element Parse(const Appraisal& appraisal) {
    text_ = EarClaims(appraisal, options_);
    simdjson::dom::element claims;
    EXPECT_FALSE(parser_.parse(text_).get(claims)) << text_;
    return claims;
  }

  EarOptions options_;
  std::string text_;
  simdjson::dom::parser parser_;
};

TEST_F(EarTest, HasTheClaimsOfTheDraft) {
  options_.nonce = "12345678";
  Appraisal appraisal = AppraisalOf(Good());
  appraisal.claims["report_data"] = std::string(126, '0') + "01";
  const auto claims = Parse(appraisal);
  EXPECT_EQ(std::string_view(claims["eat_profile"]), "tag:ietf.org,2026:rats/ear#04");
  EXPECT_EQ(std::string_view(claims["ear_status"]), "affirming");
  EXPECT_EQ(int64_t(claims["iat"]), 1'780'000'000);
  EXPECT_EQ(std::string_view(claims["ear_verifier_id"]["developer"]), "Caravan");
  EXPECT_EQ(std::string_view(claims["ear_verifier_id"]["build"]), "test 1");
  EXPECT_EQ(std::string_view(claims["eat_nonce"]), "MTIzNDU2Nzg=");
  const auto snp = claims["submods"]["sev-snp"];
  EXPECT_EQ(std::string_view(snp["ear_status"]), "affirming");
  EXPECT_EQ(int64_t(snp["ear_trustworthiness_vector"]["executables"]), 3);
  EXPECT_EQ(std::string_view(snp["ear_appraisal_policy_ids"].at(0)), "prod@sha256:ab");
  EXPECT_EQ(std::string_view(snp["eat_nonce"]).size(), 88u);
  EXPECT_EQ(std::string_view(claims["caravan"]["appraised_at"]), "2026-02-02T02:40:00+00:00");
}

TEST_F(EarTest, HasTheNamesThatLibrariesKnow) {
  options_.profile = EarProfile::kVeraison;
  const auto claims = Parse(AppraisalOf(Good()));
  EXPECT_EQ(std::string_view(claims["eat_profile"]), "tag:github.com,2023:veraison/ear");
  EXPECT_EQ(std::string_view(claims["ear.verifier-id"]["build"]), "test 1");
  const auto snp = claims["submods"]["sev-snp"];
  EXPECT_EQ(std::string_view(snp["ear.status"]), "affirming");
  EXPECT_EQ(int64_t(snp["ear.trustworthiness-vector"]["hardware"]), 2);
  EXPECT_EQ(std::string_view(snp["ear.appraisal-policy-id"]), "prod@sha256:ab");
  EXPECT_TRUE(claims["ear.status"].error()) << "their tokens have none";
}

TEST_F(EarTest, HasNoMoreTrustThanTheAppraisal) {
  const std::pair<Outcome, const char*> rows[] = {{Outcome::kFailed, "contraindicated"},
                                                  {Outcome::kMissing, "none"},
                                                  {Outcome::kWarned, "warning"},
                                                  {Outcome::kSkipped, "affirming"}};
  for (const auto& [outcome, status] : rows) {
    const auto claims = Parse(WithOutcome("SNP_TCB_FLOOR", outcome));
    EXPECT_EQ(std::string_view(claims["ear_status"]), status);
    EXPECT_EQ(std::string_view(claims["submods"]["sev-snp"]["ear_status"]), status);
  }
  // Stored evidence: every check passed or was skipped, and still it is only good for a warning.
  Appraisal capped = AppraisalOf(Good());
  capped.verdict = Verdict::kWarning;
  EXPECT_EQ(std::string_view(Parse(capped)["submods"]["sev-snp"]["ear_status"]), "warning");
}

TEST_F(EarTest, KeepsEachAttestersStatusApart) {
  std::vector<Given> given = Good();
  given.push_back({"NVIDIA_SIGNATURE", Outcome::kFailed});
  auto claims = Parse(AppraisalOf(given));
  EXPECT_EQ(std::string_view(claims["ear_status"]), "contraindicated");
  EXPECT_EQ(std::string_view(claims["submods"]["nvidia"]["ear_status"]), "contraindicated");
  EXPECT_EQ(std::string_view(claims["submods"]["sev-snp"]["ear_status"]), "warning")
      << "a part of a whole that is refused is not affirmed";
  given.back() = {"EVIDENCE_DUPLICATE", Outcome::kFailed};
  claims = Parse(AppraisalOf(given));
  EXPECT_EQ(std::string_view(claims["submods"]["sev-snp"]["ear_status"]), "contraindicated");
  claims = Parse(AppraisalOf({{"POLICY_INVALID", Outcome::kFailed}}));
  EXPECT_EQ(std::string_view(claims["submods"]["evidence"]["ear_status"]), "contraindicated");
  EXPECT_EQ(std::string_view(Parse(Appraisal())["submods"]["evidence"]["ear_status"]), "none");
}

TEST_F(EarTest, EscapesWhatCameFromElsewhere) {
  Appraisal appraisal = AppraisalOf(Good());
  const std::string hostile = "\"}],\"x\":\x01\\\xff\n";
  appraisal.platform = hostile;
  appraisal.claims[hostile] = hostile;
  appraisal.checks.push_back({"SNP_\"", "what", Outcome::kWarned, hostile, ""});
  options_.policy_id = hostile;
  const auto claims = Parse(appraisal);
  EXPECT_EQ(claims["submods"].get_object().size(), 1u);
  EXPECT_EQ(std::string_view(claims["submods"]["sev-snp"]["caravan"]["platform"]),
            "\"}],\"x\":\x01\\\xef\xbf\xbd\n");
}

TEST(EarNonce, HasEightToSixtyFourBytes) {
  EXPECT_TRUE(CheckEarNonce("").ok());
  EXPECT_TRUE(CheckEarNonce(std::string(8, 'x')).ok());
  EXPECT_TRUE(CheckEarNonce(std::string(64, 'x')).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(CheckEarNonce(std::string(7, 'x'))));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckEarNonce(std::string(65, 'x'))));
}

}  // namespace
}  // namespace caravan::attestation
