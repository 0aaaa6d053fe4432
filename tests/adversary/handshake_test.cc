// SPDX-License-Identifier: Apache-2.0
//
// Handshake messages that were changed or sent out of order, and channels that cannot be named.
#include <gtest/gtest.h>

#include "daemon/session/handshake_testing.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

using crypto::Role;

// A message of one type changed on its way from one end.
struct MessageAttack {
  const char* name;
  Role from;
  MessageType type;
  void (*change)(std::string* message, HandshakePair& pair);
  absl::string_view reason;
};

template <void (*kChange)(Hello&)>
void ChangeHello(std::string* message, HandshakePair& /*pair*/) {
  Hello hello = *DecodeHello(crypto::AsBytes(*message));
  kChange(hello);
  *message = Encode(hello);
}

void Lengthen(std::string* message, HandshakePair& /*pair*/) {
  crypto::ByteWriter longer;
  longer.U8(static_cast<uint8_t>((*message)[0]));
  longer.Prefixed(message->substr(kMessageHeaderSize) + "!");
  *message = longer.str();
}

void Shorten(std::string* message, HandshakePair& /*pair*/) {
  crypto::ByteWriter shorter;
  shorter.U8(static_cast<uint8_t>((*message)[0]));
  shorter.Prefixed(message->substr(kMessageHeaderSize, message->size() - kMessageHeaderSize - 1));
  *message = shorter.str();
}

void Reflect(std::string* message, HandshakePair& pair) {
  const MessageType type = *TypeOf(crypto::AsBytes(*message));
  *message = HandshakePair::Last(pair.sent_by_initiator, type);
}

void FlipLastByte(std::string* message, HandshakePair& /*pair*/) { message->back() ^= 1; }

const MessageAttack kMessageAttacks[] = {
    {"HelloOfAnotherVersion", Role::kInitiator, MessageType::kHello,
     [](std::string* message, HandshakePair&) { (*message)[kMessageHeaderSize] = 2; },
     kHelloVersion},
    {"HelloReflected", Role::kResponder, MessageType::kHello, Reflect, kHelloRole},
    {"HelloOfAnotherRound", Role::kInitiator, MessageType::kHello,
     ChangeHello<[](Hello& h) { h.round = 1; }>, kHelloRound},
    {"HelloWithoutANonce", Role::kInitiator, MessageType::kHello,
     ChangeHello<[](Hello& h) { h.nonce = {}; }>, kHelloNonce},
    {"HelloWithTheOthersNonce", Role::kResponder, MessageType::kHello,
     [](std::string* message, HandshakePair& pair) {
       Hello hello = *DecodeHello(crypto::AsBytes(*message));
       hello.nonce = DecodeHello(crypto::AsBytes(pair.sent_by_initiator[0]))->nonce;
       *message = Encode(hello);
     },
     kHelloNonce},
    {"HelloThatReplacesNothing", Role::kInitiator, MessageType::kHello,
     ChangeHello<[](Hello& h) { h.replaces = Replacement(); }>, kHelloReplaces},
    {"HelloOfTheInitiatorChanged", Role::kInitiator, MessageType::kHello,
     ChangeHello<[](Hello& h) { h.offer = "another"; }>, kAcceptMac},
    {"HelloOfTheResponderChanged", Role::kResponder, MessageType::kHello,
     ChangeHello<[](Hello& h) { h.offer = "another"; }>, kAcceptMac},
    {"PolicyDowngradedForTheResponder", Role::kInitiator, MessageType::kHello,
     ChangeHello<[](Hello& h) { h.policy_digest.fill(0); }>, kEvidencePolicy},
    {"PolicyDowngradedForTheInitiator", Role::kResponder, MessageType::kHello,
     ChangeHello<[](Hello& h) { h.policy_digest.fill(0); }>, kEvidencePolicy},
    {"HelloTrailing", Role::kInitiator, MessageType::kHello, Lengthen, kMessageFormat},
    {"HelloShort", Role::kInitiator, MessageType::kHello, Shorten, kMessageFormat},
    {"EvidenceTrailing", Role::kInitiator, MessageType::kEvidence, Lengthen, kMessageFormat},
    {"EvidenceShort", Role::kResponder, MessageType::kEvidence, Shorten, kMessageFormat},
    {"AcceptTrailing", Role::kInitiator, MessageType::kAccept, Lengthen, kMessageFormat},
    {"AcceptShort", Role::kResponder, MessageType::kAccept, Shorten, kMessageFormat},
    {"AcceptFlipped", Role::kInitiator, MessageType::kAccept, FlipLastByte, kAcceptMac},
    {"AcceptReflected", Role::kResponder, MessageType::kAccept, Reflect, kAcceptMac},
    {"AcceptOfAnotherRound", Role::kInitiator, MessageType::kAccept,
     [](std::string* message, HandshakePair&) {
       Accept accept = *DecodeAccept(crypto::AsBytes(*message));
       accept.round = 9;
       *message = Encode(accept);
     },
     kAcceptRound},
};

