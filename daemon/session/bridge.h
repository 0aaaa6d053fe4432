// SPDX-License-Identifier: Apache-2.0
//
// One byte stream of a session, between the channel's frames and a local socket. The end of
// either side ends the stream wholly.
#ifndef CARAVAN_DAEMON_SESSION_BRIDGE_H_
#define CARAVAN_DAEMON_SESSION_BRIDGE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/descriptor.h"
#include "daemon/session/frames.h"

namespace caravan::session {

// What waits in one direction before the source is no longer read, in bytes.
inline constexpr size_t kBridgeBuffer = 256 << 10;

// Not thread-safe: the connection's thread owns it.
class Bridge {
 public:
  // `local` is this end of a non-blocking socketpair.
  Bridge(uint8_t stream, base::Descriptor local) : stream_(stream), local_(std::move(local)) {}

  // A frame from the peer. InvalidArgument, reason FRAME_ENDED, after the peer's end. What comes
  // after this side's end, and before the peer can know of it, is dropped.
  absl::Status OnFrame(const Frame& frame);
  // Hands what waits to the local socket, as far as that takes it.
  void WriteLocal();
  // Reads the local socket once and appends a frame, or the end, to `out`.
  void ReadLocal(std::string* out);
  // Appends this side's end to `out` when it is due and not yet sent.
  void AppendEnd(std::string* out);

  // Nothing passes any more, or soon.
  bool ended() const { return peer_ended_ || !local_.valid(); }
  int fd() const { return local_.get(); }  // -1 once closed
  bool wants_write() const { return local_.valid() && !to_local_.empty(); }
  bool full() const { return local_.valid() && to_local_.size() - taken_ >= kBridgeBuffer; }

 private:
  const uint8_t stream_;
  base::Descriptor local_;
  std::string to_local_;
  size_t taken_ = 0;  // bytes of to_local_ that are written already
  bool peer_ended_ = false;
  bool end_sent_ = false;
};

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_BRIDGE_H_
