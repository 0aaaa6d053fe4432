// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/handshake.h"

#include <gtest/gtest.h>

#include <set>

#include "daemon/session/handshake_testing.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

using crypto::Role;
using Want = Handshake::Want;

std::vector<int> Types(const std::vector<std::string>& messages) {
  std::vector<int> types;
  for (const std::string& message : messages) types.push_back(message[0]);
  return types;
}

std::string Bytes(const crypto::SecretBytes& secret) {
  return {secret.Expose().begin(), secret.Expose().end()};
}

TEST(Handshake, BothEndsAgreeOnEverything) {
  HandshakePair pair;
  pair.Run();
  ASSERT_TRUE(pair.initiator->established()) << pair.initiator->status();
  ASSERT_TRUE(pair.responder->established()) << pair.responder->status();
  EXPECT_EQ(*pair.initiator->session_id(), *pair.responder->session_id());
  EXPECT_EQ(Bytes(*pair.initiator->CloneSecret()), Bytes(*pair.responder->CloneSecret()));
  EXPECT_EQ(*pair.initiator->transcript(), *pair.responder->transcript());
  EXPECT_EQ(*pair.initiator->peer_offer(), "offer of b");
  EXPECT_EQ(*pair.responder->peer_offer(), "offer of a");
  EXPECT_EQ(*pair.initiator->round(), 0u);
  EXPECT_EQ(*pair.initiator->replaced(), std::nullopt);
}

TEST(Handshake, MessagesComeInTheOneOrder) {
  HandshakePair pair;
  std::string order;
  pair.change = [&order](Role from, std::string* message) {
    order += from == Role::kInitiator ? "I" : "R";
    order += std::to_string((*message)[0]);
  };
  pair.Run();
  EXPECT_EQ(order, "I1R1I2R2I3R3");  // Hello, Evidence, Accept
}

TEST(Handshake, TheResponderShowsEvidenceOnlyToAnAppraisedPeer) {
  HandshakePair pair;
  pair.fake_initiator_tee.SetMeasurement("bad");
  pair.Run();
  EXPECT_EQ(pair.fake_responder_tee.collected(), 0);
  EXPECT_EQ(ReasonOf(pair.responder->status()), kFakeMeasurementCheck);
  EXPECT_EQ(ReasonOf(pair.initiator->status()), kFakeMeasurementCheck);
  EXPECT_EQ(Types(pair.sent_by_responder), (std::vector<int>{1, 4}));  // Hello, then the alert
}

TEST(Handshake, GettersFailBeforeItIsComplete) {
  HandshakePair pair;
  pair.change = [&](Role, std::string* message) {
    for (const Role role : {Role::kInitiator, Role::kResponder}) {
      if (pair.machine(role).established()) continue;
      EXPECT_EQ(pair.machine(role).session_id().status().code(),
                absl::StatusCode::kFailedPrecondition);
      EXPECT_FALSE(pair.machine(role).CloneSecret().ok());
      EXPECT_FALSE(pair.machine(role).peer_offer().ok());
      EXPECT_FALSE(pair.machine(role).transcript().ok());
      EXPECT_FALSE(pair.machine(role).round().ok());
      EXPECT_FALSE(pair.machine(role).StartRound().ok());
    }
  };
  pair.Run();
  EXPECT_TRUE(pair.initiator->established());
}

TEST(Handshake, GettersFailAfterAnError) {
  HandshakePair pair;
  pair.Run();
  ASSERT_TRUE(pair.initiator->established());
  absl::Status reason = Refusal(absl::StatusCode::kDeadlineExceeded, kDeadline, "too late");
  EXPECT_EQ(pair.initiator->Abort(reason), reason);
  EXPECT_FALSE(pair.initiator->established());
  EXPECT_EQ(pair.initiator->want(), Want::kDead);
  EXPECT_EQ(pair.initiator->CloneSecret().status(), reason);
  // The first reason stays, and one alert says it.
  EXPECT_EQ(pair.initiator->Abort(absl::InternalError("later")), reason);
  EXPECT_EQ(Types(pair.initiator->TakeOutput()), (std::vector<int>{4}));
}

