// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/lane.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace caravan::engine {

Lane::Lane(int socket, uint16_t peer_rank, uint32_t lane_id, size_t record_size, BufferPool* pool)
    : peer(peer_rank), id(lane_id), fd(socket), record_size_(record_size), pool_(pool) {
  receiving_ = pool_->Take();
  for (WireBuffer*& buffer : own_) buffer = pool_->Take();
}

Lane::~Lane() {
  if (fd >= 0) close(fd);
}

Io Lane::Receive() {
  // Reading up to the end of the record at hand, no further, leaves the buffer empty after it: no
  // byte is moved twice, and the same memory stays in cache. Small records come many at a time.
  const uint32_t filled = end_ - begin_;
  if (begin_ > 0 && filled < record_size_) {
    std::memmove(receiving_->data.get(), receiving_->data.get() + begin_, filled);
    begin_ = 0;
    end_ = filled;
  }
  const size_t want = record_size_ - end_;
  if (want == 0) return Io::kNothing;
  ssize_t n;
  do {
    n = recv(fd, receiving_->data.get() + end_, want, MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) {
    readable = false;
    return Io::kNothing;
  }
  if (n <= 0) {
    if (n < 0 && error == 0) error = errno;
    readable = false;
    receive_ended = true;
    return Io::kBroken;
  }
  end_ += static_cast<uint32_t>(n);
  if (static_cast<size_t>(n) < want && !hung_up) readable = false;
  return Io::kMoved;
}

void Lane::Consume(size_t bytes) {
  begin_ += static_cast<uint32_t>(bytes);
  if (begin_ == end_) begin_ = end_ = 0;
  head = Head();
}

bool Lane::SwapReceived(size_t size, WireBuffer*& empty) {
  if (begin_ != 0 || end_ != size) return false;
  std::swap(receiving_, empty);
  return true;
}

bool Lane::HasRoom(size_t size) const { return Fits(*own_[0], size) || Fits(*own_[1], size); }

WireBuffer* Lane::Reserve(size_t size) {
  if (!Fits(*own_[current_], size)) current_ ^= 1;
  WireBuffer* buffer = own_[current_];
  if (buffer->users == 0) buffer->fill = 0;
  return buffer;
}

void Lane::Push(const Segment& segment) {
  queue_[(first_ + queued_) % kQueue] = segment;
  ++queued_;
  queued_bytes_ += segment.end - segment.begin;
}

int64_t Lane::SendSome() {
  iovec parts[kQueue];
  size_t total = 0;
  for (uint32_t i = 0; i < queued_; ++i) {
    const Segment& segment = queue_[(first_ + i) % kQueue];
    parts[i].iov_base = segment.buffer->data.get() + segment.begin;
    parts[i].iov_len = segment.end - segment.begin;
    total += parts[i].iov_len;
  }
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = queued_;
  ssize_t n;
  do {
    n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno != EAGAIN && errno != ENOBUFS) {
    if (error == 0) error = errno;
    return -1;
  }
  if (n < static_cast<ssize_t>(total)) writable = false;
  return std::max<ssize_t>(n, 0);
}

}  // namespace caravan::engine
