// SPDX-License-Identifier: Apache-2.0
#include "collateral/fetcher.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collateral/cache.h"
#include "collateral/services_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::collateral {
namespace {

using attestation::CollateralItem;
using attestation::CollateralKind;
using attestation::CollateralRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const CollateralRequest kCrl{CollateralKind::kAmdCrl, "vcek/Milan"};
const CollateralRequest kInfo{CollateralKind::kIntelTcbInfo, "tdx/060606060606"};
constexpr char kCrlPath[] = "/vcek/v1/Milan/crl";

class FetcherTest : public ::testing::Test {
 protected:
  absl::StatusOr<CollateralItem> Fetch(const CollateralRequest& request,
                                       absl::Duration patience = absl::Minutes(5)) {
    return fetcher_->Fetch(request, clock_.now() + patience);
  }
  void ExpectFails(absl::StatusCode code, const std::string& why,
                   absl::Duration patience = absl::Minutes(5)) {
    const auto item = Fetch(kCrl, patience);
    EXPECT_EQ(item.status().code(), code) << item.status();
    EXPECT_THAT(std::string(item.status().message()), HasSubstr(why));
  }

  ServicesForTest services_;
  ClockForTest clock_{services_.amd.now};
  std::unique_ptr<Fetcher> fetcher_ =
      std::make_unique<Fetcher>(services_.services(), clock_.MakeWorld());
};

TEST_F(FetcherTest, AsksForEachKindAtItsPlace) {
  services_.AnswerAll(AnswerForTest(404));
  const std::vector<std::pair<CollateralRequest, std::string>> places = {
      {{CollateralKind::kAmdVcek, "Turin/5a5a?blSPL=04&teeSPL=01&snpSPL=24&ucodeSPL=209&fmcSPL=01"},
       "GET /vcek/v1/Turin/5a5a?blSPL=04&teeSPL=01&snpSPL=24&ucodeSPL=209&fmcSPL=01"},
      {{CollateralKind::kAmdChain, "vlek/Genoa"}, "GET /vlek/v1/Genoa/cert_chain"},
      {{CollateralKind::kAmdCrl, "vcek/Milan"}, "GET /vcek/v1/Milan/crl"},
      {kInfo, "GET /tdx/certification/v4/tcb?fmspc=060606060606"},
      {{CollateralKind::kIntelQeIdentity, "sgx"}, "GET /sgx/certification/v4/qe/identity"},
      {{CollateralKind::kIntelPckCrl, "platform"},
       "GET /sgx/certification/v4/pckcrl?ca=platform&encoding=der"},
      {{CollateralKind::kIntelRootCrl, "root"}, "GET /sgx/certification/v4/rootcacrl"},
      {{CollateralKind::kNvidiaRim, "NV_GPU_DRIVER_GH100_550.90.07"},
       "GET /NV_GPU_DRIVER_GH100_550.90.07"},
      {{CollateralKind::kOcsp, "00", "0\x01"}, "POST "},
  };
  for (const auto& [request, line] : places) {
    services_.ForgetAsked();
    EXPECT_TRUE(absl::IsNotFound(Fetch(request).status())) << request.ToString();
    ASSERT_EQ(services_.asked().size(), 1u) << request.ToString();
    EXPECT_THAT(services_.asked()[0], HasSubstr(line));
  }
}

TEST(Services, HaveIntelsRootListAtItsOwnPlace) {
  const CollateralRequest request{CollateralKind::kIntelRootCrl, "root"};
  EXPECT_EQ(CallsFor(request, Services{})[0].request.url,
            "https://certificates.trustedservices.intel.com/IntelSGXRootCA.der");
  Services pccs;
  pccs.pcs = "https://pccs.example:8081";
  EXPECT_EQ(CallsFor(request, pccs)[0].request.url,
            "https://pccs.example:8081/sgx/certification/v4/rootcacrl");
  pccs.root_crl = "https://mirror.example/root.der";
  EXPECT_EQ(CallsFor(request, pccs)[0].request.url, "https://mirror.example/root.der");
}

TEST(Services, RefuseWhatIsNoAddress) {
  EXPECT_TRUE(CheckServices(Services{}).ok());
  for (const char* url : {"", "kdsintf.amd.com", "file:///etc", "https://kdsintf.amd.com/"}) {
    Services services;
    services.kds = url;
    const absl::Status status = CheckServices(services);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << url;
    EXPECT_THAT(std::string(status.message()), HasSubstr("kds url"));
  }
}

TEST_F(FetcherTest, BringsTheChainOutOfTheHeader) {
  const auto item = Fetch(kInfo);
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_THAT(item->body, HasSubstr("{\"tcbInfo\":{\"id\":\"TDX\""));
  EXPECT_THAT(item->issuer_chain, HasSubstr("-----BEGIN CERTIFICATE-----\n"));
  EXPECT_EQ(item->fetched, clock_.now());
  EXPECT_THAT(item->url, HasSubstr("/tdx/certification/v4/tcb?fmspc=060606060606"));
}

TEST_F(FetcherTest, TriesEachProductOfAVersion2Report) {
  const std::string rest = "5a?blSPL=01&teeSPL=00&snpSPL=08&ucodeSPL=115";
  services_.Answer("/vcek/v1/Genoa/" + rest, {AnswerForTest(200, {}, "der")});
  const auto item = Fetch({CollateralKind::kAmdVcek, "Milan,Genoa/" + rest});
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(item->body, "der");
  EXPECT_THAT(services_.asked(),
              ElementsAre("GET /vcek/v1/Milan/" + rest, "GET /vcek/v1/Genoa/" + rest));
}

TEST_F(FetcherTest, WaitsAsLongAsTheServiceAsksFor) {
  const std::string list = services_.amd.CrlNow().body;
  services_.Answer(
      kCrlPath, {AnswerForTest(429, {"Retry-After: 17"}), AnswerForTest(503, {"Retry-After: 40"}),
                 AnswerForTest(200, {}, list)});
  const auto item = Fetch(kCrl);
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(item->body, list);
  EXPECT_THAT(clock_.slept(), ElementsAre(absl::Seconds(17), absl::Seconds(40)));
}

TEST_F(FetcherTest, WaitsUntilTheDateThatTheServiceNames) {
  const std::string date = absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT",
                                            clock_.now() + absl::Seconds(90), absl::UTCTimeZone());
  services_.Answer(kCrlPath, {AnswerForTest(429, {absl::StrCat("Retry-After: ", date)}),
                              AnswerForTest(200, {}, "list")});
  ASSERT_TRUE(Fetch(kCrl).ok());
  EXPECT_THAT(clock_.slept(), ElementsAre(absl::Seconds(90)));
}

