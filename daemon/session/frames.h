// SPDX-License-Identifier: Apache-2.0
//
// Frames: what the TLS stream carries from its first byte (docs/protocol.md, "Handshake").
//
//   0 stream u8     1 flags u8 (bit 0: end)     2 length u16, little-endian, at most 16384
#ifndef CARAVAN_DAEMON_SESSION_FRAMES_H_
#define CARAVAN_DAEMON_SESSION_FRAMES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace caravan::session {

inline constexpr uint8_t kControlStream = 0;    // handshake and re-attestation
inline constexpr uint8_t kInitiatorStream = 1;  // the initiator's calls
inline constexpr uint8_t kResponderStream = 2;  // the responder's calls
inline constexpr uint8_t kFrameEnd = 1;         // nothing follows on this stream
inline constexpr size_t kFrameHeaderSize = 4;
inline constexpr size_t kMaxFramePayload = 16384;

struct Frame {
  uint8_t stream = 0;
  bool end = false;
  absl::Span<const uint8_t> payload;  // valid until the next call of the reader
};

// Appends one frame; `payload` is at most kMaxFramePayload bytes.
void AppendFrame(uint8_t stream, bool end, absl::Span<const uint8_t> payload, std::string* out);
// Appends as many frames as `message` needs on the control stream.
void AppendControlFrames(absl::Span<const uint8_t> message, std::string* out);

// Cuts a byte stream into frames. Holds at most one frame and what one Feed() brought.
class FrameReader {
 public:
  void Feed(absl::Span<const uint8_t> bytes);
  // The next whole frame, or nothing yet. InvalidArgument with reason FRAME_STREAM, FRAME_FLAGS
  // or FRAME_LENGTH on a header that no sender of this protocol makes; the reader is dead then.
  absl::StatusOr<std::optional<Frame>> Next();

 private:
  std::string buffer_;
  size_t consumed_ = 0;
};

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_FRAMES_H_