class MessageAdversary : public testing::TestWithParam<MessageAttack> {};

TEST_P(MessageAdversary, IsRefusedWithItsReason) {
  const MessageAttack& attack = GetParam();
  HandshakePair pair;
  pair.change = [&](Role from, std::string* message) {
    if (from == attack.from && *TypeOf(crypto::AsBytes(*message)) == attack.type) {
      attack.change(message, pair);
    }
  };
  pair.Run();
  EXPECT_FALSE(pair.initiator->established());
  EXPECT_FALSE(pair.responder->established() && attack.from == Role::kInitiator);
  const std::string at_initiator = ReasonOf(pair.initiator->status());
  EXPECT_EQ(at_initiator, attack.reason) << pair.initiator->status();
  EXPECT_EQ(ReasonOf(pair.responder->status()), attack.reason) << pair.responder->status();
}

INSTANTIATE_TEST_SUITE_P(Messages, MessageAdversary, testing::ValuesIn(kMessageAttacks),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(MessageAdversary, MessagesOutOfOrderAreRefused) {
  HandshakePair honest;
  honest.Run();
  const std::vector<std::string>& sent = honest.sent_by_initiator;
  ASSERT_EQ(sent.size(), 3u);
  // Every order of the initiator's messages but the right one, twice the same included.
  for (const std::vector<int>& order :
       std::vector<std::vector<int>>{{1}, {2}, {0, 0}, {0, 2}, {0, 1, 0}, {0, 1, 1}}) {
    HandshakePair fresh;
    absl::Status last;
    for (const int i : order) {
      last = fresh.responder->OnMessage(crypto::AsBytes(sent[static_cast<size_t>(i)]));
      if (last.ok()) {
        ServeForTest(*fresh.responder, fresh.fake_responder_tee, fresh.fake_appraiser)
            .IgnoreError();
      }
    }
    EXPECT_EQ(ReasonOf(last), kMessageOrder);
  }
}

// A channel that cannot be named binds nothing: the handshake fails closed, on either side.
struct ExporterFault {
  const char* name;
  absl::StatusOr<crypto::SecretBytes> (*value)(size_t size);
};

const ExporterFault kExporterFaults[] = {
    {"Error",
     [](size_t) -> absl::StatusOr<crypto::SecretBytes> { return absl::InternalError("no"); }},
    {"Empty", [](size_t) { return absl::StatusOr<crypto::SecretBytes>(crypto::SecretBytes()); }},
    {"Short", [](size_t size) { return crypto::SecretBytes::Random(size / 2); }},
    {"Zeros", [](size_t size) { return crypto::SecretBytes::Zero(size); }},
};

TEST(ExporterAdversary, FailsClosedForEachLabel) {
  for (const ExporterFault& fault : kExporterFaults) {
    for (const char* label : {"caravan/1 session id", "caravan/1 binding", "caravan/1 session"}) {
      for (const Role role : {Role::kInitiator, Role::kResponder}) {
        SCOPED_TRACE(std::string(fault.name) + " " + label);
        HandshakeOptions a = HandshakeOptionsForTest(Role::kInitiator, "a", "b", "ab", "a");
        HandshakeOptions b = HandshakeOptionsForTest(Role::kResponder, "b", "a", "ab", "b");
        HandshakeOptions& faulty = role == Role::kInitiator ? a : b;
        bool armed = true;
        faulty.exporter = [&, good = faulty.exporter](std::string_view asked,
                                                      absl::Span<const uint8_t> context,
                                                      size_t size) {
          return armed && asked == label ? fault.value(size) : good(asked, context, size);
        };
        if (std::string_view(label) == "caravan/1 session id") {
          EXPECT_EQ(ReasonOf(Handshake::Create(std::move(faulty)).status()), kExporter);
          continue;
        }
        HandshakePair pair(std::move(a), std::move(b));
        pair.Run();
        EXPECT_FALSE(pair.initiator->established());
        EXPECT_FALSE(pair.responder->established());
        EXPECT_EQ(ReasonOf(pair.machine(role).status()), kExporter);
      }
    }
  }
}

}  // namespace
}  // namespace caravan::session