TEST_F(FetcherTest, GivesUpAtOnceWhenAskedForMorePatienceThanThereIs) {
  services_.AnswerAll(AnswerForTest(429, {"Retry-After: 3600"}));
  ExpectFails(absl::StatusCode::kResourceExhausted, "asked not to be asked before");
  EXPECT_THAT(clock_.slept(), IsEmpty());
  // Nor is it asked for anything else until then.
  services_.ForgetAsked();
  EXPECT_TRUE(absl::IsResourceExhausted(Fetch(kInfo).status()));
  EXPECT_THAT(services_.asked(), IsEmpty());
  clock_.Set(clock_.now() + absl::Hours(1));
  services_.PublishAll();
  EXPECT_TRUE(Fetch(kInfo).ok());
}

TEST_F(FetcherTest, BacksOffByTwiceAndByChance) {
  services_.AnswerAll(AnswerForTest(429));
  ExpectFails(absl::StatusCode::kResourceExhausted,
              "answered 429: asked too often (tried 6 times)");
  EXPECT_THAT(clock_.slept(), ElementsAre(absl::Milliseconds(750), absl::Milliseconds(1500),
                                          absl::Seconds(3), absl::Seconds(6), absl::Seconds(12)));
  for (const auto& [random, first] : {std::pair(0.0, 500), std::pair(0.999, 999)}) {
    clock_.ForgetSleeps();
    Fetcher other(services_.services(), clock_.MakeWorld(random));
    (void)other.Fetch(kCrl, clock_.now() + absl::Minutes(5));
    EXPECT_EQ(absl::ToInt64Milliseconds(clock_.slept()[0]), first);
  }
}

