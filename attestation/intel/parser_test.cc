// SPDX-License-Identifier: Apache-2.0
//
// What the parsers take and what they refuse: JSON, quotes, PCK extensions, Intel's documents.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "attestation/insecure_software/forge.h"
#include "attestation/insecure_software/forge_intel.h"
#include "attestation/intel/collateral.h"
#include "attestation/intel/quote.h"
#include "attestation/sev_snp/test_vectors.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attestation::intel {
namespace {

using testing::HasSubstr;

TEST(Json, RefusesWhatHasTwoReadings) {
  EXPECT_TRUE(base::ParseJson("{\"a\":[1,\"b\",{}]}").ok());
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("{\"a\":1,\"a\":2}"),
        std::string("{\"x\":{\"a\":1,\"\\u0061\":2}}"), std::string("{\"a\":1} {\"b\":2}"),
        std::string("{\"a\":01}"), std::string("{\"a\":99999999999999999999}"),
        std::string("{\"a\":\"\xFF\"}"), std::string("{'a':1}"), deep,
        std::string(base::kMaxJsonSize + 1, ' ')}) {
    EXPECT_FALSE(base::ParseJson(text).ok()) << text.substr(0, 40);
  }
}

// What is signed is what stands there, to the byte.
TEST(Json, ShowsLittleOfANameThatStandsTwiceAndEscapesIt) {
  const std::string name = "\\u001b" + std::string(5000, 'n');
  const auto value = base::ParseJson("{\"" + name + "\":1,\"" + name + "\":2}");
  const std::string message(value.status().message());
  EXPECT_NE(message.find("\\x1bnnn"), std::string::npos) << message;
  EXPECT_LT(message.size(), 200u);
}

TEST(Json, GivesTheExactBytesOfAMember) {
  const std::string text = "{ \"signature\":\"00\", \"tcbInfo\" : {\"b\" : 1,\t\"a\":[ 2 ] }  \n}";
  const auto raw = base::RawMember(text, "tcbInfo");
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_EQ(*raw, "{\"b\" : 1,\t\"a\":[ 2 ] }");
  EXPECT_TRUE(absl::IsNotFound(base::RawMember(text, "absent").status()));
  EXPECT_FALSE(base::RawMember("{\"tcbInfo\":{\"a\":1,\"a\":2}}", "tcbInfo").ok());
  EXPECT_FALSE(base::RawMember("{\"tcbInfo\":{\"a\":tru}}", "tcbInfo").ok());
  EXPECT_FALSE(base::RawMember("{\"tcbInfo\":[]}", "tcbInfo").ok());
  EXPECT_FALSE(base::RawMember("[]", "tcbInfo").ok());
}

TEST(JsonReader, KeepsTheFirstFailureWithItsPath) {
  const auto value = base::ParseJson("{\"n\":-1,\"f\":1.5,\"t\":\"x\"}");
  ASSERT_TRUE(value.ok());
  const auto error = [&](auto read) {
    absl::Status status;
    base::JsonReader reader(&*value, "doc", &status);
    read(reader);
    return std::string(status.message());
  };
  EXPECT_EQ(error([](auto& r) { r.Integer("n", 9); }), "doc.n: is -1, expected 0 to 9");
  EXPECT_THAT(error([](auto& r) { r.Integer("f", 9); }), HasSubstr("another type"));
  EXPECT_THAT(error([](auto& r) { r.Text("absent"); }), HasSubstr("doc.absent: is missing"));
  EXPECT_THAT(error([](auto& r) { r.Hex("t", 1); }), HasSubstr("hexadecimal"));
  EXPECT_THAT(error([](auto& r) { r.Time("t"); }), HasSubstr("is no time"));
  EXPECT_THAT(error([](auto& r) {
                r.Text("absent");
                r.Integer("n", 9);
              }),
              HasSubstr("absent"));
}

class QuoteForm : public testing::Test {
 protected:
  QuoteForm() {
    spec_.body.assign(584, 'b');
    spec_.attestation_key = key_.get();
    spec_.pck_key = key_.get();
    spec_.certification_data = "certificates";
  }
  std::string Make() {
    const auto quote = insecure_software::MakeQuote(spec_);
    EXPECT_TRUE(quote.ok()) << quote.status();
    return *quote;
  }
  const EvpPkeyPtr key_ = *insecure_software::MakeP256Key();
  insecure_software::QuoteSpec spec_;
};

