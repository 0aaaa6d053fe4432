// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

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

TEST(SessionManager, BothEndsHoldTheSameSession) {
  ManagerOptions options;
  options.credentials.offer = "data port 7401";
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

// Calls end when the other side does not answer for long, as where its machine was paused; the two
// nodes then go on over another session.
TEST(SessionManager, NothingNewIsBegunOverASessionWhoseStreamEnded) {
  LoopbackNode a, b;
  std::shared_ptr<Session> near = *a.Connect(b);
  std::shared_ptr<Session> far = b.SessionWith(a);
  ASSERT_NE(far, nullptr);
  Pipe first(*near, *far), second(*far, *near);
  close(std::exchange(second.near, -1));
  ASSERT_TRUE(Eventually([&] { return near->draining() && far->draining(); }));
  EXPECT_TRUE(near->status().ok());
  EXPECT_TRUE(far->status().ok());
  EXPECT_EQ(a.manager->FindPeer(b.manager->local_spki()), nullptr);
  absl::StatusOr<std::shared_ptr<Session>> other = a.Connect(b);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE(*other, near);
  EXPECT_NE((*other)->id(), near->id());
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
    with.credentials.psk = Secret("the key of this cluster, 32 bytes");
    ManagerOptions other;
    if (!only_one) other.credentials.psk = Secret("the key of that cluster, 32 bytes");
    LoopbackNode a(std::move(with)), b(std::move(other));
    absl::Status status = a.Connect(b).status();
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status;
    EXPECT_EQ(ReasonOf(status), kAcceptMac);
    EXPECT_TRUE(Eventually([&] { return b.refusals() == std::vector<std::string>{"ACCEPT_MAC"}; }));
  }
}

TEST(SessionManager, TheSamePreSharedKeyConnects) {
  ManagerOptions one, two;
  one.credentials.psk = Secret("the key of this cluster, 32 bytes");
  two.credentials.psk = Secret("the key of this cluster, 32 bytes");
  LoopbackNode a(std::move(one)), b(std::move(two));
  EXPECT_TRUE(a.Connect(b).ok());
}

TEST(SessionManager, ASwapOfCredentialsIsUsedByTheNextHandshake) {
  ManagerOptions one;
  one.credentials.psk = Secret("the key of this cluster, 32 bytes");
  LoopbackNode a(std::move(one)), b, c;
  EXPECT_EQ(ReasonOf(a.Connect(b).status()), kAcceptMac);
  const std::shared_ptr<const Credentials> old = a.manager->credentials();
  ASSERT_TRUE(a.manager->SetCredentials(a.MakeCredentials()).ok());
  EXPECT_TRUE(a.Connect(b).ok());
  EXPECT_FALSE(old->psk.empty()) << "who holds the old ones keeps them";
  EXPECT_EQ(old.use_count(), 1) << "and nobody else does";
  // A node without that key refuses the old ones when they come back.
  ASSERT_TRUE(a.manager->SetCredentials(old).ok());
  EXPECT_EQ(ReasonOf(a.Connect(c).status()), kAcceptMac);
}

TEST(SessionManager, CredentialsThatLackAPartAreRefusedAndTheOldOnesStay) {
  LoopbackNode a, b;
  EXPECT_EQ(a.manager->SetCredentials(nullptr).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(a.manager->SetCredentials(std::make_shared<const Credentials>()).code(),
            StatusCode::kInvalidArgument);
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
  options.credentials.offer = std::string(1025, 'x');
  EXPECT_EQ(SessionManager::Start(std::move(options)).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(SessionManager, Ipv6AddressesWork) {
  ManagerOptions options;
  options.listen_address = "[::1]:0";
  FakeAttester attester;
  FakeAppraiser appraiser;
  options.credentials.attester = Unowned(&attester);
  options.credentials.appraiser = Unowned(&appraiser);
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

}  // namespace
}  // namespace caravan::session
