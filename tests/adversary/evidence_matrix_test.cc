// SPDX-License-Identifier: Apache-2.0
//
// The evidence matrix: everything that evidence is bound to, changed one at a time, against both
// verifiers, in the handshake and in a later round, on every backend. The attacker tries twice:
// with the message as it came, and with its outside rewritten to what the verifier expects.
#include <gtest/gtest.h>

#include <set>

#include "attestation/binder.h"
#include "daemon/session/handshake_testing.h"
#include "daemon/session/reasons.h"
#include "tests/adversary/backends.h"

namespace caravan::session {
namespace {

using crypto::Role;

Role Other(Role role) { return role == Role::kInitiator ? Role::kResponder : Role::kInitiator; }

// All that a genuine node can be made to put into evidence.
struct Binding {
  std::string channel = "ab";
  Challenge challenge;
  std::string spki;
  std::string purpose{attestation::kSessionPurpose};
  size_t binder_bytes = 32;     // the rest of the binder is zeros
  bool no_report_data = false;  // zeros altogether
};

struct BindingAttack {
  const char* name;
  void (*change)(Binding&);
  absl::string_view reason;  // of the message as it came; empty: its outside does not show it
};

const BindingAttack kBindingAttacks[] = {
    {"FromAnotherSession",
     [](Binding& b) {
       b.channel = "another";
       b.challenge.nonce.fill(0x11);
     },
     kEvidenceSession},
    // A man in the middle holds both challenges: the same nonce and policy, on his other channel.
    {"RelayedBetweenTwoHonestNodes", [](Binding& b) { b.channel = "another"; }, kEvidenceSession},
    {"RolesSwapped", [](Binding& b) { b.challenge.attester = Other(b.challenge.attester); },
     kEvidenceRole},
    {"Reflected",
     [](Binding& b) {
       b.challenge.attester = Other(b.challenge.attester);
       b.spki = SpkiForTest(b.spki == SpkiForTest("a") ? "b" : "a");
     },
     kEvidenceRole},
    {"OfAnotherRound", [](Binding& b) { b.challenge.round ^= 1; }, kEvidenceRound},
    {"OverAnotherNonce", [](Binding& b) { b.challenge.nonce[31] ^= 1; }, kEvidenceNonce},
    {"OverAnotherPolicy", [](Binding& b) { b.challenge.policy_digest[0] ^= 1; }, kEvidencePolicy},
    {"ForAnotherKey", [](Binding& b) { b.spki = SpkiForTest("c"); }, ""},
    {"ForAnotherPurpose", [](Binding& b) { b.purpose = "workload"; }, ""},
    {"BinderEmpty", [](Binding& b) { b.binder_bytes = 0; }, ""},
    {"BinderShort", [](Binding& b) { b.binder_bytes = 16; }, ""},
    {"BinderAbsent", [](Binding& b) { b.no_report_data = true; }, ""},
};

std::string MakeEvidence(const Binding& binding, attestation::Attester& attester) {
  const Exporter exporter = ChannelForTest(binding.channel);
  const crypto::SessionId session = *ExportSessionId(exporter);
  attestation::Binder binder = *ExportBinder(exporter, binding.challenge);
  std::fill(binder.bytes.begin() + static_cast<long>(binding.binder_bytes), binder.bytes.end(), 0);
  attestation::ReportData data = *attestation::MakeReportData(
      binding.challenge.attester, binder, crypto::Sha256(crypto::AsBytes(binding.spki)),
      binding.purpose, session);
  if (binding.no_report_data) data = {};
  EvidenceMessage message;
  message.role = binding.challenge.attester;
  message.round = binding.challenge.round;
  message.session = session;
  message.nonce = binding.challenge.nonce;
  message.policy_digest = binding.challenge.policy_digest;
  message.evidence =
      attestation::Encode(*attester.CollectFor({data, binding.challenge.attester, binder}));
  return Encode(message);
}

// Another message's evidence in the wrapper that the genuine message came in.
std::string Rewrap(const std::string& message, const std::string& genuine) {
  EvidenceMessage wrapper = *DecodeEvidence(crypto::AsBytes(genuine));
  wrapper.evidence = DecodeEvidence(crypto::AsBytes(message))->evidence;
  return Encode(wrapper);
}

using MatrixCase = std::tuple<BackendKind, Role, uint32_t>;  // the verifier's role, the round

class EvidenceMatrix : public testing::TestWithParam<MatrixCase> {
 protected:
  EvidenceMatrix() : backend_(MakeBackend(std::get<0>(GetParam()))) {}

  Role verifier() const { return std::get<1>(GetParam()); }
  uint32_t round() const { return std::get<2>(GetParam()); }

