// SPDX-License-Identifier: Apache-2.0
#include "collateral/cached_source.h"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/verifier.h"
#include "collateral/gather.h"
#include "collateral/services_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::collateral {
namespace {

using attestation::CollateralItem;
using attestation::CollateralKind;
using attestation::CollateralRequest;
using attestation::IntelDates;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const CollateralRequest kInfo{CollateralKind::kIntelTcbInfo, "tdx/060606060606"};
const CollateralRequest kChain{CollateralKind::kAmdChain, "vcek/Milan"};

class SourceTest : public ::testing::Test {
 protected:
  SourceTest() {
    std::string folder = absl::StrCat(::testing::TempDir(), "/source-XXXXXX");
    folder_ = mkdtemp(folder.data());
    cache_ = *Cache::Open(folder_);
    options_.extra_roots = services_.roots();
  }

  absl::StatusOr<CollateralItem> Get(const CollateralRequest& request = kInfo) {
    Fetcher fetcher(services_.services(), clock_.MakeWorld(), {.attempts = 2});
    return CachedSource(cache_.get(), &fetcher, options_)
        .Get(request, {}, clock_.now() + absl::Minutes(1));
  }
  // What is kept from now on, and handed out as it came.
  std::string GetBody() {
    const auto item = Get();
    EXPECT_TRUE(item.ok()) << item.status();
    if (!item.ok()) return "";
    EXPECT_EQ(item->note, "");
    return item->body;
  }
  void ExpectKept(const std::string& body, const std::string& note) {
    const auto item = Get();
    ASSERT_TRUE(item.ok()) << item.status();
    EXPECT_EQ(item->body, body);
    EXPECT_THAT(item->note, HasSubstr("the copy fetched at 2026-05-28T20:26:40+00:00 is used"));
    EXPECT_THAT(item->note, HasSubstr(note));
  }
  void ExpectFails(absl::StatusCode code, const std::string& why) {
    const auto item = Get();
    EXPECT_EQ(item.status().code(), code) << item.status();
    EXPECT_THAT(std::string(item.status().message()), HasSubstr("tcb-info tdx/060606060606: "));
    EXPECT_THAT(std::string(item.status().message()), HasSubstr(why));
  }
  void Publish(absl::Duration issued_ago, absl::Duration holds_for, int number = 18) {
    services_.Publish(kInfo, services_.intel.TcbInfo(
                                 {clock_.now() - issued_ago, clock_.now() + holds_for, number}));
  }
  void Pass(absl::Duration time) { clock_.Set(clock_.now() + time); }

