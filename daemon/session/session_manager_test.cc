// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "daemon/session/reasons.h"
#include "daemon/session/session.h"
#include "daemon/session/session_testing.h"

namespace caravan::session {
namespace {

// Reads until `size` bytes have come, the stream has ended, or five seconds have passed.
std::string ReadSome(int fd, size_t size) {
  std::string out;
  while (out.size() < size) {
    pollfd p{fd, POLLIN, 0};
    if (poll(&p, 1, 5000) <= 0) break;
    char bytes[65536];
    const ssize_t got = recv(fd, bytes, std::min(sizeof(bytes), size - out.size()), 0);
    if (got <= 0) break;
    out.append(bytes, static_cast<size_t>(got));
  }
  return out;
}

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    pollfd p{fd, POLLOUT, 0};
    if (poll(&p, 1, 5000) <= 0) return;
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

struct Node {
  explicit Node(ManagerOptions options = {}, std::string measurement = "good")
      : attester(std::move(measurement)) {
    options.listen_address = "127.0.0.1:0";
    options.attester = &attester;
    options.appraiser = &appraiser;
    manager = std::move(*SessionManager::Start(std::move(options)));
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", manager->port()); }
  absl::StatusOr<std::shared_ptr<Session>> Connect(const Node& to) {
    return manager->Connect(to.address(), absl::Now() + absl::Seconds(10));
  }

  FakeAttester attester;
  FakeAppraiser appraiser;
  std::unique_ptr<SessionManager> manager;
};

TEST(SessionManager, TwoNodesAttestAndExchangeBytesBothWays) {
  Node a, b;
  absl::StatusOr<std::shared_ptr<Session>> session = a.Connect(b);
  ASSERT_TRUE(session.ok()) << session.status();
  std::shared_ptr<Session> other = b.manager->FindPeer(a.manager->local_spki());
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->id(), (*session)->id());
  const int out = (*session)->TakeOutgoingStream();
  const int in = other->TakeIncomingStream();
  WriteAll(out, "hello");
  EXPECT_EQ(ReadSome(in, 5), "hello");
  WriteAll(in, "world");
  EXPECT_EQ(ReadSome(out, 5), "world");
  close(out);
  EXPECT_EQ(ReadSome(in, 1), "");
  close(in);
}

}  // namespace
}  // namespace caravan::session
