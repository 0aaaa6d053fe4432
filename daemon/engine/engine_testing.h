// SPDX-License-Identifier: Apache-2.0
//
// For tests: communicators whose ranks live in one process, over real sockets with made-up keys,
// and the least that an application does with its rings.
#ifndef CARAVAN_DAEMON_ENGINE_ENGINE_TESTING_H_
#define CARAVAN_DAEMON_ENGINE_ENGINE_TESTING_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collective/types.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/shared_memory.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::engine {

// The application's side of one ring.
class RingClientForTest {
 public:
  RingClientForTest(std::shared_ptr<SharedMemory> memory, int wake_fd)
      : memory_(std::move(memory)), wake_fd_(wake_fd) {}
  // Fills in the id. Unchecked: what a test puts in goes to the engine.
  uint64_t Submit(v1::SubmitEntry entry);
  void StoreTail(uint64_t tail);  // and wakes the engine where it sleeps
  // The code of operation `id` with the ring's reason, or DeadlineExceeded.
  absl::Status Wait(uint64_t id, absl::Duration timeout = absl::Seconds(60));
  v1::SharedRing* ring() { return reinterpret_cast<v1::SharedRing*>(memory_->data()); }

 private:
  std::shared_ptr<SharedMemory> memory_;
  int wake_fd_;
  uint64_t next_ = 0;
};

struct BufferForTest {
  uint32_t id = 0;
  uint8_t* data = nullptr;
  uint64_t size = 0;
};

struct CommunicatorOptionsForTest {
  std::string name = "test";
  int lanes = 1;
  int chunk_log2 = 14;
  bool tcp = false;       // loopback TCP instead of socketpairs
  int socket_buffer = 0;  // SO_SNDBUF and SO_RCVBUF, 0: the kernel's choice
  absl::Duration deadline = absl::Seconds(30);
  int local = 1;      // ranks on each engine
  uint8_t epoch = 1;  // distinct per communicator of the same engines
  // The two ends of a lane between engines a < b, where a test puts something in between, or is a
  // member itself: -1 for the end of one that is null.
  std::function<std::pair<int, int>(int a, int b, int lane)> connect;
};

// The parent keys of such a communicator.
crypto::SecretBytes SenderParentForTest(uint8_t epoch, int source);
crypto::SecretBytes PairParentForTest(uint8_t epoch, int source, int destination);

// Two connected descriptors, as the options say.
std::pair<int, int> ConnectedPairForTest(bool tcp, int buffer_size);

class CommunicatorForTest {
 public:
  // One engine for each `options.local` ranks; null where the test is that member itself.
  CommunicatorForTest(std::vector<Engine*> engines, CommunicatorOptionsForTest options);
  ~CommunicatorForTest();

  int size() const { return static_cast<int>(members_.size()); }
  bool has_engine(int rank) const { return engines_[rank / local_] != nullptr; }
  int chunk_log2() const { return chunk_log2_; }
  const crypto::EpochId& epoch() const { return epoch_; }
  BufferForTest Allocate(int rank, uint64_t bytes);
  int wake_fd(int rank) const { return members_[rank]->wake_fd; }
  RingClientForTest& ring(int rank) { return *members_[rank]->client; }
  // The first fault of `rank`, once there is one.
  // Ranks of one engine share theirs.
  std::optional<Fault> WaitFault(int rank, absl::Duration timeout = absl::Seconds(30));
  void FailAll(const absl::Status& reason);
  GroupStatus Status(int rank);

 private:
  struct Member {
    std::shared_ptr<SharedMemory> ring;
    std::shared_ptr<BufferTable> buffers;
    std::unique_ptr<RingClientForTest> client;
    int wake_fd = -1;
  };

  std::vector<Engine*> engines_;
  const int chunk_log2_;
  crypto::EpochId epoch_{};
  const int local_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::optional<Fault>> faults_;  // by engine
  std::mutex mutex_;
  std::condition_variable faulted_;
};

// `count` engines over crypto::SealedRecords(), or over `ciphers`.
std::vector<std::unique_ptr<Engine>> StartEnginesForTest(
    int count, absl::Duration spin = absl::Microseconds(20),
    crypto::RecordCipherFactory* ciphers = nullptr);
std::vector<Engine*> PointersForTest(const std::vector<std::unique_ptr<Engine>>& engines);

// An entry with an input and an output; in place when they are the same.
v1::SubmitEntry EntryForTest(collective::Operation op, uint64_t count, collective::DataType type,
                             const BufferForTest& input, const BufferForTest& output,
                             collective::ReduceOp reduce = collective::ReduceOp::kSum);

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_ENGINE_TESTING_H_
