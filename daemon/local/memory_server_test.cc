// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/memory_server.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/caravan/v1/memory_socket.h"

namespace caravan::local {
namespace {

using testing::HasSubstr;
using v1::MemoryRequestKind;

struct Answer {
  bool closed = false;
  v1::MemoryReply reply{};
  int fd = -1;
  std::string text() const { return reply.message; }
  absl::StatusCode code() const { return static_cast<absl::StatusCode>(reply.code); }
};

class MemoryServerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_), nullptr);
    Restart({geteuid()});
  }
  void TearDown() override {
    server_.reset();
    rmdir(folder_);
  }
  void Restart(std::vector<uid_t> allowed) {
    server_.reset();
    MemoryServer::Options options;
    options.path = std::string(folder_) + "/memory.sock";
    options.allowed_uids = std::move(allowed);
    options.applications = &applications_;
    options.find_ring =
        [this](const Application&,
               uint64_t handle) -> absl::StatusOr<std::shared_ptr<engine::SharedMemory>> {
      if (handle != 7) return absl::NotFoundError("handle: no such communicator");
      return ring_;
    };
    options.on_end = [this](const Application& application) {
      std::lock_guard<std::mutex> lock(mutex_);
      ended_.push_back(application.id);
      changed_.notify_all();
    };
    auto server = MemoryServer::Start(std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  int Dial() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/memory.sock", folder_);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  static v1::MemoryRequest Request(MemoryRequestKind kind, uint64_t id = 0) {
    return {v1::kMemoryMagic, v1::kMemoryVersion, kind, 0, id};
  }
  static Answer Receive(int fd) {
    Answer answer;
    iovec bytes{&answer.reply, sizeof(answer.reply)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    ssize_t size = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    answer.closed = size <= 0;
    if (cmsghdr* header = CMSG_FIRSTHDR(&message); !answer.closed && header != nullptr) {
      std::memcpy(&answer.fd, CMSG_DATA(header), sizeof(int));
    }
    return answer;
  }
  static Answer Ask(int fd, const v1::MemoryRequest& request) {
    EXPECT_EQ(send(fd, &request, sizeof(request), MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof(request)));
    return Receive(fd);
  }
  size_t WaitForEnds(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return ended_.size() >= count; });
    return ended_.size();
  }

  char folder_[32] = "/tmp/caravan-XXXXXX";
  Applications applications_{2, 1 << 20};
  std::shared_ptr<engine::SharedMemory> ring_ = *engine::SharedMemory::Create("ring", 4096);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint64_t> ended_;
  std::unique_ptr<MemoryServer> server_;
};

