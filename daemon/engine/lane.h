// SPDX-License-Identifier: Apache-2.0
//
// One connection to one peer: a receive buffer of one record and a queue of records to send.
// Nothing here blocks; reading never waits for writing, nor writing for reading.
#ifndef CARAVAN_DAEMON_ENGINE_LANE_H_
#define CARAVAN_DAEMON_ENGINE_LANE_H_

#include <array>
#include <cerrno>
#include <cstdint>

#include "absl/types/span.h"
#include "daemon/engine/wire_buffer.h"

namespace caravan::engine {

class Operation;

// One record in the queue.
struct Segment {
  enum class Owner : uint8_t { kLane, kShared, kForward };
  WireBuffer* buffer = nullptr;
  Operation* operation = nullptr;
  uint32_t step = 0;
  uint32_t begin = 0;  // what is left to send
  uint32_t end = 0;
  uint32_t payload = 0;
  Owner owner = Owner::kLane;
};

enum class Io : uint8_t { kMoved, kNothing, kBroken };

class Lane {
 public:
  Lane(int fd, uint16_t peer, uint32_t id, size_t record_size, BufferPool* pool);
  ~Lane();  // closes the socket
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Receiving. One recv() of at most what ends the record at hand; kBroken, and
  // receive_ended, at the end of the stream or on an error.
  Io Receive();
  absl::Span<const uint8_t> received() const {
    return {receiving_->data.get() + begin_, end_ - begin_};
  }
  void Consume(size_t bytes);
  // Gives away the receive buffer when it holds exactly the first `size` bytes, taking `empty`
  // instead; false otherwise.
  bool SwapReceived(size_t size, WireBuffer*& empty);

  // Sending.
  bool QueueFull() const { return queued_ == kQueue || queued_bytes_ >= kEnough; }
  bool QueueEmpty() const { return queued_ == 0; }
  // Whether one of the lane's own buffers has space for a record of `size` bytes.
  bool HasRoom(size_t size) const;
  // The one that has, from its `fill` on. There must be one.
  WireBuffer* Reserve(size_t size);
  void Push(const Segment& segment);
  // One sendmsg(). Each record that is wholly in the socket is handed to `sent`.
  template <typename Sent>
  Io Flush(Sent sent);

  const uint16_t peer;
  const uint32_t id;  // peer × lanes + lane
  int fd;
  bool readable = true;  // until recv() says otherwise
  bool writable = true;
  bool hung_up = false;        // epoll saw the peer's end: read until recv() says so
  bool receive_ended = false;  // the peer closed, or the connection broke
  bool send_ended = false;
  int error = 0;  // errno of the call that broke it; 0: the peer closed
  // A call failed for a reason that is not the peer's end, such as ENOMEM: the connection may well
  // stand, and would be waited for.
  bool failed_here() const { return error != 0 && error != ECONNRESET && error != EPIPE; }

  // The record at the head of the receive buffer, once its header was matched.
  struct Head {
    Operation* operation = nullptr;  // null: none, or a stray record
    uint32_t step = 0;
    uint32_t size = 0;  // whole record; 0: not known yet
  } head;
  uint64_t receive_cursor = 0;  // no operation below this id receives from here any more
  uint64_t send_cursor = 0;
  uint64_t parked_at = 0;  // Group's change counter when the head could not be taken
  uint64_t idle_at = 0;    // the same when nothing could be sent

 private:
  static constexpr uint32_t kQueue = 32;
  static constexpr uint32_t kEnough = 64 << 10;  // bytes: enough for one system call

  bool Fits(const WireBuffer& buffer, size_t size) const {
    return (buffer.users == 0 ? 0 : buffer.fill) + size <= pool_->block_size();
  }
  int64_t SendSome();

  const size_t record_size_;
  BufferPool* pool_;
  WireBuffer* receiving_ = nullptr;
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
  std::array<WireBuffer*, 2> own_{};
  int current_ = 0;
  std::array<Segment, kQueue> queue_;
  uint32_t first_ = 0;
  uint32_t queued_ = 0;
  uint64_t queued_bytes_ = 0;
};

template <typename Sent>
Io Lane::Flush(Sent sent) {
  int64_t n = SendSome();
  if (n < 0) return Io::kBroken;
  if (n == 0) return Io::kNothing;
  queued_bytes_ -= static_cast<uint64_t>(n);
  while (queued_ > 0) {
    Segment& segment = queue_[first_];
    const uint32_t take =
        static_cast<uint32_t>(n < segment.end - segment.begin ? n : segment.end - segment.begin);
    segment.begin += take;
    n -= take;
    if (segment.begin < segment.end) break;
    first_ = (first_ + 1) % kQueue;
    --queued_;
    if (segment.owner == Segment::Owner::kLane) --segment.buffer->users;
    sent(segment);
  }
  return Io::kMoved;
}

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_LANE_H_