  std::unique_ptr<HandshakePair> NewPair(const std::string& channel = "ab",
                                         const std::string& seed = "") {
    HandshakeOptions a = HandshakeOptionsForTest(Role::kInitiator, "a", "b", channel, "a" + seed);
    HandshakeOptions b = HandshakeOptionsForTest(Role::kResponder, "b", "a", channel, "b" + seed);
    a.policy_digest = b.policy_digest = backend_.appraiser->PolicyDigest();
    auto pair = std::make_unique<HandshakePair>(std::move(a), std::move(b));
    pair->initiator_tee = pair->responder_tee = backend_.attester.get();
    pair->appraiser = backend_.appraiser.get();
    pair->now = backend_.now;
    return pair;
  }

  // Runs up to and through this case's round.
  void RunRounds(HandshakePair& pair) {
    const auto change = std::exchange(pair.change, nullptr);
    if (round() > 0) {
      pair.Run();
      ASSERT_TRUE(pair.initiator->StartRound().ok());
    }
    pair.change = change;
    pair.Run();
  }

  // The verifier's reason when `forge` makes what it gets in place of the genuine evidence.
  std::string ReasonFor(
      const std::function<std::string(HandshakePair&, const std::string&)>& forge) {
    std::unique_ptr<HandshakePair> pair = NewPair();
    pair->change = [&](Role from, std::string* message) {
      if (from == verifier() || *TypeOf(crypto::AsBytes(*message)) != MessageType::kEvidence)
        return;
      *message = forge(*pair, *message);
    };
    RunRounds(*pair);
    const Handshake& machine = pair->machine(verifier());
    EXPECT_EQ(machine.established(), false);
    // Both ends learn the same reason.
    EXPECT_EQ(ReasonOf(pair->machine(Other(verifier())).status()), ReasonOf(machine.status()));
    return ReasonOf(machine.status());
  }

