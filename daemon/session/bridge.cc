// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/bridge.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

absl::Status Bridge::OnFrame(const Frame& frame) {
  if (peer_ended_) {
    return Refusal(absl::StatusCode::kInvalidArgument, kFrameEnded,
                   absl::StrCat("frame on stream ", stream_, " after the peer ended it"));
  }
  peer_ended_ = frame.end;
  if (local_.valid()) {
    to_local_.append(reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size());
  }
  return absl::OkStatus();
}

void Bridge::WriteLocal() {
  while (local_.valid() && taken_ < to_local_.size()) {
    const ssize_t sent = send(local_.get(), to_local_.data() + taken_, to_local_.size() - taken_,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (!WouldBlock(errno)) local_.Reset();
      break;
    }
    taken_ += static_cast<size_t>(sent);
  }
  if (taken_ == to_local_.size() || !local_.valid()) {
    to_local_.clear();
    taken_ = 0;
    if (peer_ended_) local_.Reset();
  } else if (taken_ >= kBridgeBuffer / 2) {
    to_local_.erase(0, taken_);
    taken_ = 0;
  }
}

void Bridge::ReadLocal(std::string* out) {
  if (!local_.valid()) return;
  std::array<uint8_t, kMaxFramePayload> bytes;
  const ssize_t size = recv(local_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size > 0) {
    AppendFrame(stream_, /*end=*/false,
                absl::MakeConstSpan(bytes.data(), static_cast<size_t>(size)), out);
  } else if (size == 0 || !WouldBlock(errno)) {
    local_.Reset();
  }
}

void Bridge::AppendEnd(std::string* out) {
  if (local_.valid() || end_sent_) return;
  end_sent_ = true;
  to_local_.clear();
  taken_ = 0;
  AppendFrame(stream_, /*end=*/true, {}, out);
}

}  // namespace caravan::session
