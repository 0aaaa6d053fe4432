// SPDX-License-Identifier: Apache-2.0
//
// What happens to sessions as time passes: rounds of re-attestation, replacement, draining.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include "daemon/session/loopback_testing.h"
#include "daemon/session/reasons.h"
#include "daemon/session/session.h"

namespace caravan::session {
namespace {

ManagerOptions WithClock(TestClock& clock) {
  ManagerOptions options;
  options.clock = clock.function();
  return options;
}

class Rounds : public testing::TestWithParam<bool> {};

TEST_P(Rounds, EitherEndReattestsInTime) {
  const bool by_responder = GetParam();
  TestClock clock;
  ManagerOptions timed = WithClock(clock), patient = WithClock(clock);
  patient.reattest_every = absl::Hours(1000);
  timed.replace_every = patient.replace_every = absl::Hours(1000);
  LoopbackNode a(std::move(by_responder ? patient : timed));
  LoopbackNode b(std::move(by_responder ? timed : patient));
  std::shared_ptr<Session> near = *a.Connect(b);
  std::shared_ptr<Session> far = b.SessionWith(a);
  ASSERT_NE(far, nullptr);
  const crypto::SessionId id = near->id();
  for (uint32_t round = 1; round <= 3; ++round) {
    clock.Advance(absl::Minutes(16));
    ASSERT_TRUE(Eventually([&] { return near->round() == round && far->round() == round; }))
        << near->status();
    EXPECT_EQ(near->last_attested(), clock.Now());
  }
  EXPECT_EQ(near->id(), id);
  EXPECT_EQ(a.attester.collected(), 4);
  EXPECT_EQ(b.attester.collected(), 4);
}

INSTANTIATE_TEST_SUITE_P(Ends, Rounds, testing::Bool(),
                         [](const auto& info) { return info.param ? "Responder" : "Initiator"; });

TEST(SessionLife, RoundsOfBothEndsAtOnceAreOneRound) {
  TestClock clock;
  LoopbackNode a(WithClock(clock)), b(WithClock(clock));
  std::shared_ptr<Session> near = *a.Connect(b);
  for (uint32_t round = 1; round <= 3; ++round) {
    clock.Advance(absl::Minutes(16));
    ASSERT_TRUE(Eventually([&] { return near->round() == round; })) << near->status();
  }
  EXPECT_EQ(b.attester.collected(), 4);
}

TEST(SessionLife, ASwapOfCredentialsIsUsedByTheNextRoundAndNobodyKeepsTheOldOnes) {
  for (const bool by_responder : {false, true}) {
    TestClock clock;
    LoopbackNode a(WithClock(clock)), b(WithClock(clock));
    std::shared_ptr<Session> near = *a.Connect(b);
    LoopbackNode& swapping = by_responder ? b : a;
    FakeAttester other;
    auto credentials = swapping.MakeCredentials();
    credentials->attester = Unowned(&other);
    credentials->appraiser = std::make_shared<FakeAppraiser>("another policy");
    const std::weak_ptr<const Credentials> old = swapping.manager->credentials();
    ASSERT_TRUE(swapping.manager->SetCredentials(credentials).ok());
    EXPECT_TRUE(Eventually([&] { return old.expired(); }));
    clock.Advance(absl::Minutes(16));
    ASSERT_TRUE(Eventually([&] { return near->round() == 1; })) << near->status();
    EXPECT_EQ(other.collected(), 1);
    EXPECT_EQ(swapping.attester.collected(), 1);
  }
}

// A session and the one that replaced it, both held at both ends.
struct Replaced {
  explicit Replaced(const std::function<void(ManagerOptions&)>& change = [](ManagerOptions&) {})
      : a(Options(change)), b(Options(change)) {
    old = a.Connect(b).value_or(nullptr);
    old_far = b.SessionWith(a);
    clock.Advance(absl::Minutes(61));
    done = Eventually([this] { return a.replaced() == 1 && b.replaced() == 1; });
    newer = a.SessionWith(b);
    newer_far = b.SessionWith(a);
    done = done && old != nullptr && old_far != nullptr && newer != nullptr && newer_far != nullptr;
  }
  ManagerOptions Options(const std::function<void(ManagerOptions&)>& change) {
    ManagerOptions options = WithClock(clock);
    change(options);
    return options;
  }
  size_t open() const { return a.manager->List().size() + b.manager->List().size(); }

