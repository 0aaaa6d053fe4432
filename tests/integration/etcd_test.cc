// SPDX-License-Identifier: Apache-2.0
//
// The store on a real etcd (Debian's etcd-server).
#include "tests/integration/etcd.h"

#include <signal.h>

#include <future>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/store/etcd_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "http/http.h"

namespace caravan::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class EtcdTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Etcd::Installed()) GTEST_SKIP() << "etcd-server is not installed";
    etcd_ = std::make_unique<Etcd>();
    store_ = Connect();
  }
  std::unique_ptr<store::Store> Connect() const {
    store::EtcdOptions options;
    options.endpoints = {etcd_->url()};
    options.lease = absl::Seconds(2);
    options.call_timeout = absl::Seconds(1);
    return *store::MakeEtcdStore(std::move(options));
  }
  static absl::Time In(int seconds) { return absl::Now() + absl::Seconds(seconds); }
  // Asks etcd itself.
  std::string Post(const std::string& path, const std::string& body) const {
    auto reply = http::Fetch({.url = etcd_->url() + path, .body = body}, In(10));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? reply->body : "";
  }
  std::string Value(const std::string& key) const {
    auto value = store_->Get(key, In(10), nullptr);
    return !value.ok() ? value.status().ToString() : value->value_or("nothing");
  }

  std::unique_ptr<Etcd> etcd_;
  std::unique_ptr<store::Store> store_;
};

TEST_F(EtcdTest, HoldsAKeyAsLongAsTheClaimLives) {
  EXPECT_EQ(Value("job/root"), "nothing");
  auto claim = store_->Hold("job/root", "10.0.0.1:7400", In(10), nullptr);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(Value("job/root"), "10.0.0.1:7400");
  // Longer than the lease: it is renewed.
  absl::SleepFor(absl::Milliseconds(3500));
  EXPECT_EQ(Value("job/root"), "10.0.0.1:7400");
  claim->reset();
  for (int i = 0; i < 50 && Value("job/root") != "nothing"; ++i) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(Value("job/root"), "nothing");
}

TEST_F(EtcdTest, WritesAKeyAnewThatTheStoreHasLost) {
  auto claim = store_->Hold("job/root", "here", In(10), nullptr);
  ASSERT_TRUE(claim.ok());
  // As after an outage that outlasts the lease.
  const std::string leases = Post("/v3/lease/leases", "{}");
  const size_t at = leases.find("\"ID\":\"") + 6;
  const std::string id = leases.substr(at, leases.find('"', at) - at);
  Post("/v3/lease/revoke", absl::StrCat("{\"ID\":\"", id, "\"}"));
  ASSERT_EQ(Value("job/root"), "nothing");
  for (int i = 0; i < 100 && Value("job/root") == "nothing"; ++i) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_EQ(Value("job/root"), "here");
}

TEST_F(EtcdTest, GivesAKeyToOneOnly) {
  auto first = store_->Hold("job/root", "first", In(10), nullptr);
  ASSERT_TRUE(first.ok());
  auto second = Connect();
  auto refused = second->Hold("job/root", "second", In(1), nullptr);
  EXPECT_TRUE(absl::IsDeadlineExceeded(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("is held by another: first"));
  auto waits = std::async(std::launch::async,
                          [&] { return second->Hold("job/root", "second", In(20), nullptr); });
  absl::SleepFor(absl::Milliseconds(300));
  first->reset();
  auto taken = waits.get();
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(Value("job/root"), "second");
}

TEST_F(EtcdTest, AnnouncesOverAnOlderAnnouncement) {
  auto first = store_->Announce("job/member/1", "before", In(10), nullptr);
  auto second = store_->Announce("job/member/1", "after", In(10), nullptr);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  first->reset();
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_EQ(Value("job/member/1"), "after");
}

TEST_F(EtcdTest, ListsByPrefix) {
  std::vector<std::unique_ptr<store::Claim>> claims;
  for (const char* key : {"job/rank/0", "job/rank/1", "job2/rank/0"}) {
    auto claim = store_->Hold(key, absl::StrCat("at ", key), In(10), nullptr);
    ASSERT_TRUE(claim.ok());
    claims.push_back(*std::move(claim));
  }
  auto all = store_->List("job/rank/", In(10), nullptr);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(
      *all, ElementsAre(Pair("job/rank/0", "at job/rank/0"), Pair("job/rank/1", "at job/rank/1")));
}

TEST_F(EtcdTest, OutlivesARestartOfTheStore) {
  auto claim = store_->Hold("job/root", "here", In(10), nullptr);
  ASSERT_TRUE(claim.ok());
  auto read = std::async(std::launch::async, [&] {
    absl::SleepFor(absl::Milliseconds(200));
    return Value("job/root");
  });
  etcd_->Restart();
  EXPECT_EQ(read.get(), "here");
  absl::SleepFor(absl::Seconds(3));
  EXPECT_EQ(Value("job/root"), "here");
}

TEST_F(EtcdTest, SaysWhenTheStoreHangs) {
  etcd_->process().Signal(SIGSTOP);
  auto value = store_->Get("job/root", In(2), nullptr);
  EXPECT_TRUE(absl::IsDeadlineExceeded(value.status())) << value.status();
  etcd_->process().Signal(SIGCONT);
}

}  // namespace
}  // namespace caravan::testing
