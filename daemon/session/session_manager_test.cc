// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "daemon/session/loopback_testing.h"
#include "daemon/session/reasons.h"
#include "daemon/session/session.h"

namespace caravan::session {
namespace {

using absl::StatusCode;

crypto::SecretBytes Secret(const std::string& text) {
  return *crypto::SecretBytes::Copy(crypto::AsBytes(text));
}

ManagerOptions WithClock(TestClock& clock) {
  ManagerOptions options;
  options.clock = clock.function();
  return options;
}

// The two ends of the initiator's stream, taken.
struct Pipe {
  Pipe(Session& from, Session& to)
      : near(from.TakeOutgoingStream()), far(to.TakeIncomingStream()) {}
  Pipe(const Pipe&) = delete;
  ~Pipe() {
    if (near >= 0) close(near);
    if (far >= 0) close(far);
  }
  int near;
  int far;
};

TEST(SessionManager, BothEndsHoldTheSameSession) {
  ManagerOptions options;
  options.offer = "data port 7401";
  LoopbackNode a(std::move(options)), b;
  absl::StatusOr<std::shared_ptr<Session>> ours = a.Connect(b);
  ASSERT_TRUE(ours.ok()) << ours.status();
  std::shared_ptr<Session> theirs = b.SessionWith(a);
  ASSERT_NE(theirs, nullptr);
  EXPECT_EQ((*ours)->id(), theirs->id());
  EXPECT_EQ((*ours)->role(), crypto::Role::kInitiator);
  EXPECT_EQ(theirs->role(), crypto::Role::kResponder);
  EXPECT_EQ((*ours)->peer_spki(), b.manager->local_spki());
  EXPECT_EQ(theirs->local_spki(), b.manager->local_spki());
  EXPECT_EQ(theirs->peer_offer(), "data port 7401");
  EXPECT_EQ((*ours)->peer_address(), b.address());
  EXPECT_TRUE((*ours)->peer_appraisal().accepted());
  EXPECT_EQ((*ours)->secret().size(), crypto::kParentSize);
  EXPECT_TRUE(crypto::ConstantTimeEquals((*ours)->secret().Expose(), theirs->secret().Expose()));
  EXPECT_EQ(b.manager->Find(theirs->id()), theirs);
  EXPECT_EQ(a.established(), 1);
  EXPECT_EQ(b.established(), 1);
}

TEST(SessionManager, StreamsAreNonBlockingAndTakenOnce) {
  LoopbackNode a, b;
  std::shared_ptr<Session> session = *a.Connect(b);
  for (const int fd : {session->TakeIncomingStream(), session->TakeOutgoingStream()}) {
    ASSERT_GE(fd, 0);
    EXPECT_NE(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    close(fd);
  }
  EXPECT_EQ(session->TakeIncomingStream(), -1);
  EXPECT_EQ(session->TakeOutgoingStream(), -1);
}

TEST(SessionManager, BothStreamsCarryMegabytesBothWaysAtOnce) {
  LoopbackNode a, b;
  std::shared_ptr<Session> near = *a.Connect(b);
  std::shared_ptr<Session> far = b.SessionWith(a);
  ASSERT_NE(far, nullptr);
  Pipe first(*near, *far), second(*far, *near);
  std::string payload(8 << 20, '\0');
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * 2654435761u >> 13);
  std::vector<std::thread> threads;
  std::array<std::string, 4> got;
  const int fds[4] = {first.near, first.far, second.near, second.far};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&payload, fd = fds[i]] { WriteSome(fd, payload); });
    threads.emplace_back(
        [&payload, &got, i, fd = fds[i]] { got[i] = ReadSome(fd, payload.size()); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& bytes : got) EXPECT_TRUE(bytes == payload) << bytes.size();
}

TEST(SessionManager, AStreamWithoutAReaderHoldsBoundedBytes) {
  LoopbackNode a, b;
  std::shared_ptr<Session> near = *a.Connect(b);
  std::shared_ptr<Session> far = b.SessionWith(a);
  ASSERT_NE(far, nullptr);
  Pipe pipe(*near, *far);
  const std::string block(1 << 20, 'x');
  size_t taken = 0;
  // Until nothing more is taken for a while: kernel buffers and 256 KiB in each daemon.
  for (int idle = 0; idle < 20 && taken < (64u << 20);) {
    const ssize_t sent = send(pipe.near, block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    idle = sent > 0 ? 0 : idle + 1;
    if (sent > 0) taken += static_cast<size_t>(sent);
    if (sent <= 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_LT(taken, 32u << 20);
  EXPECT_EQ(ReadSome(pipe.far, taken).size(), taken);  // and none of them is lost
}

TEST(SessionManager, TheEndOfAStreamLeavesTheOther) {
  LoopbackNode a, b;
  std::shared_ptr<Session> near = *a.Connect(b);
  std::shared_ptr<Session> far = b.SessionWith(a);
  ASSERT_NE(far, nullptr);
  Pipe first(*near, *far), second(*far, *near);
  EXPECT_EQ(WriteSome(first.near, "last words"), 10u);
  close(std::exchange(first.near, -1));
  EXPECT_EQ(ReadSome(first.far, 10), "last words");
  EXPECT_TRUE(Ended(first.far));
  WriteSome(second.near, "still here");
  EXPECT_EQ(ReadSome(second.far, 10), "still here");
  EXPECT_TRUE(near->status().ok());
}

TEST(SessionManager, ConnectReturnsTheOpenSession) {
  LoopbackNode a, b;
  std::shared_ptr<Session> first = *a.Connect(b);
  EXPECT_EQ(*a.Connect(b), first);
  std::array<std::shared_ptr<Session>, 4> found;
  std::vector<std::thread> threads;
  first->Close(absl::OkStatus());
  ASSERT_TRUE(Eventually([&] { return a.closed() == 1; }));
  for (auto& slot : found) threads.emplace_back([&] { slot = a.Connect(b).value_or(nullptr); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& session : found) {
    EXPECT_NE(session, nullptr);
    EXPECT_NE(session, first);
    EXPECT_EQ(session, found[0]);
  }
}

TEST(SessionManager, SixtyFourPeersHaveTheirSessionsAtOnce) {
  LoopbackNode node;
  std::vector<std::unique_ptr<LoopbackNode>> peers;
  for (int i = 0; i < 64; ++i) {
    peers.push_back(std::make_unique<LoopbackNode>());
    const absl::Status status = peers.back()->Connect(node).status();
    ASSERT_TRUE(status.ok()) << "peer " << i << ": " << status;
  }
  EXPECT_EQ(node.manager->List().size(), 64u);
}

TEST(SessionManager, NobodyThereIsUnavailable) {
  LoopbackNode a;
  std::string address;
  {
    LoopbackNode gone;
    address = gone.address();
  }
  EXPECT_EQ(a.manager->Connect(address, absl::Now() + absl::Seconds(5)).status().code(),
            StatusCode::kUnavailable);
  for (const char* bad : {"", "nowhere", "host:", "1.2.3.4:70000", "::1:7400", ":7400"}) {
    EXPECT_EQ(a.manager->Connect(bad, absl::Now() + absl::Seconds(5)).status().code(),
              StatusCode::kInvalidArgument)
        << bad;
  }
}

TEST(SessionManager, AnUnlistedPeerIsRefusedOnBothSidesWithTheCheck) {
  LoopbackNode good, bad({}, "one more byte");
  absl::Status to_good = bad.Connect(good).status();
  EXPECT_EQ(to_good.code(), StatusCode::kPermissionDenied) << to_good;
  EXPECT_EQ(ReasonOf(to_good), kFakeMeasurementCheck);
  absl::Status to_bad = good.Connect(bad).status();
  EXPECT_EQ(to_bad.code(), StatusCode::kPermissionDenied) << to_bad;
  EXPECT_EQ(ReasonOf(to_bad), kFakeMeasurementCheck);
  EXPECT_EQ(good.established() + bad.established(), 0);
  EXPECT_TRUE(Eventually([&] { return good.refusals().size() == 2; }));
}

TEST(SessionManager, AnotherPreSharedKeyIsRefusedAtAccept) {
  for (const bool only_one : {false, true}) {
    ManagerOptions with;
    with.psk = Secret("the key of this cluster, 32 bytes");
    ManagerOptions other;
    if (!only_one) other.psk = Secret("the key of that cluster, 32 bytes");
    LoopbackNode a(std::move(with)), b(std::move(other));
    absl::Status status = a.Connect(b).status();
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status;
    EXPECT_EQ(ReasonOf(status), kAcceptMac);
    EXPECT_TRUE(Eventually([&] { return b.refusals() == std::vector<std::string>{"ACCEPT_MAC"}; }));
  }
}

TEST(SessionManager, TheSamePreSharedKeyConnects) {
  ManagerOptions one, two;
  one.psk = Secret("the key of this cluster, 32 bytes");
  two.psk = Secret("the key of this cluster, 32 bytes");
  LoopbackNode a(std::move(one)), b(std::move(two));
  EXPECT_TRUE(a.Connect(b).ok());
}

TEST(SessionManager, ItsOwnAddressIsRefused) {
  LoopbackNode a;
  EXPECT_EQ(ReasonOf(a.Connect(a).status()), kSelf);
}

TEST(SessionManager, CloseReachesThePeerWithItsReasonAndEndsTheStreams) {
  LoopbackNode a, b;
  std::shared_ptr<Session> near = *a.Connect(b);
  std::shared_ptr<Session> far = b.SessionWith(a);
  ASSERT_NE(far, nullptr);
  Pipe pipe(*near, *far);
  near->Close(absl::AbortedError("an operator said so"));
  near->Close(absl::InternalError("too late"));
  EXPECT_EQ(near->status().message(), "an operator said so");
  EXPECT_TRUE(Ended(pipe.near));
  EXPECT_TRUE(Ended(pipe.far));
  ASSERT_TRUE(Eventually([&] { return a.closed() == 1 && b.closed() == 1; }));
  EXPECT_EQ(far->status().code(), StatusCode::kAborted) << far->status();
  EXPECT_EQ(a.SessionWith(b), nullptr);
  EXPECT_EQ(b.manager->Find(near->id()), nullptr);
}

TEST(SessionManager, ABusyTeeIsAskedAgain) {
  LoopbackNode a, b;
  b.attester.BeBusy(2);
  EXPECT_TRUE(a.Connect(b).ok());
}

TEST(SessionManager, EvidenceIsRationed) {
  ManagerOptions options;
  options.evidence_per_second = 0;
  LoopbackNode a, b(std::move(options));
  EXPECT_EQ(ReasonOf(a.Connect(b).status()), kEvidenceRate);
  EXPECT_EQ(b.attester.collected(), 0);
}

TEST(SessionManager, StopEndsEverything) {
  LoopbackNode a, b;
  std::shared_ptr<Session> near = *a.Connect(b);
  b.manager->Stop();
  b.manager->Stop();
  EXPECT_TRUE(Eventually([&] { return !near->status().ok() && a.closed() == 1; }));
  EXPECT_TRUE(b.manager->List().empty());
  EXPECT_EQ(b.Connect(a).status().code(), StatusCode::kCancelled);
}

TEST(SessionManager, StopCutsAHandshakeShort) {
  LoopbackNode a;
  auto b = std::make_unique<LoopbackNode>();
  b->attester.BeBusy(1000);
  std::thread connecting([&] { EXPECT_FALSE(a.Connect(*b).ok()); });
  ASSERT_TRUE(Eventually([&] { return a.attester.collected() == 1; }));
  const auto before = std::chrono::steady_clock::now();
  b->manager->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
  connecting.join();
}

TEST(SessionManager, OptionsOutOfRangeAreNamed) {
  FakeAttester attester;
  FakeAppraiser appraiser;
  EXPECT_EQ(SessionManager::Start({}).status().code(), StatusCode::kInvalidArgument);
  ManagerOptions options = LoopbackOptions(&attester, &appraiser);
  options.offer = std::string(1025, 'x');
  EXPECT_EQ(SessionManager::Start(std::move(options)).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(SessionManager, Ipv6AddressesWork) {
  ManagerOptions options;
  options.listen_address = "[::1]:0";
  FakeAttester attester;
  FakeAppraiser appraiser;
  options.attester = &attester;
  options.appraiser = &appraiser;
  absl::StatusOr<std::unique_ptr<SessionManager>> b = SessionManager::Start(std::move(options));
  if (!b.ok()) GTEST_SKIP() << "no IPv6 loopback here: " << b.status();
  LoopbackNode a;
  EXPECT_TRUE(
      a.manager->Connect(absl::StrCat("[::1]:", (*b)->port()), absl::Now() + absl::Seconds(10))
          .ok());
}

// Crossing connections: whatever the timing, one session stays, dialled by the lower key, and both
// callers get it.
TEST(SessionManager, OfTwoCrossingConnectionsOneStays) {
  for (int i = 0; i < 12; ++i) {
    LoopbackNode a, b;
    std::shared_ptr<Session> of_a, of_b;
    std::thread other([&] { of_b = b.Connect(a).value_or(nullptr); });
    of_a = a.Connect(b).value_or(nullptr);
    other.join();
    ASSERT_NE(of_a, nullptr);
    ASSERT_NE(of_b, nullptr);
    const bool a_is_lower = a.manager->local_spki() < b.manager->local_spki();
    ASSERT_TRUE(Eventually([&] {
      std::shared_ptr<Session> at_a = a.SessionWith(b), at_b = b.SessionWith(a);
      return at_a != nullptr && at_b != nullptr && at_a->id() == at_b->id() &&
             (at_a->role() == crypto::Role::kInitiator) == a_is_lower;
    }));
  }
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

TEST(SessionManager, RoundsOfBothEndsAtOnceAreOneRound) {
  TestClock clock;
  LoopbackNode a(WithClock(clock)), b(WithClock(clock));
  std::shared_ptr<Session> near = *a.Connect(b);
  for (uint32_t round = 1; round <= 3; ++round) {
    clock.Advance(absl::Minutes(16));
    ASSERT_TRUE(Eventually([&] { return near->round() == round; })) << near->status();
  }
  EXPECT_EQ(b.attester.collected(), 4);
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

TEST(SessionManager, APeerThatChangedFailsItsRoundAndLosesEverySession) {
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
TEST(SessionManager, ASessionThatDrainsIsReattested) {
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

TEST(SessionManager, ASessionThatDrainsClosesOnceNobodyHoldsIt) {
  Replaced pair([](ManagerOptions& options) { options.drain_idle = absl::Milliseconds(300); });
  ASSERT_TRUE(pair.done);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_EQ(pair.open(), 4u) << "held at both ends";
  pair.old.reset();
  ASSERT_TRUE(Eventually([&] { return pair.open() == 2; }));
  EXPECT_EQ(ReasonOf(pair.old_far->status()), kClosed) << pair.old_far->status();
  EXPECT_TRUE(pair.newer->status().ok() && pair.newer_far->status().ok());
}

TEST(SessionManager, ASessionThatDrainsClosesAtItsLimitThoughItIsHeld) {
  Replaced pair([](ManagerOptions& options) { options.drain_limit = absl::Milliseconds(300); });
  ASSERT_TRUE(pair.done);
  ASSERT_TRUE(Eventually([&] { return pair.open() == 2; }));
  EXPECT_EQ(ReasonOf(pair.old->status()), kClosed) << pair.old->status();
  EXPECT_TRUE(pair.newer->status().ok());
}

// Hours of replacements leave one session, with its thread and descriptors, at each end.
TEST(SessionManager, ManyReplacementsLeaveOneSession) {
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

TEST(SessionManager, TheHourlySessionReplacesTheOldWhichDrains) {
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