TEST(Handshake, ThePreSharedKeyIsInTheSessionSecret) {
  const auto secret = [](const std::string& psk) {
    HandshakeOptions a = HandshakeOptionsForTest(Role::kInitiator, "a", "b", "ab", "a");
    HandshakeOptions b = HandshakeOptionsForTest(Role::kResponder, "b", "a", "ab", "b");
    if (!psk.empty()) {
      a.psk = *crypto::SecretBytes::Copy(crypto::AsBytes(psk));
      b.psk = *crypto::SecretBytes::Copy(crypto::AsBytes(psk));
    }
    HandshakePair pair(std::move(a), std::move(b));
    pair.Run();
    EXPECT_TRUE(pair.initiator->established());
    return Bytes(*pair.initiator->CloneSecret());
  };
  EXPECT_EQ(secret("one"), secret("one"));
  EXPECT_NE(secret("one"), secret("two"));
  EXPECT_NE(secret("one"), secret(""));
}

TEST(Handshake, RoundsKeepTheKeysAndChangeTheRest) {
  HandshakePair pair;
  pair.Run();
  const std::string secret = Bytes(*pair.initiator->CloneSecret());
  const crypto::SessionId id = *pair.initiator->session_id();
  std::set<crypto::Sha384Digest> transcripts = {*pair.initiator->transcript()};
  for (uint32_t round = 1; round <= 4; ++round) {
    const Role starter = round % 2 == 0 ? Role::kInitiator : Role::kResponder;
    ASSERT_TRUE(pair.machine(starter).StartRound().ok());
    ASSERT_TRUE(pair.machine(starter).StartRound().ok());  // once is enough
    pair.Run();
    ASSERT_TRUE(pair.initiator->established()) << pair.initiator->status();
    EXPECT_EQ(*pair.initiator->round(), round);
    EXPECT_EQ(*pair.responder->round(), round);
    EXPECT_FALSE(pair.initiator->round_pending());
    EXPECT_FALSE(pair.responder->round_pending());
    EXPECT_EQ(*pair.initiator->transcript(), *pair.responder->transcript());
    transcripts.insert(*pair.initiator->transcript());
  }
  EXPECT_EQ(transcripts.size(), 5u);
  EXPECT_EQ(Bytes(*pair.initiator->CloneSecret()), secret);
  EXPECT_EQ(*pair.initiator->session_id(), id);
}

TEST(Handshake, RoundsStartedByBothEndsAreOne) {
  HandshakePair pair;
  pair.Run();
  ASSERT_TRUE(pair.responder->StartRound().ok());
  ASSERT_TRUE(pair.initiator->StartRound().ok());
  EXPECT_EQ(*pair.initiator->round(), 0u);  // of the last complete one
  pair.Run();
  EXPECT_TRUE(pair.initiator->established() && pair.responder->established());
  EXPECT_EQ(*pair.initiator->round(), 1u);
  EXPECT_EQ(*pair.responder->round(), 1u);
}

TEST(Handshake, APeerThatChangedFailsTheRound) {
  HandshakePair pair;
  pair.Run();
  pair.fake_responder_tee.SetMeasurement("bad");
  ASSERT_TRUE(pair.initiator->StartRound().ok());
  pair.Run();
  EXPECT_EQ(ReasonOf(pair.initiator->status()), kFakeMeasurementCheck);
  EXPECT_EQ(ReasonOf(pair.responder->status()), kFakeMeasurementCheck);
}

// Replacement: the responder finds the old secret by the old session's id.
struct ReplacementCase {
  const char* name;
  const char* initiator_secret;
  const char* responder_secret;  // null: no such session
  bool works;
};

TEST(Handshake, ANewSessionProvesTheOneThatItReplaces) {
  const ReplacementCase cases[] = {{"same", "old secret", "old secret", true},
                                   {"another", "guess", "old secret", false},
                                   {"unknown", "old secret", nullptr, false}};
  crypto::SessionId old{};
  old.fill(0x33);
  for (const ReplacementCase& test : cases) {
    SCOPED_TRACE(test.name);
    HandshakeOptions a = HandshakeOptionsForTest(Role::kInitiator, "a", "b", "new", "a");
    HandshakeOptions b = HandshakeOptionsForTest(Role::kResponder, "b", "a", "new", "b");
    const auto padded = [](std::string text) {
      text.resize(48, '.');
      return *crypto::SecretBytes::Copy(crypto::AsBytes(text));
    };
    a.replaces = old;
    a.replaced_secret = padded(test.initiator_secret);
    b.find_replaced = [&](const crypto::SessionId& id) -> absl::StatusOr<crypto::SecretBytes> {
      EXPECT_EQ(id, old);
      if (test.responder_secret == nullptr) return absl::NotFoundError("closed");
      return padded(test.responder_secret);
    };
    HandshakePair pair(std::move(a), std::move(b));
    pair.Run();
    EXPECT_EQ(pair.initiator->established(), test.works) << pair.initiator->status();
    if (test.works) {
      EXPECT_EQ(*pair.initiator->replaced(), old);
      EXPECT_EQ(*pair.responder->replaced(), old);
    } else {
      EXPECT_EQ(ReasonOf(pair.responder->status()), kHelloReplaces);
    }
  }
}

