// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/connection.h"

#include <openssl/rand.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "attestation/evidence.h"
#include "daemon/session/reasons.h"
#include "daemon/session/tcp.h"

namespace caravan::session {
namespace {

using absl::StatusCode;

constexpr size_t kReadSize = 64 << 10;
// What waits for the network before the local streams are no longer read.
constexpr size_t kNetworkBuffer = 256 << 10;
// The clock of the timers is injected, so it is looked at this often.
constexpr int kTickMs = 200;
constexpr std::chrono::milliseconds kFarewellTime(500);
constexpr std::chrono::milliseconds kBusyRetry(50);

absl::Status FillRandom(absl::Span<uint8_t> out) {
  if (RAND_bytes(out.data(), static_cast<int>(out.size())) == 1) return absl::OkStatus();
  return absl::InternalError("the random generator failed");
}

absl::Status Lost(absl::string_view why) {
  return Refusal(StatusCode::kUnavailable, kLost, absl::StrCat("connection lost: ", why));
}

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Connection::Connection(ConnectionOptions options, base::Descriptor socket,
                       std::shared_ptr<CloseRequest> close, ConnectionHost& host)
    : options_(std::move(options)),
      socket_(std::move(socket)),
      close_(std::move(close)),
      host_(host),
      handshake_deadline_(std::chrono::steady_clock::now() +
                          absl::ToChronoNanoseconds(options_.handshake_timeout)) {}

absl::Status Connection::Run() {
  absl::StatusOr<std::unique_ptr<TlsChannel>> tls =
      TlsChannel::Create(*options_.tls, options_.role);
  if (!tls.ok()) return tls.status();
  tls_ = *std::move(tls);
  absl::Status status = tls_->Advance();
  while (status.ok()) {
    status = Step();
    if (!status.ok()) break;
    if (std::optional<absl::Status> reason = close_->reason(); reason.has_value()) status = *reason;
  }
  Farewell(status);
  for (std::optional<Bridge>& bridge : bridges_) bridge.reset();
  socket_.Reset();
  if (session_ != nullptr) session_->SetClosed(status);
  return status;
}

absl::Status Connection::Step() {
  if (absl::Status status = CheckTimers(); !status.ok()) return status;
  std::array<pollfd, 4> fds;
  // A descriptor without events is left out: its hang-up would wake the loop for ever.
  const auto entry = [](int fd, int events) {
    return pollfd{events == 0 ? -1 : fd, static_cast<short>(events), 0};
  };
  const bool full = std::any_of(bridges_.begin(), bridges_.end(),
                                [](const auto& bridge) { return bridge && bridge->full(); });
  const size_t waiting = tls_->pending().size();
  fds[0] = entry(close_->fd(), POLLIN);
  fds[1] = entry(socket_.get(), (full ? 0 : POLLIN) | (waiting > 0 ? POLLOUT : 0));
  for (size_t i = 0; i < bridges_.size(); ++i) {
    fds[2 + i] = pollfd{-1, 0, 0};
    if (!bridges_[i].has_value() || bridges_[i]->fd() < 0) continue;
    fds[2 + i] = entry(bridges_[i]->fd(), (waiting < kNetworkBuffer ? POLLIN : 0) |
                                              (bridges_[i]->wants_write() ? POLLOUT : 0));
  }
  const int ready = poll(fds.data(), fds.size(), base::PollTimeout(deadline(), kTickMs));
  if (ready < 0 && errno != EINTR) {
    return absl::InternalError(absl::StrCat("poll failed: ", std::strerror(errno)));
  }
  if (ready <= 0) return absl::OkStatus();
  absl::Status status;
  if (!full && fds[1].revents != 0) status = ReadNetwork();
  if (status.ok())
    status = PumpBridges((fds[2].revents & (POLLIN | POLLHUP | POLLERR)) != 0,
                         (fds[3].revents & (POLLIN | POLLHUP | POLLERR)) != 0);
  if (status.ok()) status = WriteNetwork();
  return status;
}

base::SteadyTime Connection::deadline() const {
  if (session_ == nullptr) return handshake_deadline_;
  return round_deadline_.value_or(base::SteadyTime::max());
}

absl::Status Connection::CheckTimers() {
  if (std::chrono::steady_clock::now() >= deadline()) {
    return Refusal(
        StatusCode::kDeadlineExceeded, kDeadline,
        session_ == nullptr ? "the handshake took too long" : "re-attestation took too long");
  }
  if (session_ == nullptr) return absl::OkStatus();
  const absl::Time now = options_.clock();
  if (session_->draining()) {
    if (absl::Status status = CheckDrained(); !status.ok()) return status;
  } else if (now >= replace_due_ && options_.role == crypto::Role::kInitiator) {
    replace_due_ = now + std::min(options_.replace_every, absl::Minutes(1));  // the next try
    host_.OnReplaceDue();
  }
  // A clock that jumped back says nothing about the age of the evidence: ask again.
  const absl::Time last = session_->last_attested();
  if (!handshake_->round_pending() && (now >= last + options_.reattest_every || now < last)) {
    BeginRound();
    if (absl::Status status = handshake_->StartRound(); !status.ok()) return status;
    if (absl::Status status = FlushHandshake(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Connection::CheckDrained() {
  const base::SteadyTime now = std::chrono::steady_clock::now();
  if (!draining_since_.has_value()) draining_since_ = last_held_ = now;
  if (host_.IsHeld(session_)) last_held_ = now;
  if (now < last_held_ + absl::ToChronoNanoseconds(options_.drain_idle) &&
      now < *draining_since_ + absl::ToChronoNanoseconds(options_.drain_limit)) {
    return absl::OkStatus();
  }
  return Refusal(StatusCode::kCancelled, kClosed,
                 "the session drained, and nobody uses it any more");
}

absl::Status Connection::ReadNetwork() {
  std::array<uint8_t, kReadSize> bytes;
  const ssize_t size = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0) return WouldBlock(errno) ? absl::OkStatus() : Lost(std::strerror(errno));
  if (size == 0) {
    return Lost(session_ == nullptr ? "the peer hung up during the handshake" : "the peer hung up");
  }
  absl::Status status = tls_->Feed(absl::MakeConstSpan(bytes.data(), static_cast<size_t>(size)));
  if (status.ok() && !tls_->established()) {
    status = tls_->Advance();
    if (status.ok() && tls_->established()) status = OnChannel();
  }
  if (!status.ok() || !tls_->established()) return status;
  while (true) {
    absl::StatusOr<size_t> plain = tls_->Read(absl::MakeSpan(bytes));
    if (!plain.ok()) {
      return absl::IsOutOfRange(plain.status()) ? Lost("the peer closed the session")
                                                : plain.status();
    }
    if (*plain == 0) return absl::OkStatus();
    frames_.Feed(absl::MakeConstSpan(bytes.data(), *plain));
    while (true) {
      absl::StatusOr<std::optional<Frame>> frame = frames_.Next();
      if (!frame.ok()) return frame.status();
      if (!frame->has_value()) break;
      if (status = OnFrame(**frame); !status.ok()) return status;
    }
  }
}

absl::Status Connection::WriteNetwork() {
  while (!tls_->pending().empty()) {
    const absl::Span<const uint8_t> pending = tls_->pending();
    const ssize_t sent =
        send(socket_.get(), pending.data(), pending.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return WouldBlock(errno) ? absl::OkStatus() : Lost(std::strerror(errno));
    tls_->Consume(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

absl::Status Connection::OnChannel() {
  const crypto::Sha256Digest peer = crypto::Sha256(crypto::AsBytes(tls_->peer_spki()));
  HandshakeOptions options;
  options.role = options_.role;
  options.local_spki = options_.tls->identity().spki();
  options.peer_spki = tls_->peer_spki();
  options.exporter = [this](std::string_view label, absl::Span<const uint8_t> context,
                            size_t size) { return tls_->Export(label, context, size); };
  credentials_ = options_.credentials->Get();
  options.policy_digest = credentials_->appraiser->PolicyDigest();
  options.offer = credentials_->offer;
  if (!credentials_->psk.empty()) {
    absl::StatusOr<crypto::SecretBytes> psk = credentials_->psk.Clone();
    if (!psk.ok()) return psk.status();
    options.psk = *std::move(psk);
  }
  options.random = FillRandom;
  options.replaces = options_.replaces;
  options.replaced_secret = std::move(options_.replaced_secret);
  options.find_replaced = [this, peer](const crypto::SessionId& id) {
    return host_.FindReplaced(peer, id);
  };
  absl::StatusOr<std::unique_ptr<Handshake>> handshake = Handshake::Create(std::move(options));
  if (!handshake.ok()) return handshake.status();
  handshake_ = *std::move(handshake);
  absl::Status status = host_.OnPeerKnown(peer);
  if (status.ok()) status = handshake_->Start();
  if (status.ok()) status = FlushHandshake();
  return status;
}

absl::Status Connection::OnFrame(const Frame& frame) {
  if (frame.stream == kControlStream) {
    messages_.Feed(frame.payload);
    while (true) {
      absl::StatusOr<std::optional<std::string>> message = messages_.Next();
      if (!message.ok()) return message.status();
      if (!message->has_value()) return absl::OkStatus();
      if (absl::Status status = OnControlMessage(**message); !status.ok()) return status;
    }
  }
  std::optional<Bridge>& bridge = bridges_[frame.stream - kInitiatorStream];
  if (!bridge.has_value()) {
    return Refusal(StatusCode::kPermissionDenied, kFrameEarly,
                   absl::StrCat("frame on stream ", frame.stream, " before Accept"));
  }
  return bridge->OnFrame(frame);
}

void Connection::BeginRound() {
  credentials_ = options_.credentials->Get();
  handshake_->SetHello(credentials_->appraiser->PolicyDigest(), credentials_->offer);
}

absl::Status Connection::OnControlMessage(const std::string& message) {
  // What comes between rounds begins one.
  if (handshake_->idle()) BeginRound();
  absl::Status status = handshake_->OnMessage(crypto::AsBytes(message));
  if (status.ok()) status = ServeHandshake();
  if (!status.ok()) return status;
  // Published before the responder's Accept goes out: once the initiator sees it, both ends know.
  if (session_ == nullptr && handshake_->established()) {
    status = Establish();
    // The Accept that is ready would say otherwise than the alert that follows.
    if (!status.ok()) handshake_->TakeOutput();
  } else if (session_ != nullptr) {
    const absl::StatusOr<uint32_t> round = handshake_->round();
    if (round.ok() && *round != session_->round()) {
      session_->SetRound(*round, options_.clock(), appraisal_);
    }
  }
  if (handshake_->idle()) credentials_.reset();
  return status.ok() ? FlushHandshake() : status;
}

absl::Status Connection::ServeHandshake() {
  while (true) {
    absl::Status status;
    if (handshake_->want() == Handshake::Want::kEvidence) {
      status = handshake_->ProvideEvidence(CollectEvidence());
    } else if (handshake_->want() == Handshake::Want::kAppraisal) {
      absl::StatusOr<attestation::Appraisal> appraisal = AppraisePeer();
      if (appraisal.ok()) appraisal_ = *appraisal;
      status = handshake_->ProvideAppraisal(appraisal);
    } else {
      return absl::OkStatus();
    }
    if (!status.ok()) return status;
    if (std::optional<absl::Status> reason = close_->reason(); reason.has_value()) return *reason;
  }
}

absl::StatusOr<std::string> Connection::CollectEvidence() {
  const base::SteadyTime latest =
      std::min(deadline(), std::chrono::steady_clock::now() +
                               absl::ToChronoNanoseconds(options_.handshake_timeout));
  absl::StatusOr<base::SteadyTime> token = host_.TakeEvidenceToken(latest);
  if (!token.ok()) return token.status();
  if (absl::Status status = WaitUntil(*token); !status.ok()) return status;
  while (true) {
    absl::StatusOr<attestation::EvidenceSet> set =
        credentials_->attester->CollectFor(handshake_->request());
    if (set.ok()) return attestation::Encode(*set);
    const base::SteadyTime retry = std::chrono::steady_clock::now() + kBusyRetry;
    if (!absl::IsUnavailable(set.status()) || retry >= latest) return set.status();
    if (absl::Status status = WaitUntil(retry); !status.ok()) return status;
  }
}

absl::StatusOr<attestation::Appraisal> Connection::AppraisePeer() {
  absl::StatusOr<attestation::EvidenceSet> set =
      attestation::DecodeEvidenceSet(crypto::AsBytes(handshake_->peer_evidence()));
  if (!set.ok()) return set.status();
  return credentials_->appraiser->AppraiseFor(*set, handshake_->request(), options_.clock());
}

absl::Status Connection::FlushHandshake() {
  std::string out;
  for (const std::string& message : handshake_->TakeOutput()) {
    AppendControlFrames(crypto::AsBytes(message), &out);
  }
  if (session_ != nullptr && !handshake_->round_pending()) {
    round_deadline_.reset();
  } else if (session_ != nullptr && !round_deadline_.has_value()) {
    round_deadline_ =
        std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(options_.handshake_timeout);
  }
  if (absl::Status status = tls_->Write(crypto::AsBytes(out)); !status.ok()) return status;
  return WriteNetwork();
}

absl::Status Connection::Establish() {
  std::array<base::Descriptor, 2> local;
  std::array<base::Descriptor, 2> remote;
  for (size_t i = 0; i < 2; ++i) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot make a stream's socketpair: ", std::strerror(errno)));
    }
    local[i] = base::Descriptor(pair[0]);
    remote[i] = base::Descriptor(pair[1]);
  }
  absl::StatusOr<crypto::SecretBytes> secret = handshake_->CloneSecret();
  if (!secret.ok()) return secret.status();
  SessionFacts facts;
  facts.id = *handshake_->session_id();
  facts.role = options_.role;
  facts.local_spki = options_.tls->identity().spki_hash();
  facts.peer_spki = crypto::Sha256(crypto::AsBytes(tls_->peer_spki()));
  facts.peer_address = options_.peer_address;
  facts.established = options_.clock();
  facts.round_trip = RoundTripOf(socket_.get());
  facts.peer_offer = *handshake_->peer_offer();
  facts.secret = *std::move(secret);
  replace_due_ = facts.established + options_.replace_every;
  const size_t own = options_.role == crypto::Role::kInitiator ? 0 : 1;
  session_ = std::make_shared<SessionImpl>(std::move(facts), appraisal_, close_,
                                           std::move(remote[1 - own]), std::move(remote[own]));
  for (size_t i = 0; i < 2; ++i) {
    bridges_[i].emplace(static_cast<uint8_t>(kInitiatorStream + i), std::move(local[i]));
  }
  return host_.OnEstablished(session_, *handshake_->replaced());
}

absl::Status Connection::PumpBridges(bool readable_first, bool readable_second) {
  std::string out;
  for (size_t i = 0; i < bridges_.size(); ++i) {
    if (!bridges_[i].has_value()) continue;
    bridges_[i]->WriteLocal();
    if (i == 0 ? readable_first : readable_second) bridges_[i]->ReadLocal(&out);
    bridges_[i]->AppendEnd(&out);
    // Calls need both streams: who wants to make one needs another session.
    if (bridges_[i]->ended()) session_->SetDraining();
  }
  return out.empty() ? absl::OkStatus() : tls_->Write(crypto::AsBytes(out));
}

absl::Status Connection::WaitUntil(base::SteadyTime when) {
  while (std::chrono::steady_clock::now() < when) {
    pollfd fd{close_->fd(), POLLIN, 0};
    poll(&fd, 1, base::PollTimeout(when, 1000));
    if (std::optional<absl::Status> reason = close_->reason(); reason.has_value()) return *reason;
  }
  return absl::OkStatus();
}

void Connection::Farewell(const absl::Status& reason) {
  if (tls_->established() && handshake_ != nullptr && ReasonOf(reason) != kLost) {
    // Makes the alert, unless the handshake made its own or the peer's came first.
    handshake_->Abort(reason).IgnoreError();
    FlushHandshake().IgnoreError();
    tls_->Shutdown();
  }
  const base::SteadyTime until = std::chrono::steady_clock::now() + kFarewellTime;
  bool write_ended = false;
  // Unread bytes at close() would make the kernel drop what we have just sent.
  while (std::chrono::steady_clock::now() < until) {
    if (!WriteNetwork().ok()) return;
    const bool waiting = !tls_->pending().empty();
    if (!waiting && !write_ended) {
      shutdown(socket_.get(), SHUT_WR);
      write_ended = true;
    }
    pollfd fd{socket_.get(), static_cast<short>(POLLIN | (waiting ? POLLOUT : 0)), 0};
    if (poll(&fd, 1, base::PollTimeout(until, 100)) <= 0) continue;
    std::array<uint8_t, 16384> rest;
    const ssize_t size = recv(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    if (size == 0 || (size < 0 && !WouldBlock(errno))) return;
  }
}

}  // namespace caravan::session