  TestClock clock;
  LoopbackNode a, b;
  std::shared_ptr<Session> old, old_far, newer, newer_far;
  bool done = false;
};

TEST(SessionLife, APeerThatChangedFailsItsRoundAndLosesEverySession) {
  Replaced pair;
  ASSERT_TRUE(pair.done);
  pair.b.attester.SetMeasurement("bad");
  pair.clock.Advance(absl::Minutes(16));
  ASSERT_TRUE(Eventually([&] { return pair.a.closed() == 2 && pair.b.closed() == 2; }));
  for (const auto& session : {pair.old, pair.old_far, pair.newer, pair.newer_far}) {
    EXPECT_EQ(ReasonOf(session->status()), kFakeMeasurementCheck) << session->status();
  }
}

// Or a peer that has changed would keep the old one and drop the newer.
TEST(SessionLife, ASessionThatDrainsIsReattested) {
  Replaced pair;
  ASSERT_TRUE(pair.done);
  const uint32_t before = pair.old->round();
  pair.clock.Advance(absl::Minutes(16));
  ASSERT_TRUE(Eventually([&] { return pair.old->round() > before && pair.newer->round() > 0; }))
      << pair.old->status();
  pair.b.attester.SetMeasurement("bad");
  pair.newer_far->Close(absl::OkStatus());
  ASSERT_TRUE(Eventually([&] { return pair.a.closed() == 1; }));
  EXPECT_TRUE(pair.old->status().ok());
  pair.clock.Advance(absl::Minutes(16));
  EXPECT_TRUE(Eventually([&] { return ReasonOf(pair.old->status()) == kFakeMeasurementCheck; }))
      << pair.old->status();
}

TEST(SessionLife, ASessionThatDrainsClosesOnceNobodyHoldsIt) {
  Replaced pair([](ManagerOptions& options) { options.drain_idle = absl::Milliseconds(300); });
  ASSERT_TRUE(pair.done);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_EQ(pair.open(), 4u) << "held at both ends";
  pair.old.reset();
  ASSERT_TRUE(Eventually([&] { return pair.open() == 2; }));
  EXPECT_EQ(ReasonOf(pair.old_far->status()), kClosed) << pair.old_far->status();
  EXPECT_TRUE(pair.newer->status().ok() && pair.newer_far->status().ok());
}

TEST(SessionLife, ASessionThatDrainsClosesAtItsLimitThoughItIsHeld) {
  Replaced pair([](ManagerOptions& options) { options.drain_limit = absl::Milliseconds(300); });
  ASSERT_TRUE(pair.done);
  ASSERT_TRUE(Eventually([&] { return pair.open() == 2; }));
  EXPECT_EQ(ReasonOf(pair.old->status()), kClosed) << pair.old->status();
  EXPECT_TRUE(pair.newer->status().ok());
}

// Hours of replacements leave one session, with its thread and descriptors, at each end.
TEST(SessionLife, ManyReplacementsLeaveOneSession) {
  TestClock clock;
  ManagerOptions one = WithClock(clock), two = WithClock(clock);
  one.drain_idle = two.drain_idle = absl::Milliseconds(300);
  LoopbackNode a(std::move(one)), b(std::move(two));
  ASSERT_TRUE(a.Connect(b).ok());
  for (int hour = 1; hour <= 8; ++hour) {
    clock.Advance(absl::Minutes(61));
    ASSERT_TRUE(Eventually([&] { return a.replaced() == hour && b.replaced() == hour; }));
  }
  EXPECT_TRUE(
      Eventually([&] { return a.manager->List().size() == 1 && b.manager->List().size() == 1; }));
  EXPECT_TRUE(Eventually([&] { return a.closed() == 8 && b.closed() == 8; }));
}

TEST(SessionLife, TheHourlySessionReplacesTheOldWhichDrains) {
  TestClock clock;
  ManagerOptions one = WithClock(clock), two = WithClock(clock);
  LoopbackNode a(std::move(one)), b(std::move(two));
  std::shared_ptr<Session> old = *a.Connect(b);
  std::shared_ptr<Session> old_far = b.SessionWith(a);
  ASSERT_NE(old_far, nullptr);
  Pipe pipe(*old, *old_far);
  clock.Advance(absl::Minutes(61));
  ASSERT_TRUE(Eventually([&] { return a.replaced() == 1 && b.replaced() == 1; }));
  std::shared_ptr<Session> newer = a.SessionWith(b);
  ASSERT_NE(newer, nullptr);
  EXPECT_NE(newer->id(), old->id());
  EXPECT_EQ(*a.Connect(b), newer);
  ASSERT_NE(b.SessionWith(a), nullptr);
  EXPECT_EQ(b.SessionWith(a)->id(), newer->id());
  EXPECT_TRUE(old->draining());
  EXPECT_TRUE(old_far->draining());
  EXPECT_FALSE(crypto::ConstantTimeEquals(old->secret().Expose(), newer->secret().Expose()));
  // The old one still carries bytes and is still found while somebody holds it.
  WriteSome(pipe.near, "drain");
  EXPECT_EQ(ReadSome(pipe.far, 5), "drain");
  EXPECT_EQ(a.manager->Find(old->id()), old);
  old->Close(absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return b.closed() == 1; }));
  EXPECT_TRUE(newer->status().ok());
}

}  // namespace
}  // namespace caravan::session
