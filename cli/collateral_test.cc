// SPDX-License-Identifier: Apache-2.0
#include "cli/collateral.h"

#include <simdjson.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collateral/services_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::cli {
namespace {

using collateral::AnswerForTest;
using collateral::ClockForTest;
using collateral::ServicesForTest;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CollateralTest : public ::testing::Test {
 protected:
  CollateralTest() {
    std::string folder = absl::StrCat(::testing::TempDir(), "/cli-XXXXXX");
    folder_ = mkdtemp(folder.data());
    options_.cache = folder_ + "/cache";
    options_.evidence = {Write("snp.bin", services_.amd.Evidence().items[0].report),
                         Write("tdx.dat", services_.intel.Evidence().items[0].report)};
    options_.kds_url = services_.services().kds + "/";
    options_.pcs_url = services_.services().pcs;
    options_.extra_roots = services_.roots();
  }

  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = absl::StrCat(folder_, "/", name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  template <typename Run>
  int Do(Run run, bool json = false) {
    out_.str("");
    err_.str("");
    Context context{out_, err_};
    context.json = json;
    return run(context, options_, clock_.MakeWorld());
  }
  int Fetch(bool json = false) { return Do(&RunCollateralFetch, json); }
  int List(bool json = false) { return Do(&RunCollateralList, json); }
  int Check(bool json = false) { return Do(&RunCollateralCheck, json); }

  simdjson::dom::element Json() {
    simdjson::dom::element document;
    EXPECT_FALSE(parser_.parse(out_.str()).get(document)) << out_.str();
    return document;
  }

  ServicesForTest services_;
  ClockForTest clock_{services_.amd.now};
  std::string folder_;
  CollateralOptions options_;
  std::ostringstream out_, err_;
  simdjson::dom::parser parser_;
};

TEST_F(CollateralTest, FetchesListsAndChecksAllThatEvidenceNeeds) {
  EXPECT_EQ(Check(), kNotVerifiable);
  EXPECT_THAT(out_.str(), HasSubstr("7 missing"));
  EXPECT_THAT(err_.str(), HasSubstr("[MISSING]\nhint: caravanctl collateral fetch"));
  EXPECT_NE(access(options_.cache.c_str(), F_OK), 0) << "checking makes nothing";
  EXPECT_THAT(services_.asked(), IsEmpty());

  ASSERT_EQ(Fetch(), kOk) << out_.str() << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("complete  7 items  cache "));
  EXPECT_THAT(out_.str(), HasSubstr("fetched"));
  EXPECT_THAT(err_.str(), IsEmpty());
  ASSERT_EQ(Check(), kOk) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("2026-06-27T20:26:40+00:00")) << "until when";

  services_.ForgetAsked();
  clock_.Set(clock_.now() + absl::Seconds(1));
  EXPECT_EQ(Fetch(), kOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("fetched")));
  EXPECT_THAT(services_.asked(), IsEmpty());
  options_.refresh = true;
  EXPECT_EQ(Fetch(), kOk);
  EXPECT_EQ(services_.asked().size(), 5u) << "three lists, two documents";

  EXPECT_EQ(List(), kOk);
  for (const char* kind : {"amd-vcek", "amd-chain", "amd-crl", "tcb-info", "qe-identity", "pck-crl",
                           "intel-root-crl"}) {
    EXPECT_THAT(out_.str(), HasSubstr(kind));
  }
}

TEST_F(CollateralTest, SaysEveryThingInJson) {
  ASSERT_EQ(Fetch(/*json=*/true), kOk);
  EXPECT_EQ(std::string_view(Json()["schema"]), "caravan.collateral/1");
  EXPECT_TRUE(bool(Json()["complete"]));
  EXPECT_EQ(Json()["items"].get_array().size(), 7u);
  for (simdjson::dom::element item : Json()["items"]) {
    EXPECT_EQ(std::string_view(item["state"]), "fetched");
    EXPECT_THAT(std::string(std::string_view(item["url"])), HasSubstr("http://127.0.0.1:"));
    EXPECT_GE(item["files"].get_array().size(), 1u);
    EXPECT_FALSE(item["expires"].get_string().error());
  }
}

