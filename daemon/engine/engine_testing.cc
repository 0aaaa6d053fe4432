// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/engine_testing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace caravan::engine {
namespace {

// A parent key that both ends derive from the roles in it.
crypto::SecretBytes Parent(uint8_t epoch, uint8_t kind, int source, int destination) {
  std::vector<uint8_t> bytes(crypto::kParentSize, 0);
  bytes[0] = epoch;
  bytes[1] = kind;
  bytes[2] = static_cast<uint8_t>(source);
  bytes[3] = static_cast<uint8_t>(destination);
  return *crypto::SecretBytes::Copy(bytes);
}

void SetBuffers(int fd, int size) {
  if (size > 0) {
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
  }
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
}

}  // namespace

crypto::SecretBytes SenderParentForTest(uint8_t epoch, int source) {
  return Parent(epoch, 1, source, 0);
}

crypto::SecretBytes PairParentForTest(uint8_t epoch, int source, int destination) {
  return Parent(epoch, 2, source, destination);
}

std::pair<int, int> ConnectedPairForTest(bool tcp, int buffer_size) {
  int fds[2];
  if (!tcp) {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) abort();
    for (int fd : fds) SetBuffers(fd, buffer_size);
    return {fds[0], fds[1]};
  }
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SetBuffers(listener, buffer_size);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    abort();
  }
  fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SetBuffers(fds[0], buffer_size);
  if (connect(fds[0], reinterpret_cast<sockaddr*>(&address), size) != 0) abort();
  fds[1] = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  close(listener);
  for (int fd : fds) {
    SetBuffers(fd, buffer_size);
    fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  return {fds[0], fds[1]};
}

uint64_t RingClientForTest::Submit(v1::SubmitEntry entry) {
  entry.id = next_;
  ring()->entries[next_ % v1::kRingCapacity] = entry;
  StoreTail(++next_);
  return entry.id;
}

void RingClientForTest::StoreTail(uint64_t tail) {
  ring()->submit_tail.store(tail, std::memory_order_seq_cst);
  if (ring()->daemon_sleeping.load(std::memory_order_seq_cst) == 0) return;
  const uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof(one));
}

absl::Status RingClientForTest::Wait(uint64_t id, absl::Duration timeout) {
  const absl::Time until = absl::Now() + timeout;
  v1::SharedRing& r = *ring();
  while (true) {
    const uint32_t seen = r.complete_futex.load(std::memory_order_seq_cst);
    if (r.complete_tail.load(std::memory_order_acquire) > id) break;
    if (absl::Now() > until) return absl::DeadlineExceededError("the operation did not complete");
    const timespec wait = {0, 50'000'000};
    syscall(SYS_futex, &r.complete_futex, FUTEX_WAIT, seen, &wait, nullptr, 0);
  }
  const v1::CompletionEntry& entry = r.completions[id % v1::kRingCapacity];
  if (entry.id != id) return absl::InternalError("the completion is of another operation");
  if (entry.code == 0) return absl::OkStatus();
  const uint32_t failed = r.failed.load(std::memory_order_acquire);
  if (failed != entry.code) return absl::InternalError("the ring's reason has another code");
  return absl::Status(static_cast<absl::StatusCode>(entry.code),
                      absl::string_view(r.reason, std::min(r.reason_size, v1::kReasonCapacity)));
}