// They would stay with the connection for as long as it lives: the next session's, in the case of
// the replaced one's.
TEST(Handshake, KeepsNoSecretThatItWasGivenBeyondRoundZero) {
  for (const bool fails : {false, true}) {
    const auto secret = [](char fill) {
      return *crypto::SecretBytes::Copy(crypto::AsBytes(std::string(48, fill)));
    };
    HandshakeOptions a = HandshakeOptionsForTest(Role::kInitiator, "a", "b", "new", "a");
    HandshakeOptions b = HandshakeOptionsForTest(Role::kResponder, "b", "a", "new", "b");
    a.psk = secret('k');
    b.psk = secret(fails ? 'x' : 'k');
    a.replaces = crypto::SessionId{1};
    a.replaced_secret = secret('o');
    b.find_replaced = [&](const crypto::SessionId&) -> absl::StatusOr<crypto::SecretBytes> {
      return secret('o');
    };
    HandshakePair pair;
    pair.initiator = std::move(*CreateHandshakeForTest(std::move(a), {}));
    pair.responder = std::move(*CreateHandshakeForTest(std::move(b), {}));
    EXPECT_TRUE(HoldsGivenSecretsForTest(*pair.initiator));
    EXPECT_TRUE(pair.initiator->Start().ok() && pair.responder->Start().ok());
    pair.Run();
    EXPECT_EQ(pair.initiator->established(), !fails) << pair.initiator->status();
    EXPECT_FALSE(HoldsGivenSecretsForTest(*pair.initiator));
    EXPECT_FALSE(HoldsGivenSecretsForTest(*pair.responder));
  }
}

TEST(Handshake, OptionsThatContradictThemselvesAreNamed) {
  HandshakeOptions self = HandshakeOptionsForTest(Role::kInitiator, "a", "a", "aa", "a");
  EXPECT_EQ(ReasonOf(Handshake::Create(std::move(self)).status()), kSelf);
  HandshakeOptions long_offer = HandshakeOptionsForTest(Role::kInitiator, "a", "b", "ab", "a");
  long_offer.offer = std::string(kMaxOfferSize + 1, 'x');
  EXPECT_EQ(Handshake::Create(std::move(long_offer)).status().code(),
            absl::StatusCode::kInvalidArgument);
  HandshakeOptions half = HandshakeOptionsForTest(Role::kInitiator, "a", "b", "ab", "a");
  half.replaces = crypto::SessionId();
  EXPECT_EQ(Handshake::Create(std::move(half)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Handshake, FailsWhenThisEndCannotMakeEvidenceOrRandomness) {
  HandshakePair busy;
  busy.fake_responder_tee.BeBusy(1);
  busy.Run();
  EXPECT_EQ(ReasonOf(busy.responder->status()), kAttester);
  EXPECT_EQ(ReasonOf(busy.initiator->status()), kAttester);

  HandshakeOptions broken = HandshakeOptionsForTest(Role::kInitiator, "a", "b", "ab", "a");
  broken.random = [](absl::Span<uint8_t>) { return absl::InternalError("no randomness"); };
  std::unique_ptr<Handshake> machine = std::move(*Handshake::Create(std::move(broken)));
  EXPECT_EQ(machine->Start().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(machine->want(), Want::kDead);
}

TEST(Handshake, AnswersThatNobodyAskedForAreRefused) {
  HandshakePair pair;
  EXPECT_FALSE(pair.initiator->ProvideEvidence(std::string("x")).ok());
  EXPECT_FALSE(pair.initiator->ProvideAppraisal(attestation::Appraisal()).ok());
  EXPECT_FALSE(pair.initiator->Start().ok());
}

}  // namespace
}  // namespace caravan::session