TEST_F(QuoteForm, IsReadInEveryVersion) {
  const struct {
    uint16_t version;
    uint32_t tee;
    BodyType type;
    size_t body;
  } forms[] = {{3, kTeeSgx, BodyType::kSgx, 384},         {4, kTeeSgx, BodyType::kSgx, 384},
               {4, kTeeTdx, BodyType::kTd10, 584},        {5, kTeeSgx, BodyType::kSgx, 384},
               {5, kTeeTdx, BodyType::kTd10, 584},        {5, kTeeTdx, BodyType::kTd15, 648},
               {5, kTeeTdx, BodyType::kTd15Extended, 885}};
  for (const auto& form : forms) {
    spec_.version = form.version;
    spec_.tee_type = form.tee;
    spec_.body_type = form.type;
    spec_.body.assign(form.body, 'b');
    const std::string bytes = Make();
    const auto quote = ParseQuote(bytes);
    ASSERT_TRUE(quote.ok()) << quote.status();
    EXPECT_EQ(quote->body, spec_.body);
    EXPECT_EQ(quote->body_type, form.type);
    EXPECT_EQ(quote->signed_bytes.size(), 48 + (form.version == 5 ? 6 : 0) + form.body);
    EXPECT_EQ(quote->certification_data, "certificates");
    EXPECT_EQ(quote->qe_auth_data, spec_.qe_auth_data);
    EXPECT_TRUE(quote->trailing.empty());
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(ParseQuote(bytes.substr(0, size)).ok()) << size;
    }
    EXPECT_EQ(ParseQuote(bytes + "xyz")->trailing, "xyz");
  }
}

// Lengths that disagree, each with the other's.
TEST_F(QuoteForm, RefusesLengthsThatDisagree) {
  const std::string good = Make();
  const size_t auth = 48 + 584, outer = auth + 4 + 128, inner = outer + 6 + 384 + 64;
  for (size_t at : {auth, outer + 2, inner, inner + 2 + spec_.qe_auth_data.size() + 2}) {
    for (int delta : {-1, 1}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] + delta);
      EXPECT_FALSE(ParseQuote(bad).ok()) << at << " " << delta;
      EXPECT_FALSE(ParseQuote(bad + std::string(64, '\0')).ok()) << at << " " << delta;
    }
  }
  std::string huge = good;
  huge.replace(inner + 2 + spec_.qe_auth_data.size() + 2, 4, "\xFF\xFF\xFF\xFF");
  EXPECT_FALSE(ParseQuote(huge).ok());
}

TEST_F(QuoteForm, RefusesUnknownVersionsKeysTeesAndBodies) {
  const auto refuse = [&](size_t at, char value, const char* reason) {
    std::string bad = Make();
    bad[at] = value;
    const auto quote = ParseQuote(bad);
    ASSERT_FALSE(quote.ok()) << reason;
    EXPECT_THAT(std::string(quote.status().message()), HasSubstr(reason));
  };
  refuse(0, 2, "version is 2");
  refuse(0, 6, "version is 6");
  refuse(2, 3, "attestation key type is 3");
  refuse(4, 1, "tee type is 0x1");
  refuse(0, 3, "tee type is 0x81");
  refuse(48 + 584 + 4 + 128, 5, "outer certification data type is 5");
  spec_.version = 5;
  spec_.body_type = BodyType::kTd10;
  refuse(48, 0, "body type is 0");
  refuse(48, 5, "body type is 5");
  refuse(48, 3, "body size is 584, a body of type 3 has 648");
  spec_.body_type = BodyType::kSgx;
  spec_.body.assign(384, 'b');
  refuse(10, 0, "body type 1 does not go with tee type 0x81");
}

class PckForm : public testing::Test {
 protected:
  absl::StatusOr<Pck> Parse(const std::string& extension) {
    const auto der =
        insecure_software::MakeCertificate({.common_name = "pck",
                                            .issuer_name = "ca",
                                            .subject_key = key_.get(),
                                            .issuer_key = key_.get(),
                                            .not_before = absl::UnixEpoch(),
                                            .not_after = absl::UnixEpoch(),
                                            .extensions = {{kOidSgxExtensions, extension}}});
    EXPECT_TRUE(der.ok()) << der.status();
    return ParsePck(*Certificate::Parse(*der));
  }
  const EvpPkeyPtr key_ = *insecure_software::MakeP256Key();
  insecure_software::PckSpec spec_;
};