TEST_F(CollateralTest, NamesWhatExpiredAndWhatIsCorrupted) {
  ASSERT_EQ(Fetch(/*json=*/true), kOk);
  std::string file;
  for (simdjson::dom::element item : Json()["items"]) {
    if (std::string_view(item["kind"]) == "pck-crl") {
      file = std::string(std::string_view(item["files"].at(0)));
    }
  }
  Write("cache/" + file, "garbage");
  EXPECT_EQ(Check(), kNotVerifiable);
  EXPECT_THAT(out_.str(), HasSubstr(file + " is corrupted"));
  options_.evidence.clear();
  EXPECT_EQ(Check(), kNotVerifiable);
  EXPECT_THAT(out_.str(), HasSubstr("corrupted  pck-crl"));
  clock_.Set(clock_.now() + absl::Hours(24 * 40));
  EXPECT_EQ(Check(), kNotVerifiable);
  EXPECT_THAT(out_.str(), HasSubstr("expired    tcb-info"));
  EXPECT_EQ(List(), kOk);
}

TEST_F(CollateralTest, OfflineAsksNobodyAndSaysWhatIsMissing) {
  options_.offline = true;
  EXPECT_EQ(Fetch(), kNotVerifiable);
  EXPECT_THAT(err_.str(), HasSubstr("offline, and not in the cache [MISSING]"));
  EXPECT_THAT(services_.asked(), IsEmpty());
}

TEST_F(CollateralTest, TellsTimedOutFromMissing) {
  services_.AnswerLate(absl::Milliseconds(350));
  options_.evidence.resize(1);
  options_.deadline = absl::Seconds(10);
  EXPECT_EQ(Fetch(), kTimedOut) << out_.str();
  EXPECT_THAT(err_.str(), HasSubstr("[TIMED_OUT]"));
  services_.AnswerLate(absl::ZeroDuration());
  services_.AnswerAll(AnswerForTest(429, {"Retry-After: 3600"}));
  EXPECT_EQ(Fetch(), kNotVerifiable);
  EXPECT_THAT(err_.str(), HasSubstr("asked not to be asked before"));
}

TEST_F(CollateralTest, SaysWhatNoServiceHas) {
  services_.amd.world.report.signing_key = 1;
  options_.evidence = {Write("vlek.bin", services_.amd.Evidence().items[0].report)};
  EXPECT_EQ(Fetch(), kNotVerifiable);
  EXPECT_THAT(out_.str(), HasSubstr("missing: the report is signed by a cloud's VLEK"));
}

TEST_F(CollateralTest, TakesCertificatesThatCameBesideTheEvidence) {
  options_.evidence.resize(1);
  options_.certificates = {Write("vcek.der", services_.amd.Vcek().body),
                           Write("chain.pem", services_.amd.Chain().body)};
  ASSERT_EQ(Fetch(), kOk) << out_.str();
  EXPECT_THAT(out_.str(), HasSubstr("complete  1 item  "));
  EXPECT_THAT(out_.str(), HasSubstr("amd-crl"));
}

TEST_F(CollateralTest, RefusesOptionsThatCannotBeUsed) {
  const CollateralOptions good = options_;
  options_.certificates = {Write("text", "no certificate")};
  EXPECT_EQ(Fetch(), kUsage);
  options_ = good;
  options_.evidence = {folder_ + "/absent"};
  EXPECT_EQ(Fetch(), kUsage);
  options_.evidence = {Write("text", "no evidence")};
  EXPECT_EQ(Fetch(), kUsage);
  options_ = good;
  options_.kds_url = "kdsintf.amd.com";
  EXPECT_EQ(Fetch(), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("kds url \"kdsintf.amd.com\""));
  options_ = good;
  options_.extra_roots = {"abc"};
  EXPECT_EQ(Fetch(), kUsage);
  options_ = good;
  options_.cache = folder_ + "/no/such/parent";
  EXPECT_EQ(Fetch(/*json=*/true), kUsage);
  EXPECT_EQ(std::string_view(Json()["schema"]), "caravan.collateral/1");
}

}  // namespace
}  // namespace caravan::cli