TEST_F(FetcherTest, NeverWaitsLongerThanItsLongest) {
  services_.AnswerAll(AnswerForTest(503));
  Fetcher patient(services_.services(), clock_.MakeWorld(0.999),
                  {.attempts = 12, .longest = absl::Seconds(8)});
  (void)patient.Fetch(kCrl, clock_.now() + absl::Hours(1));
  ASSERT_EQ(clock_.slept().size(), 11u);
  for (absl::Duration slept : clock_.slept()) EXPECT_LE(slept, absl::Seconds(8));
}

TEST_F(FetcherTest, EndsAtTheDeadline) {
  services_.AnswerAll(AnswerForTest(503));
  const absl::Time begun = clock_.now();
  ExpectFails(absl::StatusCode::kUnavailable, "no time is left for another try", absl::Seconds(4));
  EXPECT_LT(clock_.now(), begun + absl::Seconds(4));
  ExpectFails(absl::StatusCode::kDeadlineExceeded, "no time left", absl::ZeroDuration());
}

TEST_F(FetcherTest, LeavesASlowServiceByTheDeadline) {
  services_.AnswerLate(absl::Milliseconds(400));
  const absl::Time begun = clock_.now();
  ExpectFails(absl::StatusCode::kDeadlineExceeded, kCrlPath, absl::Seconds(20));
  EXPECT_LE(clock_.now(), begun + absl::Seconds(20));
}

TEST_F(FetcherTest, TriesAgainAfterAnAnswerThatBrokeOff) {
  services_.Answer(kCrlPath, {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this much", "",
                              AnswerForTest(200, {}, "whole")});
  const auto item = Fetch(kCrl);
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(item->body, "whole");
  EXPECT_EQ(clock_.slept().size(), 2u);
}

TEST_F(FetcherTest, SaysWhenNobodyIsThere) {
  Services nobody;
  nobody.kds = "http://127.0.0.1:1";
  Fetcher fetcher(nobody, clock_.MakeWorld(), {.attempts = 3});
  const auto item = fetcher.Fetch(kCrl, clock_.now() + absl::Minutes(1));
  EXPECT_TRUE(absl::IsUnavailable(item.status())) << item.status();
  EXPECT_THAT(std::string(item.status().message()), HasSubstr("tried 3 times"));
}

struct Refusal {
  int code;
  absl::StatusCode status;
};

class FetcherRefusal : public FetcherTest, public ::testing::WithParamInterface<Refusal> {};

TEST_P(FetcherRefusal, IsNotTriedAgain) {
  services_.AnswerAll(AnswerForTest(GetParam().code));
  ExpectFails(GetParam().status, absl::StrCat("answered ", GetParam().code));
  EXPECT_THAT(clock_.slept(), IsEmpty());
  EXPECT_EQ(services_.asked().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Codes, FetcherRefusal,
                         ::testing::Values(Refusal{404, absl::StatusCode::kNotFound},
                                           Refusal{410, absl::StatusCode::kNotFound},
                                           Refusal{401, absl::StatusCode::kPermissionDenied},
                                           Refusal{403, absl::StatusCode::kPermissionDenied},
                                           Refusal{400, absl::StatusCode::kFailedPrecondition},
                                           Refusal{302, absl::StatusCode::kFailedPrecondition},
                                           Refusal{204, absl::StatusCode::kFailedPrecondition}));

TEST_F(FetcherTest, TakesNoAnswerThatIsTooLargeOrEmptyOrHasABrokenChain) {
  services_.Answer(kCrlPath, {AnswerForTest(200, {}, std::string(kMaxItemBytes + 1, 'x'))});
  ExpectFails(absl::StatusCode::kResourceExhausted, "larger than");
  services_.Answer(kCrlPath, {AnswerForTest(200)});
  ExpectFails(absl::StatusCode::kInvalidArgument, "the answer is empty");
  EXPECT_THAT(clock_.slept(), IsEmpty());
  services_.Answer(ServicesForTest::PathOf(kInfo),
                   {AnswerForTest(200, {"TCB-Info-Issuer-Chain: %2"}, "{}")});
  EXPECT_TRUE(absl::IsInvalidArgument(Fetch(kInfo).status()));
}

}  // namespace
}  // namespace caravan::collateral
