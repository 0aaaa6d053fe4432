// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/etcd.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "http/http.h"

namespace caravan::testing {
namespace {

constexpr char kEtcd[] = "/usr/bin/etcd";

// etcd takes no port 0. Another process might take the port meanwhile; then etcd does not start.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

}  // namespace

bool Etcd::Installed() { return access(kEtcd, X_OK) == 0; }

Etcd::Etcd() {
  folder_ = (std::filesystem::temp_directory_path() / "caravan-etcd.XXXXXX").string();
  EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  url_ = absl::StrCat("http://127.0.0.1:", FreePort());
  peer_url_ = absl::StrCat("http://127.0.0.1:", FreePort());
  Start();
}

Etcd::~Etcd() {
  process_ = Process();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Etcd::Start() {
  process_ = Process({kEtcd,
                      "--name",
                      "test",
                      "--data-dir",
                      folder_,
                      "--listen-client-urls",
                      url_,
                      "--advertise-client-urls",
                      url_,
                      "--listen-peer-urls",
                      peer_url_,
                      "--initial-advertise-peer-urls",
                      peer_url_,
                      "--initial-cluster",
                      absl::StrCat("test=", peer_url_),
                      "--unsafe-no-fsync",
                      "--log-level",
                      "error",
                      "--logger",
                      "zap"});
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (absl::Now() < deadline) {
    auto reply = http::Fetch({.url = url_ + "/health"}, absl::Now() + absl::Seconds(1));
    if (reply.ok() && reply->body.find("true") != std::string::npos) return;
    absl::SleepFor(absl::Milliseconds(50));
  }
  ADD_FAILURE() << "etcd does not answer at " << url_;
}

void Etcd::Restart() {
  process_ = Process();
  Start();
}

}  // namespace caravan::testing
