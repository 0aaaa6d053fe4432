// SPDX-License-Identifier: Apache-2.0
#include "tests/adversary/handshake_model.h"

#include <algorithm>
#include <deque>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace caravan::session {
namespace {

using crypto::Role;

constexpr int kStartRound = -1;  // stands among an end's taken messages for its own timer

Role Other(Role role) { return role == Role::kInitiator ? Role::kResponder : Role::kInitiator; }

MessageType Type(const std::string& message) { return *TypeOf(crypto::AsBytes(message)); }

std::string Text(absl::Span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

Nonce AttackerNonce() {
  Nonce nonce;
  nonce.fill(0xAA);
  return nonce;
}

// Where a message stands in th: I.Hello, R.Hello, I.Evidence, R.Evidence.
size_t Slot(Role sender, MessageType type) {
  return (type == MessageType::kEvidence ? 2 : 0) + (sender == Role::kResponder ? 1 : 0);
}

}  // namespace

int HandshakeModel::Intern(const std::string& message) {
  const auto [found, added] = message_ids_.emplace(message, static_cast<int>(messages_.size()));
  if (added) messages_.push_back(message);
  return found->second;
}

void HandshakeModel::Send(Local* local, const std::string& message) {
  const Role role = ends_[local->end].role;
  local->sent.push_back(Intern(message));
  const MessageType type = Type(message);
  if (type == MessageType::kHello) {
    local->hello = *DecodeHello(crypto::AsBytes(message));
    if (role == Role::kInitiator) local->covered = {};
    local->covered[Slot(role, type)] = message;
  } else if (type == MessageType::kEvidence) {
    local->evidence_sent.push_back(DecodeEvidence(crypto::AsBytes(message))->evidence);
    local->covered[Slot(role, type)] = message;
  } else if (type == MessageType::kAccept) {
    local->accepts_sent.push_back(local->sent.back());
  }
}

void HandshakeModel::Take(Local* local, const std::string& message) {
  const Role role = ends_[local->end].role;
  const MessageType type = Type(message);
  if (type == MessageType::kHello) {
    if (role == Role::kResponder) local->covered = {};
    local->covered[Slot(Other(role), type)] = message;
  } else if (type == MessageType::kEvidence) {
    local->evidence_taken.push_back(DecodeEvidence(crypto::AsBytes(message))->evidence);
    local->covered[Slot(Other(role), type)] = message;
  } else if (type == MessageType::kAccept) {
    local->accepts_taken.push_back(Intern(message));
  }
}

int HandshakeModel::MakeLocal(size_t end, std::vector<int> taken) {
  const auto found = local_ids_.find({end, taken});
  if (found != local_ids_.end()) return found->second;
  const ModelEnd& who = ends_[end];
  Local local;
  local.end = end;
  local.taken = taken;
  std::unique_ptr<Handshake> machine = std::move(
      *CreateHandshakeForTest(HandshakeOptionsForTest(who.role, who.node, who.peer, who.channel,
                                                      absl::StrCat(who.node, who.channel, end)),
                              bugs_));
  FakeAttester attester;
  const FakeAppraiser appraiser;
  const auto collect = [this, &local, &machine] {
    for (const std::string& message : machine->TakeOutput()) {
      if (machine->status().ok()) Send(&local, message);
    }
    local.established = machine->established();
    const absl::StatusOr<crypto::Sha384Digest> transcript = machine->transcript();
    if (!transcript.ok()) return;
    local.round = *machine->round();
    local.agreed[local.round] = absl::StrCat(
        Text(*machine->session_id()), Text(machine->CloneSecret()->Expose()), Text(*transcript));
  };
  machine->Start().IgnoreError();
  collect();
  for (const int id : taken) {
    absl::Status status;
    if (id == kStartRound) {
      status = machine->StartRound();
    } else {
      const std::string message = messages_[static_cast<size_t>(id)];
      status = machine->OnMessage(crypto::AsBytes(message));
      if (status.ok()) Take(&local, message);
      if (status.ok()) status = ServeForTest(*machine, attester, appraiser);
    }
    collect();
    local.dead = !status.ok();
    if (local.dead) break;
  }
  local.wants_hello = local.covered[Slot(Other(who.role), MessageType::kHello)].empty() ||
                      (local.established && who.role == Role::kResponder);
  locals_.push_back(std::move(local));
  const int id = static_cast<int>(locals_.size()) - 1;
  local_ids_[{end, std::move(taken)}] = id;
  return id;
}

int HandshakeModel::LocalAfter(int local, int message) {
  const auto step = steps_.find({local, message});
  if (step != steps_.end()) return step->second;
  std::vector<int> taken = locals_[static_cast<size_t>(local)].taken;
  taken.push_back(message);
  const int after = MakeLocal(locals_[static_cast<size_t>(local)].end, std::move(taken));
  steps_[{local, message}] = after;
  return after;
}

void HandshakeModel::AddCraftedHellos(const Local& target, const std::set<int>& known,
                                      std::set<int>* out) {
  if (!target.wants_hello) return;
  Hello hello;
  hello.role = Other(ends_[target.end].role);
  hello.round = target.established ? target.round + 1 : target.round;
  hello.offer = "offer of the attacker";
  hello.nonce = AttackerNonce();
  for (const char* policy : {"test", "another"}) {
    hello.policy_digest = FakeAppraiser(policy).PolicyDigest();
    out->insert(Intern(Encode(hello)));
  }
  for (const int id : known) {
    const std::string message = messages_[static_cast<size_t>(id)];
    if (Type(message) != MessageType::kHello) continue;
    const Hello seen = *DecodeHello(crypto::AsBytes(message));
    hello.nonce = seen.nonce;
    hello.policy_digest = seen.policy_digest;
    out->insert(Intern(Encode(hello)));
  }
}

void HandshakeModel::AddRewrappedEvidence(const Local& target, const std::set<int>& known,
                                          std::set<int>* out) {
  const ModelEnd& who = ends_[target.end];
  if (!target.covered[Slot(Other(who.role), MessageType::kEvidence)].empty()) return;
  EvidenceMessage wrapper;
  wrapper.role = Other(who.role);
  wrapper.round = target.hello.round;
  wrapper.session = *ExportSessionId(ChannelForTest(who.channel));
  wrapper.nonce = target.hello.nonce;
  wrapper.policy_digest = target.hello.policy_digest;
  for (const int id : known) {
    const std::string message = messages_[static_cast<size_t>(id)];
    if (Type(message) != MessageType::kEvidence) continue;
    wrapper.evidence = DecodeEvidence(crypto::AsBytes(message))->evidence;
    out->insert(Intern(Encode(wrapper)));
  }
}

void HandshakeModel::AddForgedAccept(const Local& target, std::set<int>* out) {
  const ModelEnd& who = ends_[target.end];
  if (who.peer != "m" || target.established ||
      std::any_of(target.covered.begin(), target.covered.end(),
                  [](const std::string& message) { return message.empty(); })) {
    return;
  }
  const bool initiator = who.role == Role::kInitiator;
  const crypto::Sha384Digest transcript = TranscriptHash(
      SpkiForTest(initiator ? who.node : who.peer), SpkiForTest(initiator ? who.peer : who.node),
      {target.covered.begin(), target.covered.end()});
  const crypto::SecretBytes secret =
      *ExportSessionSecret(ChannelForTest(who.channel), transcript, crypto::SecretBytes());
  out->insert(
      Intern(Encode(Accept{0, *crypto::AcceptMac(secret, Other(who.role), 0, transcript)})));
}

std::set<int> HandshakeModel::Attacks(const std::vector<int>& state, size_t end) {
  std::set<int> known;
  for (const int id : state) {
    const Local& local = locals_[static_cast<size_t>(id)];
    known.insert(local.sent.begin(), local.sent.end());
  }
  // A copy: interning may move what it refers to.
  const Local target = locals_[static_cast<size_t>(state[end])];
  std::set<int> out = known;
  AddCraftedHellos(target, known, &out);
  AddRewrappedEvidence(target, known, &out);
  AddForgedAccept(target, &out);
  if (ends_[end].role == Role::kInitiator && target.established && target.round < rounds_ &&
      target.agreed.count(target.hello.round) > 0) {
    out.insert(kStartRound);
  }
  return out;
}

const HandshakeModel::Local* HandshakeModel::PeerOf(const std::vector<int>& state,
                                                    size_t end) const {
  for (size_t other = 0; other < ends_.size(); ++other) {
    if (other != end && ends_[other].channel == ends_[end].channel) {
      return &locals_[static_cast<size_t>(state[other])];
    }
  }
  return nullptr;
}

void HandshakeModel::Violation(size_t end, const std::string& what) {
  const ModelEnd& who = ends_[end];
  violations_.insert(absl::StrCat(who.node,
                                  who.role == Role::kInitiator ? " (initiator)" : " (responder)",
                                  " on channel ", who.channel, ": ", what));
}

void HandshakeModel::Check(const std::vector<int>& state, size_t end) {
  const Local& local = locals_[static_cast<size_t>(state[end])];
  const Local* peer = PeerOf(state, end);
  if (peer == nullptr) {
    if (!local.evidence_taken.empty()) Violation(end, "took evidence from the attacker");
    if (local.established) Violation(end, "completed with the attacker");
    return;
  }
  const auto all_of = [](const auto& taken, const auto& sent) {
    return std::all_of(taken.begin(), taken.end(), [&sent](const auto& item) {
      return std::find(sent.begin(), sent.end(), item) != sent.end();
    });
  };
  if (!all_of(local.evidence_taken, peer->evidence_sent)) {
    Violation(end, "took evidence that its peer did not make for it");
  }
  if (!all_of(local.accepts_taken, peer->accepts_sent)) {
    Violation(end, "took an accept that its peer did not send");
  }
  for (const auto& [round, agreed] : local.agreed) {
    const auto theirs = peer->agreed.find(round);
    if (theirs != peer->agreed.end() && theirs->second != agreed) {
      Violation(end, "completed with another session, key or transcript than its peer");
    }
    if (theirs == peer->agreed.end() && ends_[end].role == Role::kInitiator) {
      Violation(end, "completed before its peer");
    }
  }
}

ModelResult HandshakeModel::Explore(size_t max_depth) {
  ModelResult result;
  std::vector<int> first;
  for (size_t end = 0; end < ends_.size(); ++end) first.push_back(MakeLocal(end, {}));
  std::set<std::vector<int>> seen = {first};
  std::deque<std::pair<std::vector<int>, size_t>> open = {{first, 0}};
  while (!open.empty()) {
    const auto [state, depth] = std::move(open.front());
    open.pop_front();
    result.depth = std::max(result.depth, depth);
    if (depth == max_depth) continue;
    for (size_t end = 0; end < ends_.size(); ++end) {
      for (const int message : Attacks(state, end)) {
        ++result.deliveries;
        std::vector<int> next = state;
        next[end] = LocalAfter(state[end], message);
        const Local& local = locals_[static_cast<size_t>(next[end])];
        // An end that failed is an end to which nothing more is delivered: seen already.
        if (local.dead || !seen.insert(next).second) continue;
        Check(next, end);
        if (local.established) ++result.completed;
        open.emplace_back(std::move(next), depth + 1);
      }
    }
  }
  result.states = seen.size();
  result.violations.assign(violations_.begin(), violations_.end());
  return result;
}

}  // namespace caravan::session
