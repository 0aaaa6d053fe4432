// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/root_finder.h"

#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A store in memory: a key is free again when its claim goes.
class MemoryStore final : public store::Store {
 public:
  absl::StatusOr<std::unique_ptr<store::Claim>> Hold(const std::string& key,
                                                     const std::string& value, absl::Time,
                                                     const Cancelled&) override {
    if (values_.count(key) > 0) return absl::DeadlineExceededError("held by another");
    return Announce(key, value, absl::InfiniteFuture(), nullptr);
  }
  absl::StatusOr<std::unique_ptr<store::Claim>> Announce(const std::string& key,
                                                         const std::string& value, absl::Time,
                                                         const Cancelled&) override {
    std::lock_guard<std::mutex> lock(mutex_);
    values_[key] = value;
    return std::make_unique<Entry>(this, key);
  }
  absl::StatusOr<std::optional<std::string>> Get(const std::string& key, absl::Time,
                                                 const Cancelled&) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!down.ok()) return down;
    const auto found = values_.find(key);
    if (found == values_.end()) return std::optional<std::string>();
    return std::optional<std::string>(found->second);
  }
  absl::StatusOr<std::map<std::string, std::string>> List(const std::string& prefix, absl::Time,
                                                          const Cancelled&) override {
    std::lock_guard<std::mutex> lock(mutex_);
    std::map<std::string, std::string> all;
    for (const auto& [key, value] : values_) {
      if (absl::StartsWith(key, prefix)) all[key] = value;
    }
    return all;
  }
  std::string Describe() const override { return "a store in memory"; }

  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    for (const auto& [key, value] : values_) keys.push_back(key);
    return keys;
  }
  absl::Status down;

 private:
  struct Entry final : store::Claim {
    Entry(MemoryStore* store, std::string key) : store(store), key(std::move(key)) {}
    ~Entry() override {
      std::lock_guard<std::mutex> lock(store->mutex_);
      store->values_.erase(key);
    }
    MemoryStore* store;
    std::string key;
  };
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
};

class RootFinderTest : public ::testing::Test {
 protected:
  std::unique_ptr<store::Claim> Enter(uint32_t rank, const std::string& address) {
    auto claim = finder_.Enter("job", rank, address, Soon(), cancellation_);
    EXPECT_TRUE(claim.ok()) << claim.status();
    return claim.ok() ? *std::move(claim) : nullptr;
  }
  // Joins at `good` only; everywhere else nobody is there.
  absl::StatusOr<std::string> JoinAt(const std::string& good, absl::Time deadline) {
    return finder_.JoinRoot("job", deadline, cancellation_,
                            [&](const std::string& address) -> absl::StatusOr<std::string> {
                              tried_.push_back(address);
                              if (address == good) return "joined at " + address;
                              return absl::UnavailableError("nobody at " + address);
                            });
  }
  static absl::Time Soon() { return absl::Now() + absl::Seconds(20); }

  MemoryStore store_;
  RootFinder finder_{&store_};
  membership::Cancellation cancellation_;
  std::vector<std::string> tried_;
};

TEST_F(RootFinderTest, FindsTheRootThatEntered) {
  auto claim = Enter(0, "10.0.0.1:7400");
  auto joined = JoinAt("10.0.0.1:7400", Soon());
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(*joined, "joined at 10.0.0.1:7400");
}

TEST_F(RootFinderTest, WaitsForTheRoot) {
  std::unique_ptr<store::Claim> claim;
  std::thread root([&] {
    absl::SleepFor(absl::Milliseconds(300));
    claim = Enter(0, "10.0.0.1:7400");
  });
  EXPECT_TRUE(JoinAt("10.0.0.1:7400", Soon()).ok());
  root.join();
}

TEST_F(RootFinderTest, FollowsARootThatMoved) {
  auto dead = Enter(0, "10.0.0.1:7400");
  std::unique_ptr<store::Claim> alive;
  std::thread successor([&] {
    absl::SleepFor(absl::Milliseconds(300));
    dead.reset();
    alive = Enter(0, "10.0.0.2:7400");
  });
  EXPECT_TRUE(JoinAt("10.0.0.2:7400", Soon()).ok());
  successor.join();
  ASSERT_GE(tried_.size(), 2u);
  EXPECT_EQ(tried_.front(), "10.0.0.1:7400");
}

TEST_F(RootFinderTest, GivesUpAtTheDeadlineWithTheReason) {
  auto none = JoinAt("10.0.0.1:7400", absl::Now() + absl::Milliseconds(300));
  EXPECT_TRUE(absl::IsDeadlineExceeded(none.status())) << none.status();
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("a store in memory knows no root of communicator \"job\""));
  auto claim = Enter(0, "10.0.0.9:7400");
  auto away = JoinAt("10.0.0.1:7400", absl::Now() + absl::Milliseconds(300));
  EXPECT_TRUE(absl::IsUnavailable(away.status())) << away.status();
}

TEST_F(RootFinderTest, DoesNotRepeatARefusal) {
  auto claim = Enter(0, "10.0.0.1:7400");
  int calls = 0;
  auto refused = finder_.JoinRoot("job", Soon(), cancellation_,
                                  [&](const std::string&) -> absl::StatusOr<int> {
                                    ++calls;
                                    return absl::PermissionDeniedError("[SNP_MEASUREMENT]");
                                  });
  EXPECT_TRUE(absl::IsPermissionDenied(refused.status()));
  EXPECT_EQ(calls, 1);
}

TEST_F(RootFinderTest, EndsWithTheApplication) {
  cancellation_.Cancel(absl::AbortedError("the application has ended"));
  EXPECT_TRUE(absl::IsAborted(JoinAt("10.0.0.1:7400", Soon()).status()));
}

TEST_F(RootFinderTest, HandsOnWhyTheStoreIsAway) {
  store_.down = absl::DeadlineExceededError("no answer in time");
  EXPECT_EQ(JoinAt("10.0.0.1:7400", Soon()).status(), store_.down);
}

TEST_F(RootFinderTest, NamesTheMembersThatEntered) {
  EXPECT_EQ(finder_.DescribeMembers("job"), "a store in memory knows no other rank");
  auto one = Enter(2, "10.0.0.3:7400");
  EXPECT_EQ(finder_.DescribeMembers("job"), "a store in memory knows rank 2 (10.0.0.3:7400)");
}

TEST_F(RootFinderTest, KeepsCommunicatorsApartWhateverTheirNames) {
  auto one = finder_.Enter("a/member", 0, "x", Soon(), cancellation_);
  auto two = finder_.Enter("a", 1, "y", Soon(), cancellation_);
  auto three = finder_.Enter("ü", 0, "z", Soon(), cancellation_);
  EXPECT_THAT(store_.Keys(), ElementsAre("%c3%bc/root", "a%2fmember/root", "a/member/1"));
}

TEST(RootFinder, SaysHowToNameAStore) {
  const RootFinder finder(nullptr);
  membership::Cancellation cancellation;
  auto entered = finder.Enter("job", 1, "x", absl::InfiniteFuture(), cancellation);
  EXPECT_TRUE(absl::IsInvalidArgument(entered.status()));
  EXPECT_THAT(std::string(entered.status().message()), HasSubstr("store { etcd"));
}

}  // namespace
}  // namespace caravan::service
