// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/peer_bridge.h"

#include <sys/socket.h>

#include <future>
#include <thread>

#include "absl/time/clock.h"
#include "daemon/service/fake_cluster.h"
#include "gtest/gtest.h"

namespace caravan::service {
namespace {

// Answers with who called.
class Echo : public membership::PeerHandler {
 public:
  absl::Status Join(const membership::Caller& caller, const v1::JoinRequest& request,
                    v1::JoinReply* reply) override {
    while (request.timeout_ms() != 0 && !caller.cancelled()) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    if (request.timeout_ms() != 0) left.set_value();
    reply->set_wrapped_secret(membership::ToBytes(caller.session->peer_spki()));
    return absl::OkStatus();
  }
  absl::Status Confirm(const membership::Caller&, const v1::ConfirmRequest&,
                       v1::ConfirmReply*) override {
    return absl::PermissionDeniedError("confirmation of rank 1 (node-b): no");
  }
  absl::Status ReportFault(const membership::Caller&, const v1::ReportFaultRequest& request,
                           v1::ReportFaultReply* reply) override {
    *reply->mutable_decided() = request.fault();
    return absl::OkStatus();
  }
  absl::Status EndEpoch(const membership::Caller&, const v1::EndEpochRequest&) override {
    return absl::OkStatus();
  }
  absl::Status DescribeOperation(const membership::Caller&, const v1::DescribeOperationRequest&,
                                 v1::DescribeOperationReply* reply) override {
    reply->set_description("barrier()");
    return absl::OkStatus();
  }
  absl::Status DescribeWait(const membership::Caller&, const v1::DescribeWaitRequest& request,
                            v1::DescribeWaitReply* reply) override {
    if (request.epoch() != "an epoch") return absl::NotFoundError("epoch: is not known here");
    reply->set_waits(true);
    reply->add_peers(7);
    return absl::OkStatus();
  }
  std::promise<void> left;
};

class PeerBridgeTest : public testing::Test {
 protected:
  static constexpr crypto::Sha256Digest kA{1}, kB{2};

  // One session, seen from both ends: a's calls reach b and the other way round.
  std::pair<std::shared_ptr<FakeSession>, std::shared_ptr<FakeSession>> Link(uint8_t id) {
    auto secret = *crypto::SecretBytes::Random(48);
    auto a = std::make_shared<FakeSession>(crypto::SessionId{id}, crypto::Role::kInitiator, kA, kB,
                                           *secret.Clone());
    auto b = std::make_shared<FakeSession>(crypto::SessionId{id}, crypto::Role::kResponder, kB, kA,
                                           std::move(secret));
    int forth[2], back[2];
    const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    EXPECT_EQ(socketpair(AF_UNIX, type, 0, forth), 0);
    EXPECT_EQ(socketpair(AF_UNIX, type, 0, back), 0);
    a->outgoing = forth[0];
    b->incoming = forth[1];
    b->outgoing = back[0];
    a->incoming = back[1];
    at_a_->Add(a);
    at_b_->Add(b);
    return {a, b};
  }

  absl::Time Soon() { return absl::Now() + absl::Seconds(10); }

  Echo echo_a_, echo_b_;
  std::unique_ptr<PeerBridge> at_a_ = *PeerBridge::Start(&echo_a_);
  std::unique_ptr<PeerBridge> at_b_ = *PeerBridge::Start(&echo_b_);
};

TEST_F(PeerBridgeTest, CarriesCallsBothWaysAndKnowsTheCaller) {
  auto [a, b] = Link(1);
  v1::JoinReply reply;
  ASSERT_TRUE(at_a_->Client(*a)->Join({}, &reply, Soon(), nullptr).ok());
  EXPECT_EQ(reply.wrapped_secret(), membership::ToBytes(kA));
  ASSERT_TRUE(at_b_->Client(*b)->Join({}, &reply, Soon(), nullptr).ok());
  EXPECT_EQ(reply.wrapped_secret(), membership::ToBytes(kB));
}

TEST_F(PeerBridgeTest, CarriesWhomAMemberWaitsFor) {
  auto [a, b] = Link(1);
  v1::DescribeWaitRequest request;
  v1::DescribeWaitReply reply;
  EXPECT_EQ(at_a_->Client(*a)->DescribeWait(request, &reply, Soon()).code(),
            absl::StatusCode::kNotFound);
  request.set_epoch("an epoch");
  ASSERT_TRUE(at_a_->Client(*a)->DescribeWait(request, &reply, Soon()).ok());
  EXPECT_TRUE(reply.waits());
  ASSERT_EQ(reply.peers_size(), 1);
  EXPECT_EQ(reply.peers(0), 7u);
}

TEST_F(PeerBridgeTest, CarriesErrorsWhole) {
  auto [a, b] = Link(1);
  v1::ConfirmReply reply;
  EXPECT_EQ(at_a_->Client(*a)->Confirm({}, &reply, Soon(), nullptr),
            absl::PermissionDeniedError("confirmation of rank 1 (node-b): no"));
}

TEST_F(PeerBridgeTest, CancelsAWaitingCallOnBothSides) {
  auto [a, b] = Link(1);
  membership::Cancellation cancellation;
  v1::JoinRequest request;
  request.set_timeout_ms(1);
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(100));
    cancellation.Cancel(absl::AbortedError("gone"));
  });
  v1::JoinReply reply;
  EXPECT_EQ(at_a_->Client(*a)->Join(request, &reply, Soon(), &cancellation),
            absl::AbortedError("gone"));
  canceller.join();
  EXPECT_EQ(echo_b_.left.get_future().wait_for(std::chrono::seconds(10)),
            std::future_status::ready);
}

TEST_F(PeerBridgeTest, RefusesCallsOfAClosedSession) {
  auto [a, b] = Link(1);
  b->Close(absl::PermissionDeniedError("re-attestation failed"));
  v1::DescribeOperationReply reply;
  EXPECT_EQ(at_a_->Client(*a)->DescribeOperation({}, &reply, Soon()).code(),
            absl::StatusCode::kUnavailable);
  at_a_->Remove(*a);
  EXPECT_EQ(at_a_->Client(*a), nullptr);
}

TEST_F(PeerBridgeTest, ServesManySessionsInTurnThoughDescriptorsRepeat) {
  for (uint8_t id = 1; id <= 20; ++id) {
    auto [a, b] = Link(id);
    v1::DescribeOperationReply reply;
    EXPECT_TRUE(at_a_->Client(*a)->DescribeOperation({}, &reply, Soon()).ok());
    at_a_->Remove(*a);
    at_b_->Remove(*b);
    a->Close(absl::CancelledError("done"));
    b->Close(absl::CancelledError("done"));
  }
}

}  // namespace
}  // namespace caravan::service
