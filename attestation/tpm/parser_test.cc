// SPDX-License-Identifier: Apache-2.0
//
// What the parsers of a vTPM's evidence take and refuse.
#include <functional>
#include <string>

#include "attestation/insecure_software/forge_vtpm.h"
#include "attestation/sev_snp/test_vectors.h"
#include "attestation/tpm/evidence.h"
#include "attestation/tpm/hcl_report.h"
#include "attestation/tpm/input.h"
#include "attestation/tpm/quote.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attestation::tpm {
namespace {

using testing::HasSubstr;

VtpmEvidence Sample() {
  VtpmEvidence evidence{.hcl_report = "hcl",
                        .td_quote = "td",
                        .quote = "quote",
                        .signature = "signature",
                        .ak_public = "ak",
                        .pcrs = {}};
  evidence.pcrs[0].fill(1);
  evidence.pcrs[23].fill(2);
  return evidence;
}

TEST(VtpmContainer, SurvivesItsEncoding) {
  const std::string bytes = Encode(Sample());
  const auto decoded = DecodeVtpmEvidence(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(Encode(*decoded), bytes);
  EXPECT_EQ(decoded->pcrs, Sample().pcrs);
  EXPECT_EQ(decoded->td_quote, "td");
}

TEST(VtpmContainer, RefusesEveryShortening) {
  const std::string bytes = Encode(Sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeVtpmEvidence(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeVtpmEvidence(bytes + '\0').ok());
}

TEST(VtpmContainer, RefusesWhatIsTooLong) {
  VtpmEvidence evidence = Sample();
  evidence.hcl_report.assign(kMaxHclReport + 1, 'x');
  EXPECT_THAT(DecodeVtpmEvidence(Encode(evidence)).status().ToString(), HasSubstr("hcl report"));
  evidence = Sample();
  evidence.quote.assign(kMaxTpmStructure + 1, 'x');
  EXPECT_FALSE(DecodeVtpmEvidence(Encode(evidence)).ok());
}

TEST(VtpmContainer, RefusesRegistersTwiceOutOfOrderOrUnknown) {
  std::string bytes = Encode(Sample());
  const size_t first = bytes.size() - 66, second = bytes.size() - 33;
  ASSERT_EQ(bytes[second], 23);
  for (char index : {0, 24}) {
    bytes[second] = index;
    EXPECT_FALSE(DecodeVtpmEvidence(bytes).ok()) << static_cast<int>(index);
  }
  bytes[second] = 3;
  bytes[first] = 4;
  EXPECT_FALSE(DecodeVtpmEvidence(bytes).ok());
}

std::string HclReport() {
  return insecure_software::MakeHclReport(HardwareType::kSnp, "report", "{\"keys\":[]}");
}

TEST(HclReport, GivesItsParts) {
  const std::string bytes = HclReport();
  const auto report = ParseHclReport(bytes);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->claims, "{\"keys\":[]}");
  EXPECT_EQ(report->hardware_report.size(), kHardwareReport);
  EXPECT_EQ(report->report_data.data(), bytes.data() + 0x20 + 0x50);
  EXPECT_EQ(report->trailing.size(), 2600 - 0x20 - 1184 - 20 - 11u);
}

struct Change {
  const char* name;
  size_t at;
  char value;
  const char* message;
};

class HclChange : public testing::TestWithParam<Change> {};

TEST_P(HclChange, IsRefused) {
  std::string bytes = HclReport();
  bytes[GetParam().at] = GetParam().value;
  EXPECT_THAT(ParseHclReport(bytes).status().ToString(), HasSubstr(GetParam().message));
}

constexpr size_t kData = 0x20 + 1184;
INSTANTIATE_TEST_SUITE_P(
    Fields, HclChange,
    testing::Values(Change{"Signature", 0, 'X', "HCLA"}, Change{"Version", 4, 3, "version is 3"},
                    Change{"Size", 8, 0, "report size"}, Change{"Request", 12, 1, "request type"},
                    Change{"Status", 16, 1, "status"}, Change{"Reserved", 31, 1, "reserved"},
                    Change{"DataSize", kData, 0, "data size"},
                    Change{"DataVersion", kData + 4, 2, "version of the request data"},
                    Change{"ReportType", kData + 8, 3, "report type is 3"},
                    Change{"HashType", kData + 12, 2, "hash type is 2"},
                    Change{"ClaimsEmpty", kData + 16, 0, "runtime claims of 0 bytes"},
                    Change{"ClaimsPastTheEnd", kData + 17, 0x1F, "runtime claims of"},
                    Change{"ClaimsHuge", kData + 19, '\xFF', "runtime claims of"}),
    [](const auto& info) { return info.param.name; });

TEST(HclReport, RefusesShortOnes) {
  const std::string bytes = HclReport();
  for (size_t size : {0, 4, 32, 1216, 1235, 1236, 1246}) {
    EXPECT_FALSE(ParseHclReport(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_TRUE(ParseHclReport(bytes.substr(0, 1247)).ok());
}

TEST(RuntimeClaims, NameTheKey) {
  const EvpPkeyPtr ak = *insecure_software::MakeRsaKey();
  const std::string json = *insecure_software::MakeRuntimeClaims(ak.get());
  const auto claims = ParseRuntimeClaims(json);
  ASSERT_TRUE(claims.ok()) << claims.status();
  EXPECT_EQ(claims->ak_modulus.size(), 256u);
  EXPECT_EQ(claims->secure_boot, std::optional<bool>(true));
  EXPECT_EQ(claims->vm_id, "6332533D-5649-4D02-8AA7-8F64B7C3EE21");
}

struct ClaimsChange {
  const char* name;
  const char* from;
  const char* to;
};

class RuntimeClaimsChange : public testing::TestWithParam<ClaimsChange> {};

TEST_P(RuntimeClaimsChange, IsRefused) {
  const EvpPkeyPtr ak = *insecure_software::MakeRsaKey();
  std::string json = *insecure_software::MakeRuntimeClaims(ak.get());
  const size_t at = json.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  json.replace(at, std::string(GetParam().from).size(), GetParam().to);
  EXPECT_FALSE(ParseRuntimeClaims(json).ok()) << json;
}

INSTANTIATE_TEST_SUITE_P(
    Fields, RuntimeClaimsChange,
    testing::Values(ClaimsChange{"NoKeyOfTheName", "HCLAkPub", "HCLOtherPub"},
                    ClaimsChange{"TwoKeysOfTheName", "HCLEkPub", "HCLAkPub"},
                    ClaimsChange{"NameTwice", "\"kty\":\"RSA\"", "\"kty\":\"RSA\",\"kty\":\"RSA\""},
                    ClaimsChange{"OtherType", "\"kty\":\"RSA\"", "\"kty\":\"EC\""},
                    ClaimsChange{"OtherUse", "\"sign\"", "\"encrypt\""},
                    ClaimsChange{"MoreUse", "\"sign\"", "\"sign\",\"decrypt\""},
                    ClaimsChange{"SmallExponent", "\"e\":\"AQAB\"", "\"e\":\"Aw\""},
                    ClaimsChange{"ShortModulus", "\"n\":\"", "\"n\":\"AAAA\",\"x\":\""},
                    ClaimsChange{"NoBase64", "\"n\":\"", "\"n\":\"!!!\",\"x\":\""},
                    ClaimsChange{"SecureBootAsText", "\"secure-boot\":true",
                                 "\"secure-boot\":\"true\""},
                    ClaimsChange{"Unfinished", "}]", "}"}),
    [](const auto& info) { return info.param.name; });

insecure_software::TpmQuoteSpec QuoteSpec() {
  insecure_software::TpmQuoteSpec spec;
  spec.extra_data = "nonce";
  spec.pcr_digest.assign(32, 'd');
  return spec;
}

TEST(TpmQuote, GivesItsParts) {
  const std::string bytes = insecure_software::MakeTpmQuote(QuoteSpec());
  const auto quote = ParseQuote(bytes);
  ASSERT_TRUE(quote.ok()) << quote.status();
  EXPECT_EQ(quote->extra_data, "nonce");
  EXPECT_EQ(quote->reset_count, 3u);
  EXPECT_EQ(quote->firmware_version, 0x2020u);
  EXPECT_EQ(quote->pcr_digest, std::string(32, 'd'));
  EXPECT_EQ(SelectedPcrs(*quote)->size(), 24u);
}

TEST(TpmQuote, RefusesEveryShorteningAndMore) {
  const std::string bytes = insecure_software::MakeTpmQuote(QuoteSpec());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseQuote(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ParseQuote(bytes + '\0').ok());
}

TEST(TpmQuote, RefusesAnotherMagicOrType) {
  insecure_software::TpmQuoteSpec spec = QuoteSpec();
  spec.magic = 0xFF544348;
  EXPECT_FALSE(ParseQuote(insecure_software::MakeTpmQuote(spec)).ok());
  spec = QuoteSpec();
  spec.type = 0x8017;  // TPM2_Certify
  EXPECT_FALSE(ParseQuote(insecure_software::MakeTpmQuote(spec)).ok());
}

TEST(TpmQuote, RefusesSizesOutOfBounds) {
  insecure_software::TpmQuoteSpec spec = QuoteSpec();
  spec.extra_data.assign(67, 'x');
  EXPECT_FALSE(ParseQuote(insecure_software::MakeTpmQuote(spec)).ok());
  spec = QuoteSpec();
  spec.selections.assign(17, {kTpmSha256, "\x01"});
  EXPECT_FALSE(ParseQuote(insecure_software::MakeTpmQuote(spec)).ok());
}

TEST(TpmQuote, SelectsRegistersOfOneBankAlone) {
  const auto selected = [](std::vector<std::pair<uint16_t, std::string>> selections) {
    insecure_software::TpmQuoteSpec spec = QuoteSpec();
    spec.selections = std::move(selections);
    const std::string bytes = insecure_software::MakeTpmQuote(spec);
    return SelectedPcrs(*ParseQuote(bytes));
  };
  EXPECT_EQ(*selected({{kTpmSha256, std::string("\x81\x00\x01", 3)}}),
            (std::vector<uint8_t>{0, 7, 16}));
  EXPECT_FALSE(selected({}).ok());
  EXPECT_FALSE(selected({{kTpmSha256, std::string(3, '\0')}}).ok());
  EXPECT_FALSE(selected({{0x0004, "\xFF"}}).ok());
  EXPECT_FALSE(selected({{kTpmSha256, "\xFF"}, {0x0004, "\xFF"}}).ok());
  EXPECT_FALSE(selected({{kTpmSha256, std::string("\x01\0\0\x01", 4)}}).ok());
}

TEST(TpmSignature, IsBareOrWrapped) {
  const std::string bare(256, 's');
  EXPECT_EQ(*RsaSignatureOf(bare), bare);
  const std::string wrapped = insecure_software::WrapSignature(bare);
  EXPECT_EQ(*RsaSignatureOf(wrapped), bare);
  EXPECT_FALSE(RsaSignatureOf("").ok());
  EXPECT_FALSE(RsaSignatureOf(wrapped + '\0').ok());
  std::string changed = wrapped;
  changed[1] = 0x16;  // RSAPSS
  EXPECT_FALSE(RsaSignatureOf(changed).ok());
  changed = wrapped;
  changed[3] = 0x04;  // SHA-1
  EXPECT_FALSE(RsaSignatureOf(changed).ok());
}

// A quote of a real TPM 2.0 (Google's), whose endorsement hierarchy holds its AK: the name rules.
TEST(TpmNames, AreThoseThatARealTpmSigns) {
  CARAVAN_REQUIRE_VECTORS();
  const auto file = ReadVectorForTest("tpm/go-tpm-tools/gce-cos-85-nonce9009.pb");
  ASSERT_TRUE(file.has_value());
  // Field 1, 280 bytes: TPMT_PUBLIC. Field 2, 1011 bytes: a quote, its field 1 of 115 bytes.
  const std::string_view bytes(*file);
  const std::string_view area = bytes.substr(3, 280);
  const auto parsed = ParsePublicArea(area);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  constexpr uint32_t kAttestationKey =
      kFixedTpm | kFixedParent | kSensitiveDataOrigin | kRestricted | kSign;
  EXPECT_EQ(parsed->attributes & (kAttestationKey | kDecrypt), kAttestationKey);
  EXPECT_EQ(parsed->exponent, 65537u);
  const size_t at = bytes.find(std::string_view("\xFFTCG\x80\x18", 6));
  ASSERT_NE(at, std::string_view::npos);
  const std::string_view message = bytes.substr(at, 115);
  const auto quote = ParseQuote(message);
  ASSERT_TRUE(quote.ok()) << quote.status();
  EXPECT_THAT(QualifiedNames(area), testing::Contains(std::string(quote->qualified_signer)));
  EXPECT_EQ(quote->extra_data, "\x90\x09");
  EXPECT_FALSE(SelectedPcrs(*quote).ok());  // the SHA-1 bank
}

TEST(VtpmInput, TakesTheFormsOfPublicTools) {
  CARAVAN_REQUIRE_VECTORS();
  for (const char* path : {"az-snp-vtpm/evidence-v0.json", "az-snp-vtpm/evidence-v1.json",
                           "az-snp-vtpm/evidence-v2.json", "az-snp-vtpm/evidence-genoa.json",
                           "az-tdx-vtpm/evidence-v0.json", "az-tdx-vtpm/evidence-v1.json",
                           "lunal-az_snp/live-evidence.json", "lunal-az_tdx/live-evidence.json",
                           "attestation-rs/milan-v3-attestation.json"}) {
    const auto item = FromJson(*ReadVectorForTest(std::string("tpm/") + path));
    ASSERT_TRUE(item.ok()) << path << item.status();
    const auto parts = DecodeVtpmEvidence(item->report);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_EQ(parts->pcrs.size(), 24u) << path;
    EXPECT_TRUE(ParseHclReport(parts->hcl_report).ok()) << path;
  }
}

TEST(VtpmInput, NamesWhatIsMissing) {
  EXPECT_THAT(FromFiles({}).status().ToString(), HasSubstr("hcl-report.bin is missing"));
  EXPECT_THAT(FromFiles({{"hcl-report.bin", "x"}}).status().ToString(), HasSubstr("quote.bin"));
  EXPECT_THAT(FromFiles({{"hcl-report.bin", "x"}, {"tpm-quote.msg", "x"}}).status().ToString(),
              HasSubstr("tpm-quote.sig is missing"));
  EXPECT_FALSE(FromFiles({{"hcl-report.bin", "x"}, {"quote.bin", std::string(24, '\xFF')}}).ok());
  EXPECT_THAT(FromJson("{\"hcl_report\":\"00\"}").status().ToString(),
              HasSubstr("tpm_quote is missing"));
  EXPECT_FALSE(FromJson("{\"hcl_report\":[256],\"tpm_quote\":{\"message\":\"00\"}}").ok());
  EXPECT_FALSE(FromJson("[]").ok());
}

}  // namespace
}  // namespace caravan::attestation::tpm
