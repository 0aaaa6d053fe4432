// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/session_impl.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "daemon/session/reasons.h"

namespace caravan::session {

absl::StatusOr<std::shared_ptr<CloseRequest>> CloseRequest::Create() {
  base::Descriptor event(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!event.valid()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make an eventfd: ", std::strerror(errno)));
  }
  return std::shared_ptr<CloseRequest>(new CloseRequest(std::move(event)));
}

void CloseRequest::Close(absl::Status reason) {
  if (reason.ok()) {
    reason = Refusal(absl::StatusCode::kCancelled, kClosed, "the session was closed by this node");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (reason_.has_value()) return;
  reason_ = std::move(reason);
  const uint64_t one = 1;
  // Cannot fail: the counter is far from its limit.
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof(one));
}

std::optional<absl::Status> CloseRequest::reason() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return reason_;
}

SessionImpl::SessionImpl(SessionFacts facts, attestation::Appraisal appraisal,
                         std::shared_ptr<CloseRequest> close, base::Descriptor incoming,
                         base::Descriptor outgoing)
    : facts_(std::move(facts)),
      close_(std::move(close)),
      appraisal_(std::move(appraisal)),
      last_attested_(facts_.established),
      incoming_(std::move(incoming)),
      outgoing_(std::move(outgoing)) {}

absl::Time SessionImpl::last_attested() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_attested_;
}

uint32_t SessionImpl::round() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return round_;
}

attestation::Appraisal SessionImpl::peer_appraisal() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return appraisal_;
}

int SessionImpl::TakeIncomingStream() {
  std::lock_guard<std::mutex> lock(mutex_);
  return incoming_.Release();
}

int SessionImpl::TakeOutgoingStream() {
  std::lock_guard<std::mutex> lock(mutex_);
  return outgoing_.Release();
}

absl::Status SessionImpl::status() const {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!closed_.ok()) return closed_;
  }
  return close_->reason().value_or(absl::OkStatus());
}

void SessionImpl::Close(absl::Status reason) { close_->Close(std::move(reason)); }

bool SessionImpl::draining() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return draining_;
}

void SessionImpl::SetRound(uint32_t round, absl::Time when, attestation::Appraisal appraisal) {
  std::lock_guard<std::mutex> lock(mutex_);
  round_ = round;
  last_attested_ = when;
  appraisal_ = std::move(appraisal);
}

void SessionImpl::SetDraining() {
  std::lock_guard<std::mutex> lock(mutex_);
  draining_ = true;
}

void SessionImpl::SetClosed(absl::Status reason) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_.ok()) closed_ = std::move(reason);
}

}  // namespace caravan::session
