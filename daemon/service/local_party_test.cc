// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/local_party.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "absl/time/clock.h"

namespace caravan::service {
namespace {

using ::testing::HasSubstr;
using Result = absl::StatusOr<std::string>;
using Seats = std::vector<std::shared_ptr<LocalSeat>>;

class LocalPartyTest : public ::testing::Test {
 protected:
  static LocalParties::Guest Guest(uint32_t rank, const std::string& terms = "4 ranks") {
    return {"train", terms, 2, 2, rank, std::make_shared<LocalSeat>()};
  }
  std::future<Result> Join(LocalParties::Guest guest, LocalParties::Make make,
                           absl::Duration patience = absl::Seconds(30)) {
    return std::async(std::launch::async, [this, guest, make, patience] {
      return parties_.Join(guest, absl::Now() + patience, make);
    });
  }
  static Result Made(const Seats& seats) { return std::to_string(seats.size()); }

  LocalParties parties_;
};

TEST_F(LocalPartyTest, MakesOnceForAllInTheOrderOfRanks) {
  LocalParties::Guest first = Guest(2), second = Guest(3);
  int made = 0;
  auto make = [&](const Seats& seats) -> Result {
    ++made;
    EXPECT_EQ(seats, (Seats{first.seat, second.seat}));
    return std::string("suite");
  };
  auto late = Join(second, make);
  auto early = Join(first, make);
  EXPECT_EQ(*late.get(), "suite");
  EXPECT_EQ(*early.get(), "suite");
  EXPECT_EQ(made, 1);
  // The name is free again.
  auto again = Join(Guest(2), Made);
  EXPECT_EQ(*Join(Guest(3), Made).get(), "2");
  EXPECT_EQ(*again.get(), "2");
}

TEST_F(LocalPartyTest, GivesAllTheSameError) {
  auto fails = [](const Seats&) -> Result { return absl::AbortedError("the root is gone"); };
  auto one = Join(Guest(2), fails);
  EXPECT_EQ(Join(Guest(3), fails).get().status(), absl::AbortedError("the root is gone"));
  EXPECT_EQ(one.get().status(), absl::AbortedError("the root is gone"));
}

TEST_F(LocalPartyTest, NamesWhoIsMissingAtTheDeadline) {
  const absl::Status status = Join(Guest(3), Made, absl::Milliseconds(60)).get().status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 2 of this node has not asked for it"));
}

TEST_F(LocalPartyTest, EndsWithAnApplicationThatLeaves) {
  LocalParties::Guest guest = Guest(2);
  auto waiting = Join(guest, Made);
  guest.seat->cancellation.Cancel(absl::AbortedError("rank 2: application ended"));
  EXPECT_EQ(waiting.get().status(), absl::AbortedError("rank 2: application ended"));
}

TEST_F(LocalPartyTest, RefusesContradictionsForAll) {
  auto one = Join(Guest(2), Made);
  absl::SleepFor(absl::Milliseconds(20));
  const absl::Status status = Join(Guest(3, "6 ranks"), Made).get().status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("6 ranks"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("4 ranks"));
  EXPECT_EQ(one.get().status(), status);

  auto two = Join(Guest(2), Made);
  absl::SleepFor(absl::Milliseconds(20));
  EXPECT_THAT(std::string(Join(Guest(2), Made).get().status().message()),
              HasSubstr("rank 2 is claimed twice on this node"));
  EXPECT_FALSE(two.get().ok());
}

}  // namespace
}  // namespace caravan::service
