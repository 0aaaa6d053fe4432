// SPDX-License-Identifier: Apache-2.0
#include "client/fake_daemon.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "client/mapping.h"
#include "gtest/gtest.h"
#include "proto/caravan/v1/answer.h"
#include "proto/caravan/v1/workload.grpc.pb.h"

namespace caravan::client {
namespace {

struct Shared {
  base::Descriptor fd;
  std::unique_ptr<Mapping> memory;
};

Shared MakeShared(uint64_t size, bool seal) {
  Shared shared{base::Descriptor(memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING)), nullptr};
  EXPECT_EQ(ftruncate(shared.fd.get(), static_cast<off_t>(size)), 0);
  EXPECT_EQ(fcntl(shared.fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  auto mapping = Mapping::Map(shared.fd, size);
  EXPECT_TRUE(mapping.ok()) << mapping.status();
  shared.memory = *std::move(mapping);
  if (!seal) {
    shared.fd = base::Descriptor(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(shared.fd.get(), static_cast<off_t>(size)), 0);
  }
  return shared;
}

struct FakeRing {
  Shared shared;
  uint64_t head = 0;  // operations completed
  v1::SharedRing& ring() { return *reinterpret_cast<v1::SharedRing*>(shared.memory->data()); }
};

void Complete(FakeRing& r, uint32_t code) {
  v1::SharedRing& ring = r.ring();
  ring.completions[r.head % v1::kRingCapacity] = {r.head, code, 0};
  ring.submit_head.store(++r.head);
  ring.complete_tail.store(r.head);
  ring.complete_futex.fetch_add(1);
  syscall(SYS_futex, &ring.complete_futex, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

class Impl : public FakeDaemon, public v1::Workload::Service {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {
    // TEST_TMPDIR is longer than a socket's path may be.
    char folder[] = "/tmp/caravan-fake-XXXXXX";
    EXPECT_NE(mkdtemp(folder), nullptr);
    dir_ = folder;
    kick_ = base::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    listener_ = base::Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = dir_ + "/memory.sock";
    memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 16), 0);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + dir_ + "/workload.sock", grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    engine_ = std::thread([this] { RunRings(); });
    acceptor_ = std::thread([this] { Accept(); });
  }

  ~Impl() override {
    Die();
    unlink((dir_ + "/memory.sock").c_str());
    unlink((dir_ + "/workload.sock").c_str());
    rmdir(dir_.c_str());
  }

  const std::string& runtime_dir() const override { return dir_; }

  void Hold() override { held_ = true; }

  void Release() override {
    held_ = false;
    Kick();
  }

  void FailRings(const absl::Status& reason) override {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [handle, r] : rings_) {
      v1::SharedRing& ring = r.ring();
      ring.reason_size = static_cast<uint32_t>(reason.message().size());
      memcpy(ring.reason, reason.message().data(), reason.message().size());
      ring.failed.store(static_cast<uint32_t>(reason.code()));
      while (r.head < ring.submit_tail.load()) Complete(r, static_cast<uint32_t>(reason.code()));
    }
  }

  void Die() override {
    if (dead_.exchange(true)) return;
    Kick();
    engine_.join();
    shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (const auto& [token, app] : applications_) shutdown(app.socket, SHUT_RDWR);
    }
    for (std::thread& t : serving_) t.join();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  uint64_t buffers() const override { return Count(buffers_); }
  uint64_t communicators() const override { return Count(rings_); }
  uint64_t applications() const override { return Count(applications_); }
  std::vector<std::string> abort_reasons() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return aborts_;
  }

