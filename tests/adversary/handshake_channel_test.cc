// SPDX-License-Identifier: Apache-2.0
//
// A hostile peer against a real daemon's control port: what it tries, and the one reason that the
// daemon gives.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/descriptor.h"
#include "base/sockets.h"
#include "daemon/session/loopback_testing.h"
#include "daemon/session/reasons.h"
#include "tests/adversary/raw_peer.h"

namespace caravan::session {
namespace {

bool RefusedWith(const LoopbackNode& node, absl::string_view reason) {
  if (!Eventually([&] { return !node.refusals().empty(); })) {
    ADD_FAILURE() << "nothing was refused, expected " << reason;
    return false;
  }
  EXPECT_EQ(node.refusals().front(), reason);
  EXPECT_EQ(node.established(), 0);
  return node.refusals().front() == reason;
}

struct TlsAttack {
  const char* name;
  RawOptions options;
  absl::string_view reason;
};

RawOptions With(const std::function<void(RawOptions&)>& change) {
  RawOptions options;
  change(options);
  return options;
}

class TlsAdversary : public testing::TestWithParam<TlsAttack> {};

TEST_P(TlsAdversary, IsRefusedBeforeAnyEvidence) {
  LoopbackNode node;
  RawPeer peer(node.manager->port());
  // A client may believe that it is through before the server has looked at its certificate.
  if (peer.StartTls(GetParam().options)) {
    EXPECT_EQ(peer.ReadMessage(), "");
  }
  EXPECT_TRUE(RefusedWith(node, GetParam().reason));
  EXPECT_EQ(node.attester.collected(), 0);
}

const TlsAttack kTlsAttacks[] = {
    {"Tls12", With([](RawOptions& o) { o.max_version = TLS1_2_VERSION; }), kTlsVersion},
    {"AnotherProtocol", With([](RawOptions& o) { o.alpn = "h2"; }), kTlsAlpn},
    {"NoProtocol", With([](RawOptions& o) { o.alpn = ""; }), kTlsAlpn},
    {"NoCertificate", With([](RawOptions& o) { o.certificate = RawCertificate::kNone; }),
     kTlsNoCertificate},
    // The library sends no certificate at all where its key fits no algorithm that is asked for.
    {"RsaCertificate", With([](RawOptions& o) { o.certificate = RawCertificate::kRsa; }),
     kTlsNoCertificate},
    {"EcdsaCertificate", With([](RawOptions& o) { o.certificate = RawCertificate::kEcdsa; }),
     kTlsNoCertificate},
    {"ForeignSigner", With([](RawOptions& o) { o.certificate = RawCertificate::kForeignSigner; }),
     kTlsCertificateSignature},
    {"TwoCertificates", With([](RawOptions& o) { o.certificate = RawCertificate::kTwo; }),
     kTlsCertificateChain},
    {"HugeCertificate", With([](RawOptions& o) { o.certificate = RawCertificate::kHuge; }),
     kTlsMessageSize},
    {"EarlyData", With([](RawOptions& o) { o.early_data = true; }), kTlsEarlyData},
    {"Resumption", With([](RawOptions& o) { o.resume = true; }), kTlsResumption},
    {"AnotherSuite", With([](RawOptions& o) { o.ciphersuites = "TLS_AES_128_GCM_SHA256"; }),
     kTlsParameters},
    {"AnotherGroup", With([](RawOptions& o) { o.groups = "P-256"; }), kTlsParameters},
};

INSTANTIATE_TEST_SUITE_P(Channel, TlsAdversary, testing::ValuesIn(kTlsAttacks),
                         [](const auto& info) { return std::string(info.param.name); });

struct FrameAttack {
  const char* name;
  std::string bytes;
  absl::string_view reason;
};

std::string FrameHead(int stream, int flags, int length) {
  return {static_cast<char>(stream), static_cast<char>(flags), static_cast<char>(length & 0xFF),
          static_cast<char>(length >> 8)};
}

std::string ControlHead(int type, uint32_t length) {
  crypto::ByteWriter out;
  out.U8(static_cast<uint8_t>(type)).U32(length);
  return FrameHead(0, 0, 5) + out.str();
}

class FrameAdversary : public testing::TestWithParam<FrameAttack> {};

TEST_P(FrameAdversary, IsRefusedAndTold) {
  LoopbackNode node;
  RawPeer peer(node.manager->port());
  ASSERT_TRUE(peer.StartTls({}));
  ASSERT_TRUE(peer.Write(GetParam().bytes));
  EXPECT_EQ(peer.ReadAlert(), GetParam().reason);
  EXPECT_TRUE(RefusedWith(node, GetParam().reason));
  EXPECT_EQ(node.attester.collected(), 0);
}

const FrameAttack kFrameAttacks[] = {
    {"CallsOfTheInitiatorBeforeAccept", FrameHead(1, 0, 1) + "x", kFrameEarly},
    {"CallsOfTheResponderBeforeAccept", FrameHead(2, 1, 0), kFrameEarly},
    {"UnknownStream", FrameHead(3, 0, 1) + "x", kFrameStream},
    {"UnknownFlag", FrameHead(0, 2, 1) + "x", kFrameFlags},
    {"EndOfTheControlStream", FrameHead(0, 1, 0), kFrameFlags},
    {"OversizedFrame", FrameHead(0, 0, 16385), kFrameLength},
    {"EmptyFrame", FrameHead(0, 0, 0), kFrameLength},
    {"UnknownMessage", ControlHead(9, 1), kMessageType},
    {"OversizedHello", ControlHead(1, 65536), kMessageSize},
    {"OversizedEvidence", ControlHead(2, (1 << 20) + 4096), kMessageSize},
    {"OversizedAlert", ControlHead(4, 4096), kMessageSize},
    {"AcceptFirst", FrameHead(0, 0, 57) + Encode(Accept()), kMessageOrder},
};

INSTANTIATE_TEST_SUITE_P(Channel, FrameAdversary, testing::ValuesIn(kFrameAttacks),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ChannelAdversary, GarbageInsteadOfTlsIsRefused) {
  LoopbackNode node;
  RawPeer peer(node.manager->port());
  ASSERT_TRUE(peer.SendBytes("GET / HTTP/1.1\r\nHost: caravan\r\n\r\n"));
  EXPECT_TRUE(peer.WaitClosed());
  EXPECT_TRUE(RefusedWith(node, kTlsVersion));
}

TEST(ChannelAdversary, AServerWithAnotherKindOfKeyIsRefused) {
  LoopbackNode node;
  const base::Descriptor listener = std::move(*base::Listen("127.0.0.1:0", [](int) {}));
  const int port = *base::LocalPort(listener.get());
  for (const RawCertificate kind : {RawCertificate::kRsa, RawCertificate::kForeignSigner}) {
    absl::Status status;
    std::thread dialling([&] {
      status =
          node.manager->Connect(absl::StrCat("127.0.0.1:", port), absl::Now() + absl::Seconds(10))
              .status();
    });
    base::Descriptor socket;
    EXPECT_TRUE(Eventually([&] {
      socket = std::move(base::Accept(listener.get())->socket);
      return socket.valid();
    }));
    fcntl(socket.get(), F_SETFL, 0);
    RawPeer peer(std::move(socket));
    RawOptions options;
    options.certificate = kind;
    EXPECT_FALSE(peer.StartTls(options));
    peer = RawPeer(base::Descriptor());
    dialling.join();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_EQ(ReasonOf(status),
              kind == RawCertificate::kRsa ? kTlsPeerAlert : kTlsCertificateSignature);
  }
}

ManagerOptions Hasty() {
  ManagerOptions options;
  options.handshake_timeout = absl::Milliseconds(400);
  return options;
}

TEST(ChannelAdversary, SilenceMeetsTheDeadline) {
  LoopbackNode node(Hasty());
  RawPeer before_tls(node.manager->port());
  RawPeer after_tls(node.manager->port());
  ASSERT_TRUE(after_tls.StartTls({}));
  EXPECT_EQ(after_tls.ReadAlert(), kDeadline);
  EXPECT_TRUE(before_tls.WaitClosed());
  EXPECT_TRUE(Eventually([&] { return node.refusals().size() == 2; }));
  for (const std::string& reason : node.refusals()) EXPECT_EQ(reason, kDeadline);
}

TEST(ChannelAdversary, AByteAtATimeMeetsTheSameDeadline) {
  LoopbackNode node(Hasty());
  RawPeer peer(node.manager->port());
  const auto start = std::chrono::steady_clock::now();
  // The head of a TLS record of 512 bytes, and then its body in drops.
  ASSERT_TRUE(peer.SendBytes(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)));
  while (node.refusals().empty() &&
         std::chrono::steady_clock::now() - start < std::chrono::seconds(5)) {
    peer.SendBytes("x");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(RefusedWith(node, kDeadline));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
}

TEST(ChannelAdversary, HalfOpenHandshakesAreCappedInAllAndBySource) {
  for (const bool by_source : {false, true}) {
    ManagerOptions options;
    (by_source ? options.max_half_open_per_source : options.max_half_open) = 3;
    LoopbackNode node(std::move(options));
    std::vector<std::unique_ptr<RawPeer>> idle;
    for (int i = 0; i < 3; ++i) idle.push_back(std::make_unique<RawPeer>(node.manager->port()));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(node.refusals().empty());
    RawPeer refused(node.manager->port());
    EXPECT_TRUE(refused.WaitClosed());
    EXPECT_TRUE(RefusedWith(node, by_source ? kHalfOpenSource : kHalfOpen));
    // A place that is given back can be taken.
    idle.pop_back();
    LoopbackNode honest;
    EXPECT_TRUE(Eventually([&] { return honest.Connect(node).ok(); }));
  }
}

// The usual cap, all but one place of it taken by handshakes that have cost this node a key
// exchange and go no further.
TEST(ChannelAdversary, AnHonestPeerGetsInPastAHouseFullOfHalfOpenHandshakes) {
  ManagerOptions options;
  options.handshake_timeout = absl::Minutes(2);
  options.max_half_open_per_source = options.max_half_open;
  const int idle = options.max_half_open - 1;
  LoopbackNode node(std::move(options));
  const std::unique_ptr<Identity> identity = std::move(*Identity::Create());
  const std::unique_ptr<TlsContext> context = std::move(*TlsContext::Create(*identity));
  const std::unique_ptr<TlsChannel> client =
      std::move(*TlsChannel::Create(*context, crypto::Role::kInitiator));
  ASSERT_TRUE(client->Advance().ok());
  const std::string hello(client->pending().begin(), client->pending().end());
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < idle; ++i) {
    peers.push_back(std::make_unique<RawPeer>(node.manager->port()));
    ASSERT_TRUE(peers.back()->SendBytes(hello));
    ASSERT_TRUE(peers.back()->HasAnswer()) << "half-open handshake " << i;
  }
  EXPECT_TRUE(node.refusals().empty()) << node.refusals().front();
  LoopbackNode honest;
  const absl::Status status = honest.Connect(node).status();
  EXPECT_TRUE(status.ok()) << status;
}

TEST(ChannelAdversary, EstablishedSessionsAreNotHalfOpen) {
  ManagerOptions options;
  options.max_half_open = 1;
  LoopbackNode node(std::move(options));
  LoopbackNode first, second;
  EXPECT_TRUE(first.Connect(node).ok());
  EXPECT_TRUE(second.Connect(node).ok());
}

TEST(ChannelAdversary, SessionsAreCappedBeforeEvidenceIsMade) {
  ManagerOptions options;
  options.max_sessions = 2;
  LoopbackNode node(std::move(options));
  LoopbackNode first, second, third;
  ASSERT_TRUE(first.Connect(node).ok());
  const std::shared_ptr<Session> leaving = *second.Connect(node);
  EXPECT_EQ(ReasonOf(third.Connect(node).status()), kSessions);
  EXPECT_EQ(node.attester.collected(), 2);
  leaving->Close(absl::OkStatus());
  EXPECT_TRUE(Eventually([&] { return third.Connect(node).ok(); }));
}

// One key, and a new connection for each of its many sessions.
TEST(ChannelAdversary, AMemberThatOpensSessionsWithoutEndIsHeldToItsFew) {
  ManagerOptions options;
  options.max_sessions_per_peer = 3;
  LoopbackNode node(std::move(options));
  FakeAttester genuine;
  std::vector<std::unique_ptr<RawPeer>> peers;
  int refused = 0;
  for (int i = 0; i < 24; ++i) {
    peers.push_back(std::make_unique<RawPeer>(node.manager->port()));
    if (i > 0) peers.back()->TakeIdentity(*peers.front());
    ASSERT_TRUE(peers.back()->StartTls({}));
    if (!peers.back()->RunHandshake(genuine)) ++refused;
    EXPECT_LE(node.manager->List().size(), 6u);
  }
  EXPECT_EQ(node.established() + refused, 24);
  EXPECT_GE(node.established(), 6);
  for (const std::string& reason : node.refusals()) EXPECT_EQ(reason, kSessions);
  // What drains gives way; the newest stays, and goes on.
  EXPECT_TRUE(Eventually([&] { return node.manager->List().size() <= 3; }));
  const auto sessions = node.manager->List();
  EXPECT_EQ(std::count_if(sessions.begin(), sessions.end(),
                          [](const auto& session) { return !session->draining(); }),
            1);
}

// Two that have shown their evidence, and one place: who comes second hears no, and not yes before.
TEST(ChannelAdversary, APeerThatIsRefusedAfterItsAcceptGetsNone) {
  ManagerOptions options;
  options.max_sessions = 1;
  LoopbackNode node(std::move(options));
  FakeAttester genuine;
  RawPeer late(node.manager->port());
  ASSERT_TRUE(late.StartTls({}));
  std::string accept;
  ASSERT_TRUE(late.RunHandshake(genuine, MessageType::kAccept, &accept));
  RawPeer first(node.manager->port());
  ASSERT_TRUE(first.StartTls({}));
  ASSERT_TRUE(first.RunHandshake(genuine)) << first.handshake().status();
  ASSERT_TRUE(late.WriteMessage(accept));
  const std::string answer = late.ReadMessage();
  const absl::StatusOr<Alert> alert = DecodeAlert(crypto::AsBytes(answer));
  ASSERT_TRUE(alert.ok()) << "the first message after accept is of type " << int{answer[0]};
  EXPECT_EQ(alert->reason, kSessions);
  EXPECT_EQ(node.established(), 1);
}

TEST(ChannelAdversary, APeerWithoutGenuineEvidenceIsToldTheCheck) {
  LoopbackNode node;
  RawPeer peer(node.manager->port());
  FakeAttester forged("good", "a signer of its own");
  ASSERT_TRUE(peer.StartTls({}));
  EXPECT_FALSE(peer.RunHandshake(forged));
  EXPECT_EQ(ReasonOf(peer.handshake().status()), kFakeSignatureCheck);
  EXPECT_TRUE(RefusedWith(node, kFakeSignatureCheck));
  EXPECT_EQ(node.attester.collected(), 0);  // the responder shows nothing to a stranger
}

// Between its evidence and its Accept the peer has been appraised, and still may not speak.
TEST(ChannelAdversary, CallsBetweenEvidenceAndAcceptAreRefused) {
  LoopbackNode node;
  RawPeer peer(node.manager->port());
  FakeAttester genuine;
  ASSERT_TRUE(peer.StartTls({}));
  ASSERT_TRUE(peer.RunHandshake(genuine, MessageType::kAccept));
  ASSERT_TRUE(peer.Write(FrameHead(1, 0, 1) + "x"));
  EXPECT_EQ(peer.ReadAlert(), kFrameEarly);
  EXPECT_TRUE(RefusedWith(node, kFrameEarly));
}

// Keys of the channel may change at any time; nothing that was derived from it does.
TEST(ChannelAdversary, AKeyUpdateIsHarmless) {
  LoopbackNode node;
  RawPeer peer(node.manager->port());
  FakeAttester genuine;
  ASSERT_TRUE(peer.StartTls({}));
  ASSERT_TRUE(peer.RunHandshake(genuine)) << peer.handshake().status();
  ASSERT_EQ(node.manager->List().size(), 1u);
  base::Descriptor stream(node.manager->List()[0]->TakeIncomingStream());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(peer.UpdateKeys());
    ASSERT_TRUE(peer.Write(FrameHead(1, 0, 4) + "call"));
    EXPECT_EQ(ReadSome(stream.get(), 4), "call");
  }
  EXPECT_TRUE(node.manager->List()[0]->status().ok());
}