TEST_F(MemoryServerTest, GivesATokenAnEventfdBuffersAndRings) {
  int fd = Dial();
  Answer hello = Ask(fd, Request(MemoryRequestKind::kHello));
  ASSERT_EQ(hello.reply.code, 0u);
  ASSERT_GE(hello.fd, 0);
  uint64_t one = 1;
  EXPECT_EQ(write(hello.fd, &one, sizeof(one)), 8);
  std::string token(reinterpret_cast<char*>(hello.reply.token), kTokenSize);
  auto application = applications_.Find(token, geteuid());
  ASSERT_TRUE(application.ok());
  EXPECT_EQ((*application)->credentials.pid, getpid());

  uint32_t id = *(*application)->buffers->Allocate(5000);
  Answer buffer = Ask(fd, Request(MemoryRequestKind::kBuffer, id));
  ASSERT_EQ(buffer.reply.code, 0u);
  EXPECT_EQ(buffer.reply.size, 5000u);
  EXPECT_EQ(fcntl(buffer.fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  Answer ring = Ask(fd, Request(MemoryRequestKind::kRing, 7));
  ASSERT_EQ(ring.reply.code, 0u);
  EXPECT_EQ(ring.reply.size, 4096u);
  for (int passed : {hello.fd, buffer.fd, ring.fd}) close(passed);
  close(fd);
  EXPECT_EQ(WaitForEnds(1), 1u);
  EXPECT_FALSE(applications_.Find(token, geteuid()).ok());
}

TEST_F(MemoryServerTest, AnswersWhatIsMissingAndLivesOn) {
  int fd = Dial();
  close(Ask(fd, Request(MemoryRequestKind::kHello)).fd);
  for (uint64_t id : {uint64_t{0}, uint64_t{9}, uint64_t{1} << 40}) {
    Answer answer = Ask(fd, Request(MemoryRequestKind::kBuffer, id));
    EXPECT_EQ(answer.code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(answer.fd, -1);
  }
  EXPECT_EQ(Ask(fd, Request(MemoryRequestKind::kRing, 8)).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(applications_.count(), 1u);
  close(fd);
}

TEST_F(MemoryServerTest, EndsAConnectionThatMisbehavesWithAReason) {
  auto broken = [](auto change) {
    v1::MemoryRequest request = Request(MemoryRequestKind::kHello);
    change(&request);
    return request;
  };
  struct {
    v1::MemoryRequest request;
    const char* what;
  } cases[] = {
      {broken([](auto* r) { r->magic = 1; }), "magic"},
      {broken([](auto* r) { r->version = 9; }), "version: 9"},
      {broken([](auto* r) { r->reserved = 1; }), "reserved"},
      {broken([](auto* r) { r->kind = static_cast<MemoryRequestKind>(77); }), "kind: 77"},
      {Request(MemoryRequestKind::kBuffer, 1), "hello: comes first"},
  };
  for (const auto& test : cases) {
    int fd = Dial();
    EXPECT_THAT(Ask(fd, test.request).text(), HasSubstr(test.what));
    EXPECT_TRUE(Receive(fd).closed);
    close(fd);
  }
  for (size_t size : {1u, 23u, 25u, 4000u}) {
    int fd = Dial();
    std::string bytes(size, 'x');
    send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    EXPECT_THAT(Receive(fd).text(), HasSubstr("24 bytes"));
    EXPECT_TRUE(Receive(fd).closed);
    close(fd);
  }
  EXPECT_EQ(applications_.count(), 0u);
}

TEST_F(MemoryServerTest, EndsTheApplicationThatSaysHelloTwice) {
  int fd = Dial();
  close(Ask(fd, Request(MemoryRequestKind::kHello)).fd);
  EXPECT_THAT(Ask(fd, Request(MemoryRequestKind::kHello)).text(), HasSubstr("already"));
  EXPECT_EQ(WaitForEnds(1), 1u);
  close(fd);
}

TEST_F(MemoryServerTest, CapsApplications) {
  int fds[3] = {Dial(), Dial(), Dial()};
  close(Ask(fds[0], Request(MemoryRequestKind::kHello)).fd);
  close(Ask(fds[1], Request(MemoryRequestKind::kHello)).fd);
  Answer third = Ask(fds[2], Request(MemoryRequestKind::kHello));
  EXPECT_EQ(third.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(third.text(), HasSubstr("max_applications"));
  close(fds[0]);
  WaitForEnds(1);
  int again = Dial();
  Answer fourth = Ask(again, Request(MemoryRequestKind::kHello));
  EXPECT_EQ(fourth.reply.code, 0u);
  close(fourth.fd);
  for (int fd : {fds[1], fds[2], again}) close(fd);
}

TEST_F(MemoryServerTest, TellsOtherUsersWhy) {
  Restart({geteuid() + 1});
  int fd = Dial();
  Answer answer = Receive(fd);
  EXPECT_EQ(answer.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(answer.text(), HasSubstr("allowed_uids"));
  EXPECT_TRUE(Receive(fd).closed);
  close(fd);
}

TEST_F(MemoryServerTest, EndsAllWhenItStops) {
  int fd = Dial();
  close(Ask(fd, Request(MemoryRequestKind::kHello)).fd);
  server_->Stop();
  EXPECT_EQ(WaitForEnds(1), 1u);
  EXPECT_TRUE(Receive(fd).closed);
  close(fd);
}

TEST(ApplicationsTest, TokensBelongToTheirUser) {
  Applications applications(4, 1 << 20);
  auto application = *applications.Add({1, 1000, 1000});
  std::string token(reinterpret_cast<const char*>(application->token.data()), kTokenSize);
  EXPECT_TRUE(applications.Find(token, 1000).ok());
  EXPECT_EQ(applications.Find(token, 1001).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_FALSE(applications.Find("", 1000).ok());
  EXPECT_FALSE(applications.Find(token.substr(1), 1000).ok());
  token[0] ^= 1;
  EXPECT_FALSE(applications.Find(token, 1000).ok());
}

}  // namespace
}  // namespace caravan::local