TEST_F(PckForm, IsRead) {
  for (size_t i = 0; i < 16; ++i) spec_.sgx_svns[i] = static_cast<uint8_t>(0xF8 + i);
  spec_.pce_svn = 0xFFFF;
  const auto pck = Parse(insecure_software::PckExtension(spec_));
  ASSERT_TRUE(pck.ok()) << pck.status();
  EXPECT_EQ(pck->sgx_svns, spec_.sgx_svns);
  EXPECT_EQ(pck->pce_svn, 0xFFFF);
  EXPECT_EQ(pck->fmspc, spec_.fmspc);
  EXPECT_EQ(pck->sgx_type, SgxType::kScalable);
  EXPECT_EQ(pck->platform_instance_id, spec_.platform_instance_id);
  EXPECT_EQ(pck->smt_enabled, true);
  EXPECT_EQ(pck->cached_keys, false);
}

TEST_F(PckForm, RefusesEveryTruncationAndBadParts) {
  const std::string good = insecure_software::PckExtension(spec_);
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(Parse(good.substr(0, size)).ok());
  EXPECT_FALSE(Parse(good + '\0').ok());
  spec_.sgx_type = 3;
  EXPECT_FALSE(Parse(insecure_software::PckExtension(spec_)).ok());
  spec_ = {};
  spec_.fmspc = "short";
  EXPECT_FALSE(Parse(insecure_software::PckExtension(spec_)).ok());
  spec_ = {};
  spec_.ppid += "x";
  EXPECT_FALSE(Parse(insecure_software::PckExtension(spec_)).ok());
}

const char kRating[] = "\"tcbDate\":\"2024-11-13T00:00:00Z\",\"tcbStatus\":\"UpToDate\"";
std::string Identity() {
  return absl::StrCat(
      "{\"id\":\"QE\",\"version\":2,\"issueDate\":\"2025-01-01T00:00:00Z\",\"nextUpdate\":"
      "\"2025-02-01T00:00:00Z\",\"tcbEvaluationDataNumber\":17,\"miscselect\":\"00000000\","
      "\"miscselectMask\":\"FFFFFFFF\",\"attributes\":\"11000000000000000000000000000000\","
      "\"attributesMask\":\"FBFFFFFFFFFFFFFF0000000000000000\",\"mrsigner\":\"",
      std::string(64, 'a'), "\",\"isvprodid\":1,\"tcbLevels\":[{\"tcb\":{\"isvsvn\":8},", kRating,
      "}]}");
}

TEST(EnclaveIdentityForm, RefusesWhatIsMissingOutOfRangeOrUnknown) {
  ASSERT_TRUE(ParseEnclaveIdentity(Identity()).ok()) << ParseEnclaveIdentity(Identity()).status();
  const std::pair<const char*, const char*> changes[] = {
      {"\"version\":2", "\"version\":3"},
      {"\"isvprodid\":1", "\"isvprodid\":65536"},
      {"\"isvprodid\":1", "\"isvprodid\":1.0"},
      {"\"isvsvn\":8", "\"isvsvn\":-8"},
      {"\"isvsvn\":8", "\"isvsvn\":\"8\""},
      {"UpToDate", "Uptodate"},
      {"UpToDate", "TDRelaunchAdvised"},
      {"\"tcbStatus\"", "\"status\""},
      {"2025-01-01T00:00:00Z", "2025-01-01"},
      {"2025-01-01T00:00:00Z", "2025-13-01T00:00:00Z"},
      {"2025-02-01T00:00:00Z", "2025-02-01T00:00:00+00:00"},
      {"FBFFFFFF", "FBFFFF"},
      {"\"tcbLevels\":[{", "\"tcbLevels\":[],\"x\":[{"},
      {"\"mrsigner\"", "\"signer\""},
  };
  for (const auto& [from, to] : changes) {
    const std::string text = absl::StrReplaceAll(Identity(), {{from, to}});
    ASSERT_NE(text, Identity()) << from;
    EXPECT_FALSE(ParseEnclaveIdentity(text).ok()) << to;
  }
  // Members that nobody here knows are for later versions.
  EXPECT_TRUE(
      ParseEnclaveIdentity(absl::StrReplaceAll(Identity(), {{"{\"id\"", "{\"new\":null,\"id\""}}))
          .ok());
}

