// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/frames.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "daemon/session/reasons.h"

namespace caravan::session {

void AppendFrame(uint8_t stream, bool end, absl::Span<const uint8_t> payload, std::string* out) {
  assert(payload.size() <= kMaxFramePayload);
  out->push_back(static_cast<char>(stream));
  out->push_back(static_cast<char>(end ? kFrameEnd : 0));
  out->push_back(static_cast<char>(payload.size() & 0xFF));
  out->push_back(static_cast<char>(payload.size() >> 8));
  out->append(reinterpret_cast<const char*>(payload.data()), payload.size());
}

void AppendControlFrames(absl::Span<const uint8_t> message, std::string* out) {
  while (!message.empty()) {
    const size_t size = std::min(message.size(), kMaxFramePayload);
    AppendFrame(kControlStream, /*end=*/false, message.first(size), out);
    message.remove_prefix(size);
  }
}

void FrameReader::Feed(absl::Span<const uint8_t> bytes) {
  buffer_.erase(0, consumed_);
  consumed_ = 0;
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

absl::StatusOr<std::optional<Frame>> FrameReader::Next() {
  const auto* head = reinterpret_cast<const uint8_t*>(buffer_.data()) + consumed_;
  const size_t available = buffer_.size() - consumed_;
  if (available < kFrameHeaderSize) return std::nullopt;
  const size_t length = head[2] | static_cast<size_t>(head[3]) << 8;
  if (head[0] > kResponderStream) {
    return Refusal(absl::StatusCode::kInvalidArgument, kFrameStream,
                   absl::StrCat("frame on stream ", head[0], ", expected 0, 1 or 2"));
  }
  // The control stream has no end of its own: it lives as long as the channel.
  if ((head[1] & ~kFrameEnd) != 0 || (head[1] != 0 && head[0] == kControlStream)) {
    return Refusal(absl::StatusCode::kInvalidArgument, kFrameFlags,
                   absl::StrCat("frame with flags ", head[1], " on stream ", head[0]));
  }
  if (length > kMaxFramePayload || (length == 0 && head[1] == 0)) {
    return Refusal(absl::StatusCode::kInvalidArgument, kFrameLength,
                   absl::StrCat("frame of ", length, " bytes on stream ", head[0],
                                ", expected 1 to ", kMaxFramePayload));
  }
  if (available < kFrameHeaderSize + length) return std::nullopt;
  consumed_ += kFrameHeaderSize + length;
  return Frame{head[0], head[1] != 0, absl::MakeConstSpan(head + kFrameHeaderSize, length)};
}

}  // namespace caravan::session
