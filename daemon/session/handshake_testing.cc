// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/handshake_testing.h"

#include <algorithm>
#include <utility>

#include "attestation/evidence.h"

namespace caravan::session {
namespace {

using crypto::Role;

class BuggyHandshake final : public Handshake {
 public:
  BuggyHandshake(HandshakeOptions options, const HandshakeBugsForTest& bugs)
      : Handshake(std::move(options)), bugs_(bugs) {}
  using Handshake::options;
  using Handshake::Prepare;

 protected:
  absl::StatusOr<attestation::EvidenceRequest> RequestOf(
      const Challenge& challenge) const override {
    if (!bugs_.same_binder_for_both_roles) return Handshake::RequestOf(challenge);
    Challenge same;
    same.round = challenge.round;
    absl::StatusOr<attestation::Binder> binder = ExportBinder(options().exporter, same);
    if (!binder.ok()) return binder.status();
    absl::StatusOr<attestation::ReportData> data = attestation::MakeReportData(
        Role::kInitiator, *binder, {}, attestation::kSessionPurpose, id());
    if (!data.ok()) return data.status();
    return attestation::EvidenceRequest{*data, Role::kInitiator, *binder};
  }

  bool MacMatches(const crypto::Sha384Digest& expected,
                  const crypto::Sha384Digest& received) const override {
    return bugs_.accept_unchecked || Handshake::MacMatches(expected, received);
  }

 private:
  const HandshakeBugsForTest bugs_;
};

}  // namespace

Exporter ChannelForTest(const std::string& name) {
  return [name](std::string_view label, absl::Span<const uint8_t> context,
                size_t size) -> absl::StatusOr<crypto::SecretBytes> {
    absl::StatusOr<crypto::SecretBytes> key = crypto::SecretBytes::Copy(crypto::AsBytes(name));
    if (!key.ok()) return key.status();
    crypto::ByteWriter input;
    input.Prefixed(label).Prefixed(context).U32(static_cast<uint32_t>(size));
    absl::StatusOr<crypto::Sha384Digest> mac = crypto::HmacSha384(*key, input.span());
    if (!mac.ok()) return mac.status();
    return crypto::SecretBytes::Copy(absl::MakeConstSpan(*mac).first(size));
  };
}

std::string SpkiForTest(const std::string& node) {
  std::string spki = "spki of " + node;
  spki.resize(44, '.');
  return spki;
}

HandshakeOptions HandshakeOptionsForTest(Role role, const std::string& local,
                                         const std::string& peer, const std::string& channel,
                                         const std::string& seed) {
  HandshakeOptions options;
  options.role = role;
  options.local_spki = SpkiForTest(local);
  options.peer_spki = SpkiForTest(peer);
  options.exporter = ChannelForTest(channel);
  options.policy_digest = FakeAppraiser().PolicyDigest();
  options.offer = "offer of " + local;
  options.random = [seed, count = 0](absl::Span<uint8_t> out) mutable {
    crypto::ByteWriter input;
    input.Prefixed(seed).U32(static_cast<uint32_t>(count++));
    const crypto::Sha256Digest digest = crypto::Sha256(input.span());
    std::copy_n(digest.begin(), std::min(out.size(), digest.size()), out.begin());
    return absl::OkStatus();
  };
  return options;
}

absl::StatusOr<std::unique_ptr<Handshake>> CreateHandshakeForTest(
    HandshakeOptions options, const HandshakeBugsForTest& bugs) {
  auto handshake = std::make_unique<BuggyHandshake>(std::move(options), bugs);
  if (absl::Status status = handshake->Prepare(); !status.ok()) return status;
  return handshake;
}

bool HoldsGivenSecretsForTest(const Handshake& handshake) {
  const HandshakeOptions& options = dynamic_cast<const BuggyHandshake&>(handshake).options();
  return !options.psk.empty() || !options.replaced_secret.empty();
}

absl::Status ServeForTest(Handshake& handshake, attestation::Attester& attester,
                          const attestation::Appraiser& appraiser, absl::Time now) {
  while (true) {
    absl::Status status;
    if (handshake.want() == Handshake::Want::kEvidence) {
      absl::StatusOr<attestation::EvidenceSet> set = attester.CollectFor(handshake.request());
      status = handshake.ProvideEvidence(set.ok() ? absl::StatusOr<std::string>(Encode(*set))
                                                  : set.status());
    } else if (handshake.want() == Handshake::Want::kAppraisal) {
      absl::StatusOr<attestation::EvidenceSet> set =
          attestation::DecodeEvidenceSet(crypto::AsBytes(handshake.peer_evidence()));
      status = handshake.ProvideAppraisal(
          set.ok() ? absl::StatusOr<attestation::Appraisal>(
                         appraiser.AppraiseFor(*set, handshake.request(), now))
                   : set.status());
    } else {
      return absl::OkStatus();
    }
    if (!status.ok()) return status;
  }
}

HandshakePair::HandshakePair(HandshakeOptions initiator_options, HandshakeOptions responder_options)
    : initiator(std::move(*Handshake::Create(std::move(initiator_options)))),
      responder(std::move(*Handshake::Create(std::move(responder_options)))) {
  initiator->Start().IgnoreError();
  responder->Start().IgnoreError();
}

HandshakePair::HandshakePair()
    : HandshakePair(HandshakeOptionsForTest(Role::kInitiator, "a", "b", "ab", "a1"),
                    HandshakeOptionsForTest(Role::kResponder, "b", "a", "ab", "b1")) {}

void HandshakePair::Run() {
  const auto carry = [this](Role from) {
    Handshake& source = from == Role::kInitiator ? *initiator : *responder;
    Handshake& target = from == Role::kInitiator ? *responder : *initiator;
    std::vector<std::string> messages = source.TakeOutput();
    for (std::string& message : messages) {
      (from == Role::kInitiator ? sent_by_initiator : sent_by_responder).push_back(message);
      if (change) change(from, &message);
      if (message.empty()) continue;
      if (!target.OnMessage(crypto::AsBytes(message)).ok()) continue;
      ServeForTest(target, from == Role::kInitiator ? *responder_tee : *initiator_tee, *appraiser,
                   now)
          .IgnoreError();
    }
    return !messages.empty();
  };
  bool moved = true;
  while (moved) {
    moved = carry(Role::kInitiator);
    moved = carry(Role::kResponder) || moved;
  }
}

std::string HandshakePair::Last(const std::vector<std::string>& sent, MessageType type) {
  for (auto message = sent.rbegin(); message != sent.rend(); ++message) {
    absl::StatusOr<MessageType> found = TypeOf(crypto::AsBytes(*message));
    if (found.ok() && *found == type) return *message;
  }
  return "";
}

}  // namespace caravan::session