TEST(SignedDocumentForm, HasOneStatementAndAWholeSignature) {
  const std::string signature(128, 'a');
  const auto parse = [](const std::string& text) { return ParseSignedDocument(text).status(); };
  EXPECT_TRUE(parse("{\"tcbInfo\":{},\"signature\":\"" + signature + "\"}").ok());
  EXPECT_TRUE(absl::IsNotFound(parse("{\"other\":{},\"signature\":\"" + signature + "\"}")));
  for (const std::string& text :
       {std::string("{\"tcbInfo\":{}}"), std::string("{\"tcbInfo\":{},\"signature\":\"aa\"}"),
        "{\"tcbInfo\":[],\"signature\":\"" + signature + "\"}",
        "{\"tcbInfo\":{},\"enclaveIdentity\":{},\"signature\":\"" + signature + "\"}",
        "{\"tcbInfo\":{},\"tcbInfo\":{},\"signature\":\"" + signature + "\"}"}) {
    EXPECT_EQ(parse(text).code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(RealCollateral, IsReadWhole) {
  CARAVAN_REQUIRE_VECTORS();
  const auto info = ReadVectorForTest("tdx/lunal/collateral/tcb_info_50806f000000.json");
  ASSERT_TRUE(info.has_value());
  const auto document = ParseSignedDocument(*info);
  ASSERT_TRUE(document.ok()) << document.status();
  const auto parsed = ParseTcbInfo(document->body);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(parsed->tdx);
  EXPECT_EQ(parsed->levels.size(), 5u);
  EXPECT_EQ(parsed->levels[0].sgx_names[7], "SEAMLDR ACM");
  EXPECT_EQ(parsed->modules.size(), 2u);
  EXPECT_EQ(parsed->validity.evaluation_number, 18u);
}

// Open Enclave's collection of broken enclave identities and TCB infos, and the good ones beside.
TEST(ForeignCollateral, IsRefusedWhereItIsBroken) {
  CARAVAN_REQUIRE_VECTORS();
  const std::string base = "sgx/openenclave/parser-negatives/tests/";
  for (const char* name :
       {"attributes", "attributesmask", "id", "issuedate", "isvprodid", "isvsvn", "miscselect",
        "miscselectmask", "mrsigner", "nextupdate", "qeidentity", "signature", "tcb_date",
        "tcb_eval_data_num", "tcb_levels", "tcb_status", "version"}) {
    const auto text = ReadVectorForTest(
        absl::StrCat(base, "qeidentity/data_v2/qe_identity_missing_", name, ".json"));
    ASSERT_TRUE(text.has_value()) << name;
    const auto document = ParseSignedDocument(*text);
    EXPECT_FALSE(document.ok() && ParseEnclaveIdentity(document->body).ok()) << name;
  }
  for (const char* name :
       {"CompSvn", "Float", "IntegerOverflow", "IntegerWithSign", "InvalidIssueDate",
        "InvalidNextUpdate", "MissingNextUpdate", "PceSvn", "PropertyMissingLevel0",
        "PropertyMissingLevel1", "PropertyMissingLevel2", "PropertyMissingLevel3",
        "PropertyWrongTypeLevel0", "PropertyWrongTypeLevel1", "PropertyWrongTypeLevel2",
        "PropertyWrongTypeLevel3", "Signature", "StringEscape", "TcbType"}) {
    const auto text =
        ReadVectorForTest(absl::StrCat(base, "report/data_v2/tcbInfoNegative", name, ".json"));
    ASSERT_TRUE(text.has_value()) << name;
    const auto document = ParseSignedDocument(*text);
    EXPECT_FALSE(document.ok() && ParseTcbInfo(document->body).ok()) << name;
  }
  for (const char* name : {"report/data_v3/tcbinfo_tdx.json", "report/data_v3/tcbinfo_sgx.json"}) {
    const auto document = ParseSignedDocument(*ReadVectorForTest(base + name));
    ASSERT_TRUE(document.ok()) << name << document.status();
    EXPECT_TRUE(ParseTcbInfo(document->body).ok()) << ParseTcbInfo(document->body).status();
  }
  const auto good =
      ParseSignedDocument(*ReadVectorForTest(base + "qeidentity/data_v2/qe_identity_ok.json"));
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_TRUE(ParseEnclaveIdentity(good->body).ok());
}

}  // namespace
}  // namespace caravan::attestation::intel