  ServicesForTest services_;
  ClockForTest clock_{services_.intel.now};
  std::string folder_;
  std::unique_ptr<Cache> cache_;
  SourceOptions options_;
};

TEST_F(SourceTest, AsksOnceAndThenTheCache) {
  const std::string body = GetBody();
  EXPECT_EQ(services_.asked().size(), 1u);
  Pass(absl::Hours(23));
  EXPECT_EQ(GetBody(), body);
  EXPECT_EQ(services_.asked().size(), 1u);
}

TEST_F(SourceTest, FetchesAgainWhatIsOlderThanTheIntervalThoughItHolds) {
  const std::string body = GetBody();
  Pass(absl::Hours(24));
  Publish(absl::Hours(1), absl::Hours(48), 19);
  EXPECT_NE(GetBody(), body);
  EXPECT_EQ(services_.asked().size(), 2u);
}

TEST_F(SourceTest, KeepsCertificatesUntilTheyEnd) {
  ASSERT_TRUE(Get(kChain).ok());
  Pass(absl::Hours(24 * 3000));
  ASSERT_TRUE(Get(kChain).ok());
  EXPECT_EQ(services_.asked().size(), 1u);
  Pass(absl::Hours(24 * 1000));
  EXPECT_FALSE(Get(kChain).ok()) << "the service still has the one that ended";
}

TEST_F(SourceTest, FetchesAgainWhatExpired) {
  Publish(absl::Hours(1), absl::Hours(2));
  const std::string body = GetBody();
  Pass(absl::Hours(3));
  Publish(absl::Hours(1), absl::Hours(2));
  EXPECT_NE(GetBody(), body);
}

TEST_F(SourceTest, FetchesAgainAfterTheClockWentBack) {
  const std::string body = GetBody();
  Pass(-absl::Hours(2));
  EXPECT_EQ(GetBody(), body);
  EXPECT_EQ(services_.asked().size(), 2u);
}

// What may go wrong with a service, and what is then said.
struct Trouble {
  const char* name;
  std::function<void(ServicesForTest&, absl::Time now)> make;
  absl::StatusCode code;
  const char* why;
};

class SourceTrouble : public SourceTest, public ::testing::WithParamInterface<Trouble> {};

TEST_P(SourceTrouble, UsesACopyThatHoldsAndSaysSo) {
  const std::string body = GetBody();
  Pass(absl::Hours(25));
  GetParam().make(services_, clock_.now());
  ExpectKept(body, GetParam().why);
}

TEST_P(SourceTrouble, RefusesACopyThatExpiredAndSaysSinceWhen) {
  Publish(absl::Hours(24), absl::Hours(26));
  (void)GetBody();
  Pass(absl::Hours(29));
  GetParam().make(services_, clock_.now());
  ExpectFails(GetParam().code, GetParam().why);
  ExpectFails(GetParam().code, "the copy in the cache expired at 2026-05-29T22:26:40+00:00, 3h");
}

TEST_P(SourceTrouble, LeavesNothingInAnEmptyCache) {
  Pass(absl::Hours(29));
  GetParam().make(services_, clock_.now());
  if (GetParam().code == absl::StatusCode::kUnauthenticated &&
      std::string(GetParam().why).find("played back") != std::string::npos) {
    EXPECT_TRUE(Get().ok()) << "nothing is older than nothing";
    return;
  }
  ExpectFails(GetParam().code, GetParam().why);
  EXPECT_THAT(*cache_->List(), IsEmpty());
}

const Trouble kTroubles[] = {
    {"Outage", [](auto& s, auto) { s.AnswerAll(AnswerForTest(503)); },
     absl::StatusCode::kUnavailable, "answered 503 (tried 2 times)"},
    {"TooManyRequests",
     [](auto& s, auto) { s.AnswerAll(AnswerForTest(429, {"Retry-After: 600"})); },
     absl::StatusCode::kResourceExhausted, "asked not to be asked before"},
    {"BreaksOff",
     [](auto& s, auto) { s.AnswerAll("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"); },
     absl::StatusCode::kUnavailable, "tried 2 times"},
    {"NotFound", [](auto& s, auto) { s.AnswerAll(AnswerForTest(404)); },
     absl::StatusCode::kNotFound, "answered 404"},
    {"WrongBody", [](auto& s, auto) { s.AnswerAll(AnswerForTest(200, {}, "<html>log in</html>")); },
     absl::StatusCode::kUnauthenticated, "tcb-info tdx/060606060606"},
    {"HugeBody",
     [](auto& s, auto) { s.AnswerAll(AnswerForTest(200, {}, std::string(2 << 20, 'x'))); },
     absl::StatusCode::kResourceExhausted, "larger than"},
    {"AnotherKey",
     [](auto& s, absl::Time now) {
       s.intel.world.document_key = s.intel.world.pck_key.get();
       s.Publish(kInfo, s.intel.TcbInfo({now, now + absl::Hours(9), 19}));
     },
     absl::StatusCode::kUnauthenticated, "no TCB signing certificate"},
    {"StaleBody",
     [](auto& s, absl::Time now) {
       s.Publish(kInfo, s.intel.TcbInfo({now - absl::Hours(9), now - absl::Hours(8), 19}));
     },
     absl::StatusCode::kUnauthenticated, "what came expired at"},
    {"BodyOfTheFuture",
     [](auto& s, absl::Time now) {
       s.Publish(kInfo, s.intel.TcbInfo({now + absl::Hours(1), now + absl::Hours(9), 19}));
     },
     absl::StatusCode::kUnauthenticated, "what came holds only from"},
    {"OlderBody",
     [](auto& s, absl::Time now) {
       s.Publish(kInfo, s.intel.TcbInfo({now - absl::Hours(72), now + absl::Hours(99), 18}));
     },
     absl::StatusCode::kUnauthenticated, "old collateral is played back"},
    {"LowerEvaluationNumber",
     [](auto& s, absl::Time now) {
       s.Publish(kInfo, s.intel.TcbInfo({now, now + absl::Hours(99), 17}));
     },
     absl::StatusCode::kUnauthenticated, "old collateral is played back"},
};

INSTANTIATE_TEST_SUITE_P(Each, SourceTrouble, ::testing::ValuesIn(kTroubles),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(SourceTest, OfflineAsksNobody) {
  options_.offline = true;
  ExpectFails(absl::StatusCode::kNotFound, "offline, and not in the cache");
  options_.offline = false;
  const std::string body = GetBody();
  options_.offline = true;
  services_.ForgetAsked();
  EXPECT_EQ(GetBody(), body);
  Pass(absl::Hours(48));
  ExpectKept(body, "offline");
  Pass(absl::Hours(24 * 40));
  ExpectFails(absl::StatusCode::kNotFound, "offline; the copy in the cache expired at");
  EXPECT_THAT(services_.asked(), IsEmpty());
}

TEST_F(SourceTest, NamesACorruptedFileAndFetchesItAgain) {
  const std::string body = GetBody();
  const std::string file = absl::StrCat(folder_, "/", (*cache_->List())[0].files[0]);
  std::ofstream(file, std::ios::trunc) << "{}";
  services_.AnswerAll(AnswerForTest(503));
  ExpectFails(absl::StatusCode::kUnavailable, file + " is corrupted");
  services_.PublishAll();
  const auto item = Get();
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(item->note, absl::StrCat("fetched again: ", file, " is corrupted"));
  EXPECT_EQ(GetBody().size(), body.size());
}

TEST_F(SourceTest, LetsNothingOlderTakeACorruptedFilesPlace) {
  (void)GetBody();
  const std::string file = absl::StrCat(folder_, "/", (*cache_->List())[0].files[0]);
  std::ofstream(file, std::ios::trunc) << "{}";
  Publish(absl::Hours(24 * 9), absl::Hours(24));
  ExpectFails(absl::StatusCode::kUnauthenticated, "old collateral is played back");
}

TEST_F(SourceTest, HandsOutWhatItCannotKeep) {
  cache_ = *Cache::Open(folder_, {.items = 10, .bytes = 100});
  const auto item = Get();
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_THAT(item->note, HasSubstr("fetched, but not kept"));
}

TEST_F(SourceTest, FetchesOnceForAllWhoAskAtOnce) {
  std::vector<std::thread> threads;
  std::vector<absl::Status> statuses(8);
  for (absl::Status& status : statuses) {
    threads.emplace_back([this, &status] { status = Get().status(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(services_.asked().size(), 1u);
}

TEST_F(SourceTest, EndsByTheDeadlineWhileAnotherFetches) {
  const auto lock = cache_->TryLock(kInfo);
  ASSERT_TRUE(lock.ok());
  ExpectFails(absl::StatusCode::kDeadlineExceeded, "is being fetched by another process");
}

class GatherTest : public SourceTest {
 protected:
  Gathered GatherFor(const attestation::EvidenceSet& evidence) {
    Fetcher fetcher(services_.services(), clock_.MakeWorld(), {.attempts = 2});
    CachedSource source(cache_.get(), &fetcher, options_);
    auto gathered = Gather(evidence, source, clock_.now() + absl::Minutes(2));
    EXPECT_TRUE(gathered.ok()) << gathered.status();
    return gathered.ok() ? *std::move(gathered) : Gathered{};
  }
};

TEST_F(GatherTest, BringsAllThatAVerifierNeeds) {
  const Gathered snp = GatherFor(services_.amd.Evidence());
  for (const auto& part : snp.parts) EXPECT_TRUE(part.status.ok()) << part.status;
  EXPECT_TRUE(snp.complete());
  const Gathered tdx = GatherFor(services_.intel.Evidence());
  for (const auto& part : tdx.parts) EXPECT_TRUE(part.status.ok()) << part.status;
  EXPECT_TRUE(tdx.complete());
  // With the roots for genuine, nothing is missing.
  const attestation::Appraisal appraisal = attestation::Verify(
      services_.intel.Evidence(), tdx.endorsements, services_.intel.world.policy,
      services_.intel.world.expected, services_.intel.now);
  for (const attestation::Check& check : appraisal.checks) {
    EXPECT_NE(check.outcome, attestation::Outcome::kMissing) << check.id << ": " << check.detail;
  }
}

TEST_F(GatherTest, FindsTheProductOfAVersion2Report) {
  services_.amd.world.report.version = 2;
  services_.amd.world.report.cpuid_family = services_.amd.world.report.cpuid_model = 0;
  const Gathered gathered = GatherFor(services_.amd.Evidence());
  EXPECT_TRUE(gathered.complete());
  ASSERT_EQ(gathered.parts.size(), 3u) << "the chain, the certificate and the list of Milan";
  for (const auto& part : gathered.parts) {
    EXPECT_THAT(part.request.ToString(), Not(HasSubstr("vcek/Genoa")));
  }
}

TEST_F(GatherTest, GoesOnAfterAnItemThatIsNotToBeHad) {
  services_.Answer("/vcek/v1/Milan/crl", {AnswerForTest(404)});
  const Gathered gathered = GatherFor(services_.amd.Evidence());
  EXPECT_FALSE(gathered.complete());
  ASSERT_EQ(gathered.parts.size(), 3u);
  for (const auto& part : gathered.parts) {
    const bool list = part.request.kind == CollateralKind::kAmdCrl;
    EXPECT_EQ(part.status.ok(), !list) << part.status;
  }
}

}  // namespace
}  // namespace caravan::collateral
