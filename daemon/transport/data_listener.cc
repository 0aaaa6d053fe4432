// SPDX-License-Identifier: Apache-2.0
//
// The accepting side: one thread polls the listening socket and all connections in their
// preamble. A half-open connection costs a descriptor and a few hundred bytes.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/sockets.h"
#include "daemon/transport/data_connection.h"
#include "daemon/transport/preamble.h"
#include "daemon/transport/socket.h"

namespace caravan::transport {
namespace {

constexpr std::chrono::milliseconds kAcceptPause(50);

// One connection in its preamble: first the hello, then the confirmation.
struct HalfOpen {
  base::Descriptor fd;
  std::string source;
  base::SteadyTime deadline;
  std::array<uint8_t, kDiallerHelloSize> bytes{};
  size_t filled = 0;
  bool confirming = false;
  crypto::ConnectionId id;
  crypto::SecretBytes secret;

  size_t expected() const { return confirming ? kConfirmationSize : kDiallerHelloSize; }
};

enum class Progress { kWaiting, kDone, kRefused };

class Listener final : public DataListener {
 public:
  Listener(Options options, base::Descriptor listener, base::Descriptor wake, int port)
      : options_(std::move(options)),
        listener_(std::move(listener)),
        wake_(std::move(wake)),
        port_(port),
        thread_([this] { Run(); }) {}
  ~Listener() override { Stop(); }

  int port() const override { return port_; }
  int half_open() const override { return half_open_count_.load(); }
  uint64_t refused() const override { return refused_.load(); }
  void Stop() override;

 private:
  void Run();
  void AcceptAll();
  Progress Advance(HalfOpen& connection);
  bool AnswerHello(HalfOpen& connection);
  bool FinishConfirmation(HalfOpen& connection);

  const Options options_;
  base::Descriptor listener_;
  base::Descriptor wake_;
  const int port_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> half_open_count_{0};
  std::atomic<uint64_t> refused_{0};
  std::list<HalfOpen> half_open_;
  base::SteadyTime accept_again_{};
  std::thread thread_;  // last: it uses all of the above
};

void Listener::Stop() {
  if (stopping_.exchange(true)) return;
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof(one));
  thread_.join();
  half_open_.clear();
  listener_ = base::Descriptor();
}

void Listener::AcceptAll() {
  while (true) {
    absl::StatusOr<base::Accepted> accepted = base::Accept(listener_.get());
    if (!accepted.ok()) {
      // Out of descriptors: the connection stays in the backlog, so don't spin on it.
      accept_again_ = std::chrono::steady_clock::now() + kAcceptPause;
      return;
    }
    if (!accepted->socket.valid()) return;
    base::Descriptor fd = std::move(accepted->socket);
    std::string source = std::move(accepted->from.host);
    const auto of_source = std::count_if(half_open_.begin(), half_open_.end(),
                                         [&](const HalfOpen& c) { return c.source == source; });
    if (half_open_.size() >= static_cast<size_t>(options_.max_half_open) ||
        of_source >= options_.max_half_open_per_source) {
      ++refused_;
      continue;
    }
    Configure(fd.get(), options_.socket);
    half_open_.emplace_back();
    half_open_.back().fd = std::move(fd);
    half_open_.back().source = std::move(source);
    half_open_.back().deadline =
        std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(options_.preamble_timeout);
  }
}

bool Listener::AnswerHello(HalfOpen& c) {
  auto id = DecodeHello(c.bytes);
  if (!id.ok()) return false;
  c.id = *id;
  c.secret = options_.find_secret(c.id.session);
  if (c.secret.empty()) return false;
  if (!options_.knows_epoch(c.id.session, c.id.epoch)) return false;
  auto nonce = RandomNonce();
  if (!nonce.ok()) return false;
  c.id.acceptor_nonce = *nonce;
  c.confirming = true;
  c.filled = 0;
  // A fresh socket takes 32 bytes at once, or it is not worth waiting for.
  return send(c.fd.get(), nonce->data(), nonce->size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(nonce->size());
}

bool Listener::FinishConfirmation(HalfOpen& c) {
  const absl::Span<const uint8_t> theirs(c.bytes.data(), kConfirmationSize);
  if (!CheckConfirmation(c.secret, c.id, Direction::kFromDialler, theirs).ok()) return false;
  auto own = Confirm(c.secret, c.id, Direction::kFromAcceptor);
  if (!own.ok() || send(c.fd.get(), own->data(), own->size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
                       static_cast<ssize_t>(own->size())) {
    return false;
  }
  DataConnection connection;
  connection.fd = c.fd.Release();
  connection.session = c.id.session;
  connection.epoch = c.id.epoch;
  connection.lane = c.id.lane;
  options_.on_connection(std::move(connection));
  return true;
}

Progress Listener::Advance(HalfOpen& c) {
  while (true) {
    const ssize_t n =
        recv(c.fd.get(), c.bytes.data() + c.filled, c.expected() - c.filled, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return Progress::kWaiting;
    if (n <= 0) return Progress::kRefused;
    c.filled += static_cast<size_t>(n);
    if (c.filled < c.expected()) continue;
    if (c.confirming) return FinishConfirmation(c) ? Progress::kDone : Progress::kRefused;
    if (!AnswerHello(c)) return Progress::kRefused;
  }
}

void Listener::Run() {
  std::vector<pollfd> polled;
  while (!stopping_.load()) {
    const base::SteadyTime now = std::chrono::steady_clock::now();
    polled.clear();
    polled.push_back({wake_.get(), POLLIN, 0});
    polled.push_back({listener_.get(), static_cast<short>(now >= accept_again_ ? POLLIN : 0), 0});
    base::SteadyTime wake = now + std::chrono::seconds(60);
    if (now < accept_again_) wake = accept_again_;
    for (const HalfOpen& c : half_open_) {
      polled.push_back({c.fd.get(), POLLIN, 0});
      wake = std::min(wake, c.deadline);
    }
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(wake - now);
    const int64_t ms = std::clamp<int64_t>(wait.count() + 1, 0, 60000);
    if (poll(polled.data(), polled.size(), static_cast<int>(ms)) < 0 && errno != EINTR) return;

    const base::SteadyTime woken = std::chrono::steady_clock::now();
    size_t index = 2;
    for (auto it = half_open_.begin(); it != half_open_.end(); ++index) {
      Progress progress = Progress::kWaiting;
      if (polled[index].revents != 0) progress = Advance(*it);
      if (progress == Progress::kWaiting && woken >= it->deadline) progress = Progress::kRefused;
      if (progress == Progress::kRefused) ++refused_;
      it = progress == Progress::kWaiting ? std::next(it) : half_open_.erase(it);
    }
    if (polled[1].revents != 0) AcceptAll();
    half_open_count_ = static_cast<int>(half_open_.size());
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataListener>> DataListener::Start(Options options) {
  if (!options.find_secret || !options.knows_epoch || !options.on_connection) {
    return absl::InvalidArgumentError(
        "a data listener needs find_secret, knows_epoch and on_connection");
  }
  auto listener =
      base::Listen(options.listen_address, [&](int fd) { Configure(fd, options.socket); });
  if (!listener.ok()) return listener.status();
  auto port = base::LocalPort(listener->get());
  if (!port.ok()) return port.status();
  base::Descriptor wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (wake.get() < 0) return absl::ResourceExhaustedError("no eventfd for the data listener");
  return std::make_unique<Listener>(std::move(options), std::move(*listener), std::move(wake),
                                    *port);
}

}  // namespace caravan::transport