  grpc::Status AllocateBuffer(grpc::ServerContext*, const v1::AllocateBufferRequest* request,
                              v1::AllocateBufferReply* reply) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!Known(request->token())) return Stranger();
    if (request->size() > options_.max_bytes) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "over the application's share"};
    }
    reply->set_buffer_id(++last_buffer_);
    buffers_[last_buffer_] = MakeShared(request->size(), options_.seal);
    return grpc::Status::OK;
  }

  grpc::Status FreeBuffer(grpc::ServerContext*, const v1::FreeBufferRequest* request,
                          v1::FreeBufferReply*) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!Known(request->token())) return Stranger();
    if (buffers_.erase(request->buffer_id()) == 0)
      return {grpc::StatusCode::NOT_FOUND, "no buffer"};
    return grpc::Status::OK;
  }

  grpc::Status CreateCommunicator(grpc::ServerContext*,
                                  const v1::CreateCommunicatorRequest* request,
                                  v1::CreateCommunicatorReply* reply) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!Known(request->token())) return Stranger();
    if (!options_.create_status.ok()) {
      return {static_cast<grpc::StatusCode>(options_.create_status.code()),
              std::string(options_.create_status.message()), v1::kDaemonAnswers};
    }
    FakeRing r{MakeShared(sizeof(v1::SharedRing), options_.seal)};
    auto* ring = new (r.shared.memory->data()) v1::SharedRing{};
    ring->magic = v1::kRingMagic;
    ring->version = v1::kRingVersion;
    ring->capacity = v1::kRingCapacity;
    ring->rank = request->rank();
    ring->size = request->size();
    if (options_.edit_ring) options_.edit_ring(*ring);
    reply->set_handle(++last_handle_);
    reply->set_suite("AES_256_GCM");
    rings_.emplace(last_handle_, std::move(r));
    Kick();
    return grpc::Status::OK;
  }

  grpc::Status DestroyCommunicator(grpc::ServerContext*,
                                   const v1::DestroyCommunicatorRequest* request,
                                   v1::DestroyCommunicatorReply*) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!Known(request->token())) return Stranger();
    rings_.erase(request->handle());
    return grpc::Status::OK;
  }

  grpc::Status AbortCommunicator(grpc::ServerContext* context,
                                 const v1::AbortCommunicatorRequest* request,
                                 v1::AbortCommunicatorReply*) override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!Known(request->token())) return Stranger();
      aborts_.push_back(request->reason());
    }
    if (!options_.answer_abort) {
      while (!context->IsCancelled() && !dead_) usleep(1000);
      return grpc::Status::CANCELLED;
    }
    FailRings(absl::CancelledError(request->reason()));
    return grpc::Status::OK;
  }

 private:
  struct Application {
    int socket = -1;
    std::shared_ptr<base::Descriptor> wake;  // the rings' thread may still poll it
  };

  template <typename Map>
  uint64_t Count(const Map& map) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return map.size();
  }

  bool Known(const std::string& token) const { return applications_.count(token) != 0; }
  static grpc::Status Stranger() { return {grpc::StatusCode::UNAUTHENTICATED, "unknown token"}; }

  void Kick() {
    const uint64_t one = 1;
    EXPECT_EQ(write(kick_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

  void Accept() {
    while (true) {
      const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      serving_.emplace_back([this, fd] { ServeMemory(base::Descriptor(fd)); });
    }
  }

  void ServeMemory(base::Descriptor socket) {
    auto wake = std::make_shared<base::Descriptor>(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    std::string token;
    if (options_.refuse) {
      v1::MemoryReply reply{};
      reply.magic = v1::kMemoryMagic;
      reply.code = static_cast<uint32_t>(absl::StatusCode::kPermissionDenied);
      Send(socket.get(), reply, -1);
      return;
    }
    v1::MemoryRequest request;
    while (recv(socket.get(), &request, sizeof request, 0) == sizeof request) {
      v1::MemoryReply reply{};
      reply.magic = v1::kMemoryMagic;
      base::Descriptor passed;
      std::unique_lock<std::mutex> lock(mutex_);
      if (request.magic != v1::kMemoryMagic || request.version != v1::kMemoryVersion) {
        reply.code = static_cast<uint32_t>(absl::StatusCode::kFailedPrecondition);
      } else if (request.kind == v1::MemoryRequestKind::kHello) {
        token = std::string(31, 't') + static_cast<char>('a' + applications_.size());
        memcpy(reply.token, token.data(), sizeof reply.token);
        applications_[token] = {socket.get(), wake};
        passed = base::Descriptor(dup(wake->get()));
      } else if (request.kind == v1::MemoryRequestKind::kBuffer) {
        Answer(buffers_.find(static_cast<uint32_t>(request.id)), buffers_.end(), reply, passed);
      } else {
        Answer(rings_.find(request.id), rings_.end(), reply, passed);
      }
      lock.unlock();
      Kick();
      if (options_.edit_reply) options_.edit_reply(request.kind, reply);
      if (!options_.answer_hello) continue;
      Send(socket.get(), reply, options_.send_descriptor ? passed.get() : -1);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    applications_.erase(token);
  }

  static const Shared& SharedOf(const Shared& shared) { return shared; }
  static const Shared& SharedOf(const FakeRing& ring) { return ring.shared; }

  template <typename Iterator>
  static void Answer(Iterator at, Iterator end, v1::MemoryReply& reply, base::Descriptor& passed) {
    if (at == end) {
      reply.code = static_cast<uint32_t>(absl::StatusCode::kNotFound);
      return;
    }
    const Shared& shared = SharedOf(at->second);
    reply.size = shared.memory->size();
    passed = base::Descriptor(dup(shared.fd.get()));
  }

  static void Send(int socket, const v1::MemoryReply& reply, int fd) {
    iovec part{const_cast<v1::MemoryReply*>(&reply), sizeof reply};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (fd >= 0 && reply.code == 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int));
      memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    sendmsg(socket, &message, MSG_NOSIGNAL);
  }

  // Takes the operations of every ring. Needs mutex_.
  bool RunOnce() {
    bool worked = false;
    for (auto& [handle, r] : rings_) {
      while (!held_ && r.head < r.ring().submit_tail.load()) {
        const v1::SubmitEntry entry = r.ring().entries[r.head % v1::kRingCapacity];
        Copy(entry);
        Complete(r, options_.on_operation ? options_.on_operation(r.ring(), entry) : 0);
        worked = true;
      }
    }
    return worked;
  }

  void Copy(const v1::SubmitEntry& entry) {
    const auto in = buffers_.find(entry.input_buffer);
    const auto out = buffers_.find(entry.output_buffer);
    if (in == buffers_.end() || out == buffers_.end()) return;
    memmove(out->second.memory->data() + entry.output_offset,
            in->second.memory->data() + entry.input_offset, entry.count * sizeof(float));
  }

  void RunRings() {
    while (!dead_) {
      std::vector<pollfd> waiting = {{kick_.get(), POLLIN, 0}};
      std::vector<std::shared_ptr<base::Descriptor>> kept;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (RunOnce()) continue;
        for (auto& [handle, r] : rings_) r.ring().daemon_sleeping.store(1);
        if (RunOnce()) continue;
        for (const auto& [token, app] : applications_) {
          waiting.push_back({app.wake->get(), POLLIN, 0});
          kept.push_back(app.wake);
        }
      }
      poll(waiting.data(), waiting.size(), -1);
      std::lock_guard<std::mutex> lock(mutex_);
      for (const pollfd& p : waiting) {
        uint64_t count;
        if ((p.revents & POLLIN) != 0) {
          EXPECT_EQ(read(p.fd, &count, sizeof count), 8);
        }
      }
      for (auto& [handle, r] : rings_) r.ring().daemon_sleeping.store(0);
    }
  }

  const Options options_;
  std::string dir_;
  base::Descriptor kick_;
  base::Descriptor listener_;
  std::unique_ptr<grpc::Server> server_;
  mutable std::mutex mutex_;
  std::map<uint32_t, Shared> buffers_;  // these: guarded by mutex_
  std::map<uint64_t, FakeRing> rings_;
  std::map<std::string, Application> applications_;
  std::vector<std::string> aborts_;
  uint32_t last_buffer_ = 0;
  uint64_t last_handle_ = 0;
  std::atomic<bool> held_{false};
  std::atomic<bool> dead_{false};
  std::vector<std::thread> serving_;  // the acceptor's until it has ended
  std::thread engine_;
  std::thread acceptor_;
};

}  // namespace

std::unique_ptr<FakeDaemon> FakeDaemon::Start(Options options) {
  return std::make_unique<Impl>(std::move(options));
}

}  // namespace caravan::client