CommunicatorForTest::CommunicatorForTest(std::vector<Engine*> engines,
                                         CommunicatorOptionsForTest options)
    : engines_(std::move(engines)),
      chunk_log2_(options.chunk_log2),
      local_(options.local),
      faults_(engines_.size()) {
  const int p = static_cast<int>(engines_.size());
  epoch_.fill(options.epoch);
  if (!options.connect) {
    options.connect = [&options](int, int, int) {
      return ConnectedPairForTest(options.tcp, options.socket_buffer);
    };
  }
  std::vector<GroupConfig> configs(p);
  for (int rank = 0; rank < p; ++rank) {
    GroupConfig& config = configs[rank];
    for (int k = 0; k < local_; ++k) {
      auto member = std::make_unique<Member>();
      member->ring = *SharedMemory::Create("ring", sizeof(v1::SharedRing));
      member->buffers = std::make_shared<BufferTable>(uint64_t{1} << 34);
      member->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
      member->client = std::make_unique<RingClientForTest>(member->ring, member->wake_fd);
      config.local.push_back({member->ring, member->buffers, dup(member->wake_fd)});
      members_.push_back(std::move(member));
    }
    config.epoch = epoch_;
    config.name = options.name;
    config.rank = static_cast<uint16_t>(rank);
    config.size = static_cast<uint16_t>(p);
    config.chunk_log2 = options.chunk_log2;
    config.deadline = options.deadline;
    config.selector = collective::DefaultSelectorTable();
    config.sender_parent = SenderParentForTest(options.epoch, rank);
    config.on_fault = [this, rank](Fault fault) {
      std::lock_guard<std::mutex> lock(mutex_);
      faults_[rank] = std::move(fault);
      faulted_.notify_all();
    };
    for (int other = 0; other < p; ++other) {
      if (other == rank) continue;
      Peer peer;
      peer.rank = static_cast<uint16_t>(other);
      peer.name = "node-" + std::to_string(other);
      peer.pair_parent_out = PairParentForTest(options.epoch, rank, other);
      peer.pair_parent_in = PairParentForTest(options.epoch, other, rank);
      peer.sender_parent = SenderParentForTest(options.epoch, other);
      peer.lanes.resize(options.lanes);
      config.peers.push_back(std::move(peer));
    }
  }
  for (int a = 0; a < p; ++a) {
    for (int b = a + 1; b < p; ++b) {
      for (int lane = 0; lane < options.lanes; ++lane) {
        const auto [first, second] = options.connect(a, b, lane);
        configs[a].peers[b - 1].lanes[lane].fd = first;
        configs[b].peers[a].lanes[lane].fd = second;
      }
    }
  }
  for (int rank = 0; rank < p; ++rank) {
    if (engines_[rank] == nullptr) {
      for (const auto& local : configs[rank].local) close(local.wake_fd);
      continue;
    }
    if (!engines_[rank]->AddGroup(std::move(configs[rank])).ok()) abort();
  }
}

CommunicatorForTest::~CommunicatorForTest() {
  for (Engine* engine : engines_) {
    if (engine != nullptr) engine->Remove(epoch_);
  }
  for (const auto& member : members_) close(member->wake_fd);
}

BufferForTest CommunicatorForTest::Allocate(int rank, uint64_t bytes) {
  BufferForTest buffer;
  buffer.size = bytes;
  if (bytes == 0) return buffer;
  buffer.id = *members_[rank]->buffers->Allocate(bytes);
  buffer.data = members_[rank]->buffers->Find(buffer.id)->data();
  return buffer;
}

std::optional<Fault> CommunicatorForTest::WaitFault(int rank, absl::Duration timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  faulted_.wait_until(lock, std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(timeout),
                      [&] { return faults_[rank / local_].has_value(); });
  return faults_[rank / local_];
}

void CommunicatorForTest::FailAll(const absl::Status& reason) {
  for (Engine* engine : engines_) {
    if (engine != nullptr) engine->Fail(epoch_, reason);
  }
}

GroupStatus CommunicatorForTest::Status(int rank) {
  for (GroupStatus& status : engines_[rank / local_]->List()) {
    if (status.epoch == epoch_) return status;
  }
  return GroupStatus();
}

std::vector<std::unique_ptr<Engine>> StartEnginesForTest(int count, absl::Duration spin,
                                                         crypto::RecordCipherFactory* ciphers) {
  static crypto::RecordCipherFactory* const sealed = crypto::SealedRecords().release();
  std::vector<std::unique_ptr<Engine>> engines;
  for (int i = 0; i < count; ++i) {
    Engine::Options options;
    options.ciphers = ciphers != nullptr ? ciphers : sealed;
    options.spin = spin;
    engines.push_back(*Engine::Start(std::move(options)));
  }
  return engines;
}

std::vector<Engine*> PointersForTest(const std::vector<std::unique_ptr<Engine>>& engines) {
  std::vector<Engine*> pointers;
  for (const auto& engine : engines) pointers.push_back(engine.get());
  return pointers;
}

v1::SubmitEntry EntryForTest(collective::Operation op, uint64_t count, collective::DataType type,
                             const BufferForTest& input, const BufferForTest& output,
                             collective::ReduceOp reduce) {
  v1::SubmitEntry entry{};
  entry.op = static_cast<uint8_t>(op);
  entry.dtype = static_cast<uint8_t>(type);
  entry.reduce = static_cast<uint8_t>(reduce);
  entry.count = count;
  entry.input_buffer = input.id;
  entry.output_buffer = output.id;
  return entry;
}

}  // namespace caravan::engine
