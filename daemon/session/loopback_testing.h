// SPDX-License-Identifier: Apache-2.0
//
// For tests: nodes with fake TEEs on the loopback, a clock to set, and blocking stream helpers.
#ifndef CARAVAN_DAEMON_SESSION_LOOPBACK_TESTING_H_
#define CARAVAN_DAEMON_SESSION_LOOPBACK_TESTING_H_

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/session/session.h"
#include "daemon/session/session_testing.h"

namespace caravan::session {

// A clock that stands at a fixed time plus what the test adds. Thread-safe.
class TestClock {
 public:
  absl::Time Now() const {
    return absl::FromUnixSeconds(1800000000) + absl::Seconds(seconds_.load());
  }
  void Advance(absl::Duration by) { seconds_ += absl::ToInt64Seconds(by); }
  std::function<absl::Time()> function() {
    return [this] { return Now(); };
  }

 private:
  std::atomic<int64_t> seconds_{0};
};

// A manager with its own fake TEE, and a record of what it reported.
struct LoopbackNode {
  explicit LoopbackNode(ManagerOptions options = {}, std::string measurement = "good");
  ~LoopbackNode() { manager->Stop(); }

  std::string address() const;
  // This node's own fake TEE and policy, without a pre-shared key.
  std::shared_ptr<Credentials> MakeCredentials();
  absl::StatusOr<std::shared_ptr<Session>> Connect(const LoopbackNode& to);
  std::shared_ptr<Session> SessionWith(const LoopbackNode& other) const;
  std::vector<std::string> refusals() const;  // reasons, in order
  int established() const { return established_; }
  int closed() const { return closed_; }
  int replaced() const { return replaced_; }

  FakeAttester attester;
  FakeAppraiser appraiser;
  std::unique_ptr<SessionManager> manager;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> refusals_;
  std::atomic<int> established_{0};
  std::atomic<int> closed_{0};
  std::atomic<int> replaced_{0};
};

// The two ends of the initiator's stream, taken.
struct Pipe {
  Pipe(Session& from, Session& to)
      : near(from.TakeOutgoingStream()), far(to.TakeIncomingStream()) {}
  Pipe(const Pipe&) = delete;
  ~Pipe() {
    if (near >= 0) close(near);
    if (far >= 0) close(far);
  }
  int near;
  int far;
};

// True once `holds` does, within ten seconds.
bool Eventually(const std::function<bool()>& holds);

// Reads until `size` bytes have come, the stream has ended, or ten seconds have passed.
std::string ReadSome(int fd, size_t size);
// Writes everything, or as much as is taken within ten seconds; how much that was.
size_t WriteSome(int fd, std::string_view bytes);
// True when the stream has ended, within ten seconds, without another byte.
bool Ended(int fd);

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_LOOPBACK_TESTING_H_