  Backend backend_;
};

TEST_P(EvidenceMatrix, UnchangedEvidenceIsTaken) {
  std::unique_ptr<HandshakePair> pair = NewPair();
  RunRounds(*pair);
  EXPECT_TRUE(pair->initiator->established()) << pair->initiator->status();
  EXPECT_TRUE(pair->responder->established()) << pair->responder->status();
  EXPECT_EQ(*pair->initiator->round(), round());
}

TEST_P(EvidenceMatrix, EachInputOfTheBindingIsHeld) {
  for (const BindingAttack& attack : kBindingAttacks) {
    SCOPED_TRACE(attack.name);
    const auto forge = [&](const std::string& genuine) {
      const EvidenceMessage asked = *DecodeEvidence(crypto::AsBytes(genuine));
      Binding binding;
      binding.challenge = {Other(verifier()), round(), asked.nonce, asked.policy_digest};
      binding.spki = SpkiForTest(verifier() == Role::kInitiator ? "b" : "a");
      attack.change(binding);
      return MakeEvidence(binding, *backend_.attester);
    };
    EXPECT_EQ(ReasonFor([&](HandshakePair&, const std::string& genuine) { return forge(genuine); }),
              attack.reason.empty() ? backend_.report_data_check : std::string(attack.reason));
    EXPECT_EQ(ReasonFor([&](HandshakePair&, const std::string& genuine) {
                return Rewrap(forge(genuine), genuine);
              }),
              backend_.report_data_check);
  }
}

TEST_P(EvidenceMatrix, RecordedEvidenceOfAnEarlierSessionIsRefused) {
  std::unique_ptr<HandshakePair> earlier = NewPair("yesterday", "yesterday");
  RunRounds(*earlier);
  const std::string recorded =
      HandshakePair::Last(earlier->sent_by(Other(verifier())), MessageType::kEvidence);
  ASSERT_NE(recorded, "");
  EXPECT_EQ(ReasonFor([&](HandshakePair&, const std::string&) { return recorded; }),
            kEvidenceSession);
  EXPECT_EQ(ReasonFor([&](HandshakePair&, const std::string& genuine) {
              return Rewrap(recorded, genuine);
            }),
            backend_.report_data_check);
}

TEST_P(EvidenceMatrix, TheVerifiersOwnEvidenceIsRefused) {
  const auto own = [this](HandshakePair& pair) {
    return HandshakePair::Last(pair.sent_by(verifier()), MessageType::kEvidence);
  };
  // The responder shows none before it has verified: in round 0 there is nothing to reflect.
  if (verifier() == Role::kResponder && round() == 0) return;
  EXPECT_EQ(ReasonFor([&](HandshakePair& pair, const std::string&) { return own(pair); }),
            kEvidenceRole);
  EXPECT_EQ(ReasonFor([&](HandshakePair& pair, const std::string& genuine) {
              return Rewrap(own(pair), genuine);
            }),
            backend_.report_data_check);
}

TEST_P(EvidenceMatrix, EvidenceOfTheRoundBeforeIsRefused) {
  if (round() == 0) return;
  const auto first = [this](HandshakePair& pair) {
    for (const std::string& message : pair.sent_by(Other(verifier()))) {
      if (*TypeOf(crypto::AsBytes(message)) == MessageType::kEvidence) return message;
    }
    return std::string();
  };
  EXPECT_EQ(ReasonFor([&](HandshakePair& pair, const std::string&) { return first(pair); }),
            kEvidenceRound);
  EXPECT_EQ(ReasonFor([&](HandshakePair& pair, const std::string& genuine) {
              return Rewrap(first(pair), genuine);
            }),
            backend_.report_data_check);
}

TEST_P(EvidenceMatrix, EvidenceThatIsNoneIsRefused) {
  const auto with = [](const std::string& genuine, std::string bytes) {
    EvidenceMessage message = *DecodeEvidence(crypto::AsBytes(genuine));
    message.evidence = std::move(bytes);
    return Encode(message);
  };
  EXPECT_EQ(
      ReasonFor([&](HandshakePair&, const std::string& genuine) { return with(genuine, ""); }),
      kEvidenceFormat);
  EXPECT_EQ(ReasonFor([&](HandshakePair&, const std::string& genuine) {
              return with(genuine, std::string(1000, '\xFF'));
            }),
            kEvidenceFormat);
  EXPECT_NE(ReasonFor([&](HandshakePair&, const std::string& genuine) {
              return with(genuine, attestation::Encode(attestation::EvidenceSet()));
            }),
            "");
}

// The CPU's evidence as it should be; what stands beside it is another's, or in another order.
TEST_P(EvidenceMatrix, DevicesThatAnswerSomethingElseAreRefused) {
  if (std::get<0>(GetParam()) != BackendKind::kComposite) return;
  using Edit = std::function<void(const EvidenceMessage&, attestation::EvidenceSet*)>;
  const auto of_request = [this](const EvidenceMessage& asked, const std::string& channel,
                                 Role attester) {
    const Challenge challenge{attester, asked.round, asked.nonce, asked.policy_digest};
    const attestation::Binder binder = *ExportBinder(ChannelForTest(channel), challenge);
    return *backend_.attester->CollectFor({{}, attester, binder});
  };
  const std::pair<const char*, Edit> edits[] = {
      {"IndexSwapped",
       [](const EvidenceMessage&, attestation::EvidenceSet* set) {
         std::swap(set->items[1], set->items[2]);
       }},
      {"Absent",
       [](const EvidenceMessage&, attestation::EvidenceSet* set) { set->items.pop_back(); }},
      {"Twice", [](const EvidenceMessage&,
                   attestation::EvidenceSet* set) { set->items.push_back(set->items[1]); }},
      {"OfAnotherChannel",
       [&](const EvidenceMessage& asked, attestation::EvidenceSet* set) {
         set->items[1] = of_request(asked, "another", asked.role).items[1];
       }},
      {"OfTheOtherRole",
       [&](const EvidenceMessage& asked, attestation::EvidenceSet* set) {
         set->items[1] = of_request(asked, "ab", Other(asked.role)).items[1];
       }},
      // The binder is right: the CPU's evidence, over other report data, is not.
      {"BesideOtherCpuEvidence",
       [&](const EvidenceMessage& asked, attestation::EvidenceSet* set) {
         set->items[1] = of_request(asked, "ab", asked.role).items[1];
       }},
  };
  for (const auto& [name, edit] : edits) {
    SCOPED_TRACE(name);
    EXPECT_EQ(ReasonFor([&, &edit = edit](HandshakePair&, const std::string& genuine) {
                EvidenceMessage message = *DecodeEvidence(crypto::AsBytes(genuine));
                attestation::EvidenceSet set =
                    *attestation::DecodeEvidenceSet(crypto::AsBytes(message.evidence));
                edit(message, &set);
                message.evidence = attestation::Encode(set);
                return Encode(message);
              }),
              "NVIDIA_NONCE");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Backends, EvidenceMatrix,
    testing::Combine(testing::Values(BackendKind::kFake, BackendKind::kInsecureSoftware,
                                     BackendKind::kInsecureTdx, BackendKind::kComposite),
                     testing::Values(Role::kInitiator, Role::kResponder), testing::Values(0u, 1u)),
    [](const auto& info) {
      return Name(std::get<0>(info.param)) +
             (std::get<1>(info.param) == Role::kInitiator ? "Initiator" : "Responder") + "Round" +
             std::to_string(std::get<2>(info.param));
    });

TEST(EvidenceMatrix, CausesThatCanBeToldApartHaveReasonsOfTheirOwn) {
  std::set<std::string> reasons;
  for (const BindingAttack& attack : kBindingAttacks) reasons.insert(std::string(attack.reason));
  // Session, role, round, nonce, policy; and what only the report shows.
  EXPECT_EQ(reasons.size(), 6u);
}

}  // namespace
}  // namespace caravan::session
