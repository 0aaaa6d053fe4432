// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/local_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::local {
namespace {

using testing::HasSubstr;

class LocalSocketTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_), nullptr); }
  void TearDown() override {
    unlink(Path().c_str());
    rmdir(folder_);
  }
  std::string Path() const { return std::string(folder_) + "/s"; }
  LocalSocket::Options Options() {
    LocalSocket::Options options;
    options.path = Path();
    options.allowed_uids = {geteuid()};
    options.on_connection = [this](int fd, const Credentials& credentials) {
      arrived_.set_value({fd, credentials});
    };
    return options;
  }
  int Dial() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, Path().c_str());
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
    close(fd);
    return -1;
  }

  char folder_[32] = "/tmp/caravan-XXXXXX";
  std::promise<std::pair<int, Credentials>> arrived_;
};

TEST_F(LocalSocketTest, KnowsWhoConnects) {
  auto socket = LocalSocket::Start(Options());
  ASSERT_TRUE(socket.ok()) << socket.status();
  struct stat info;
  ASSERT_EQ(stat(Path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  int client = Dial();
  ASSERT_GE(client, 0);
  auto [fd, credentials] = arrived_.get_future().get();
  EXPECT_EQ(credentials.pid, getpid());
  EXPECT_EQ(credentials.uid, geteuid());
  EXPECT_NE(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  close(fd);
  close(client);
}

TEST_F(LocalSocketTest, LetsTheKernelTellOtherUsersApart) {
  LocalSocket::Options options = Options();
  options.allowed_uids = {geteuid(), 12345};
  auto socket = LocalSocket::Start(options);
  ASSERT_TRUE(socket.ok());
  struct stat info;
  ASSERT_EQ(stat(Path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
}

TEST_F(LocalSocketTest, TurnsAwayOthers) {
  LocalSocket::Options options = Options();
  options.allowed_uids = {geteuid() + 1};
  std::promise<int> refused;
  options.on_refused = [&](int fd, const Credentials&) {
    send(fd, "no", 2, MSG_NOSIGNAL);
    close(fd);
    refused.set_value(1);
  };
  auto socket = LocalSocket::Start(options);
  ASSERT_TRUE(socket.ok());
  int client = Dial();
  ASSERT_EQ(refused.get_future().get(), 1);
  char buffer[4];
  EXPECT_EQ(recv(client, buffer, sizeof(buffer), 0), 2);
  EXPECT_EQ(recv(client, buffer, sizeof(buffer), 0), 0);
  close(client);
}

TEST_F(LocalSocketTest, ReplacesAStaleSocketAlone) {
  {
    auto socket = LocalSocket::Start(Options());
    ASSERT_TRUE(socket.ok());
    auto second = LocalSocket::Start(Options());
    EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
    EXPECT_THAT(std::string(second.status().message()), HasSubstr("in use"));
  }
  EXPECT_EQ(access(Path().c_str(), F_OK), -1);
  // What a killed daemon leaves behind.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, Path().c_str());
  int left = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(left, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(left);
  EXPECT_TRUE(LocalSocket::Start(Options()).ok());
}

TEST_F(LocalSocketTest, LeavesOtherFilesAlone) {
  std::ofstream(Path()) << "precious";
  auto socket = LocalSocket::Start(Options());
  EXPECT_EQ(socket.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(access(Path().c_str(), F_OK), 0);
}

TEST_F(LocalSocketTest, ChecksThePathsLength) {
  LocalSocket::Options options = Options();
  options.path = "/tmp/" + std::string(103, 'x');
  auto socket = LocalSocket::Start(options);
  EXPECT_EQ(socket.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(socket.status().message()), HasSubstr("108 bytes, at most 107"));
}

}  // namespace
}  // namespace caravan::local