struct LateAttack {
  const char* name;
  std::function<std::string()> bytes;
  absl::string_view reason;
};

class LateAdversary : public testing::TestWithParam<LateAttack> {};

// An attested peer that turns: the session ends with the reason.
TEST_P(LateAdversary, LosesTheSession) {
  LoopbackNode node;
  RawPeer peer(node.manager->port());
  FakeAttester genuine;
  ASSERT_TRUE(peer.StartTls({}));
  ASSERT_TRUE(peer.RunHandshake(genuine)) << peer.handshake().status();
  ASSERT_EQ(node.manager->List().size(), 1u);
  std::shared_ptr<Session> session = node.manager->List()[0];
  ASSERT_TRUE(peer.Write(GetParam().bytes()));
  EXPECT_EQ(peer.ReadAlert(), GetParam().reason);
  EXPECT_TRUE(Eventually([&] { return node.closed() == 1; }));
  EXPECT_EQ(ReasonOf(session->status()), GetParam().reason);
}

std::string Framed(const std::string& message) {
  std::string out;
  AppendControlFrames(crypto::AsBytes(message), &out);
  return out;
}

const LateAttack kLateAttacks[] = {
    {"DataAfterTheEndOfAStream", [] { return FrameHead(1, 1, 0) + FrameHead(1, 0, 1) + "x"; },
     kFrameEnded},
    {"TrailingMessageAfterAccept", [] { return Framed(Encode(Accept())); }, kMessageOrder},
    {"EvidenceNobodyAskedFor", [] { return Framed(Encode(EvidenceMessage())); }, kMessageOrder},
    {"TheSameRoundAgain",
     [] {
       Hello hello;
       hello.nonce.fill(1);
       return Framed(Encode(hello));
     },
     kHelloRound},
    {"ARoundFromTheFuture",
     [] {
       Hello hello;
       hello.nonce.fill(1);
       hello.round = 7;
       return Framed(Encode(hello));
     },
     kHelloRound},
    {"ARoundRequestToTheResponder", [] { return Framed(Encode(RoundRequest{1})); }, kMessageOrder},
};

INSTANTIATE_TEST_SUITE_P(Channel, LateAdversary, testing::ValuesIn(kLateAttacks),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace caravan::session
