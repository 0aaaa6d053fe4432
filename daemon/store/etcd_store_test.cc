// SPDX-License-Identifier: Apache-2.0
//
// Against a server that misbehaves; tests/integration/etcd_test.cc runs the real etcd.
#include "daemon/store/etcd_store.h"

#include <atomic>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "http/http_server_testing.h"

namespace caravan::store {
namespace {

using http::ServerForTest;
using ::testing::HasSubstr;

absl::Time In(int milliseconds) { return absl::Now() + absl::Milliseconds(milliseconds); }

std::unique_ptr<Store> StoreAt(std::vector<std::string> endpoints) {
  EtcdOptions options;
  options.endpoints = std::move(endpoints);
  options.call_timeout = absl::Milliseconds(300);
  return *MakeEtcdStore(std::move(options));
}

std::string Refusal(int http_code, const std::string& body) {
  return absl::StrCat("HTTP/1.1 ", http_code, " No\r\nContent-Length: ", body.size(), "\r\n\r\n",
                      body);
}

TEST(EtcdStore, SpeaksTheGatewaysJson) {
  std::string request;
  ServerForTest server([&](const std::string& text) {
    request = text;
    return ServerForTest::Ok(
        R"({"header":{"revision":"7"},"kvs":[{"key":"Y2FyYXZhbi9h","create_revision":"5",)"
        R"("version":"1","value":"dGhlcmU=","lease":"77"}],"count":"1"})");
  });
  auto store = StoreAt({server.url("/")});
  auto value = store->Get("a", In(5000), nullptr);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, "there");
  EXPECT_THAT(request, HasSubstr("POST /v3/kv/range HTTP"));
  EXPECT_THAT(request, HasSubstr(R"("key":"Y2FyYXZhbi9h")"));  // "caravan/a"
}

TEST(EtcdStore, TakesAnAbsentKeyForNothing) {
  ServerForTest server([](const std::string&) { return ServerForTest::Ok("{\"header\":{}}"); });
  auto value = StoreAt({server.url("")})->Get("a", In(5000), nullptr);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_FALSE(value->has_value());
}

TEST(EtcdStore, TriesAgainWhileTheServerIsAway) {
  std::atomic<int> calls{0};
  ServerForTest server([&](const std::string&) {
    const int call = ++calls;
    if (call == 1) return std::string();  // breaks off
    if (call == 2) return Refusal(503, R"({"error":"etcdserver: no leader","code":14})");
    return ServerForTest::Ok("{}");
  });
  EXPECT_TRUE(StoreAt({server.url("")})->Get("a", In(5000), nullptr).ok());
  EXPECT_EQ(calls, 3);
}

TEST(EtcdStore, GoesOnToTheNextEndpoint) {
  ServerForTest server([](const std::string&) { return ServerForTest::Ok("{}"); });
  EXPECT_TRUE(StoreAt({"http://127.0.0.1:1", server.url("")})->Get("a", In(5000), nullptr).ok());
  EXPECT_EQ(server.requests(), 1);
}

TEST(EtcdStore, GoesOnFromAnEndpointThatAnswersGarbage) {
  ServerForTest garbage([](const std::string&) { return ServerForTest::Ok("<html>"); });
  ServerForTest good([](const std::string&) { return ServerForTest::Ok("{}"); });
  auto store = StoreAt({garbage.url(""), good.url("")});
  EXPECT_TRUE(store->Get("a", In(5000), nullptr).ok());
  EXPECT_TRUE(store->Get("a", In(5000), nullptr).ok());
  EXPECT_EQ(garbage.requests(), 1);  // the good one is asked first from then on
}

TEST(EtcdStore, ShowsLittleOfWhatAStoreSaysAndEscapesIt) {
  ServerForTest server([](const std::string&) {
    return Refusal(403, R"({"error":"\u001b[2J)" + std::string(5000, 'x') + R"(","code":7})");
  });
  auto value = StoreAt({server.url("")})->Get("a", In(5000), nullptr);
  const std::string message(value.status().message());
  EXPECT_THAT(message, HasSubstr("\\x1b[2Jxxx"));
  EXPECT_LT(message.size(), 500u);
}

TEST(EtcdStore, NamesTheLastReasonAtTheDeadline) {
  ServerForTest server([](const std::string&) {
    return Refusal(503, R"({"error":"etcdserver: no leader","code":14})");
  });
  auto value = StoreAt({server.url("")})->Get("a", In(300), nullptr);
  EXPECT_TRUE(absl::IsDeadlineExceeded(value.status())) << value.status();
  EXPECT_THAT(std::string(value.status().message()), HasSubstr("etcdserver: no leader"));
}

TEST(EtcdStore, DoesNotRepeatWhatIsRefused) {
  ServerForTest server([](const std::string&) {
    return Refusal(403, R"({"error":"etcdserver: permission denied","code":7})");
  });
  auto value = StoreAt({server.url("")})->Get("a", In(5000), nullptr);
  EXPECT_EQ(value.status().code(), absl::StatusCode::kPermissionDenied) << value.status();
  EXPECT_EQ(server.requests(), 1);
}

class Garbage : public ::testing::TestWithParam<const char*> {};

TEST_P(Garbage, IsAnErrorAndNoCrash) {
  ServerForTest server([](const std::string&) { return ServerForTest::Ok(GetParam()); });
  auto store = StoreAt({server.url("")});
  EXPECT_TRUE(absl::IsInternal(store->Get("a", In(5000), nullptr).status()));
  EXPECT_FALSE(store->Hold("a", "b", In(500), nullptr).ok());
  EXPECT_FALSE(store->List("a", In(500), nullptr).ok());
}

INSTANTIATE_TEST_SUITE_P(Bodies, Garbage,
                         ::testing::Values("", "<html>", "[]", R"({"kvs":7})",
                                           R"({"kvs":[{"key":"***"}]})"));

TEST(EtcdStore, EndsWhenCancelled) {
  std::atomic<bool> cancelled{false};
  ServerForTest server([&](const std::string&) {
    cancelled = true;
    return Refusal(503, "");
  });
  auto value = StoreAt({server.url("")})->Get("a", In(60000), [&] { return cancelled.load(); });
  EXPECT_TRUE(absl::IsCancelled(value.status())) << value.status();
}

TEST(EtcdStore, RefusesOptionsByName) {
  auto why = [](EtcdOptions options) {
    return std::string(MakeEtcdStore(std::move(options)).status().message());
  };
  EXPECT_THAT(why({}), HasSubstr("endpoints: at least one"));
  EtcdOptions options;
  options.endpoints = {"10.0.0.1:2379"};
  EXPECT_THAT(why(options), HasSubstr("\"10.0.0.1:2379\" does not begin with http://"));
  options.endpoints = {"http://10.0.0.1:2379"};
  options.lease = absl::Seconds(1);
  EXPECT_THAT(why(options), HasSubstr("lease: 1s is not between 2 s and 1 h"));
}

TEST(EtcdStore, BoundsKeysAndValues) {
  auto store = StoreAt({"http://127.0.0.1:1"});
  EXPECT_TRUE(absl::IsInvalidArgument(store->Get("", In(100), nullptr).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      store->Get(std::string(kMaxKey + 1, 'k'), In(100), nullptr).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      store->Hold("k", std::string(kMaxValue + 1, 'v'), In(100), nullptr).status()));
}

}  // namespace
}  // namespace caravan::store
