// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/loopback_testing.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

constexpr int kPatienceMs = 10000;

bool Ready(int fd, short events) {
  pollfd p{fd, events, 0};
  return poll(&p, 1, kPatienceMs) > 0;
}

}  // namespace

LoopbackNode::LoopbackNode(ManagerOptions options, std::string measurement)
    : attester(std::move(measurement)) {
  if (options.listen_address.empty()) options.listen_address = "127.0.0.1:0";
  Credentials& credentials = options.credentials;
  if (credentials.attester == nullptr) credentials.attester = Unowned(&attester);
  if (credentials.appraiser == nullptr) credentials.appraiser = Unowned(&appraiser);
  options.on_established = [this](std::shared_ptr<Session>) { ++established_; };
  options.on_closed = [this](std::shared_ptr<Session>) { ++closed_; };
  options.on_replaced = [this](std::shared_ptr<Session>, std::shared_ptr<Session>) { ++replaced_; };
  options.on_refused = [this](const std::string&, const absl::Status& status) {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::string reason = ReasonOf(status);
    refusals_.push_back(reason.empty() ? status.ToString() : reason);
  };
  manager = std::move(*SessionManager::Start(std::move(options)));
}

std::string LoopbackNode::address() const { return absl::StrCat("127.0.0.1:", manager->port()); }

std::shared_ptr<Credentials> LoopbackNode::MakeCredentials() {
  auto credentials = std::make_shared<Credentials>();
  credentials->attester = Unowned(&attester);
  credentials->appraiser = Unowned(&appraiser);
  return credentials;
}

absl::StatusOr<std::shared_ptr<Session>> LoopbackNode::Connect(const LoopbackNode& to) {
  return manager->Connect(to.address(), absl::Now() + absl::Seconds(20));
}

std::shared_ptr<Session> LoopbackNode::SessionWith(const LoopbackNode& other) const {
  return manager->FindPeer(other.manager->local_spki());
}

std::vector<std::string> LoopbackNode::refusals() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return refusals_;
}

bool Eventually(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

std::string ReadSome(int fd, size_t size) {
  std::string out;
  std::string bytes(65536, '\0');
  while (out.size() < size && Ready(fd, POLLIN)) {
    const ssize_t got = recv(fd, bytes.data(), std::min(bytes.size(), size - out.size()), 0);
    if (got <= 0) break;
    out.append(bytes, 0, static_cast<size_t>(got));
  }
  return out;
}

size_t WriteSome(int fd, std::string_view bytes) {
  size_t written = 0;
  while (written < bytes.size() && Ready(fd, POLLOUT)) {
    const ssize_t sent =
        send(fd, bytes.data() + written, bytes.size() - written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) break;
    written += static_cast<size_t>(sent);
  }
  return written;
}

bool Ended(int fd) {
  char byte = 0;
  return Ready(fd, POLLIN) && recv(fd, &byte, 1, 0) == 0;
}

}  // namespace caravan::session
