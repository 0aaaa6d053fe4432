// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/admission.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "daemon/session/reasons.h"

namespace caravan::session {

absl::Status HalfOpenGate::Enter(const std::string& source) {
  if (total_ >= max_total_) {
    return Refusal(absl::StatusCode::kResourceExhausted, kHalfOpen,
                   absl::StrCat(total_, " handshakes are half-open, at most ", max_total_));
  }
  const auto found = per_source_.find(source);
  const int of_source = found == per_source_.end() ? 0 : found->second;
  if (of_source >= max_per_source_) {
    return Refusal(absl::StatusCode::kResourceExhausted, kHalfOpenSource,
                   absl::StrCat(of_source, " handshakes from ", source, " are half-open, at most ",
                                max_per_source_));
  }
  ++total_;
  ++per_source_[source];
  return absl::OkStatus();
}

void HalfOpenGate::Leave(const std::string& source) {
  const auto found = per_source_.find(source);
  if (found == per_source_.end()) return;
  --total_;
  if (--found->second == 0) per_source_.erase(found);
}

EvidenceBudget::EvidenceBudget(double per_second)
    : per_second_(std::max(per_second, 0.0)),
      capacity_(std::max(per_second, 1.0)),
      tokens_(per_second > 0 ? capacity_ : 0) {}

std::optional<EvidenceBudget::Time> EvidenceBudget::Take(Time now, Time latest) {
  if (updated_.has_value() && now > *updated_) {
    const std::chrono::duration<double> passed = now - *updated_;
    tokens_ = std::min(capacity_, tokens_ + passed.count() * per_second_);
  }
  if (!updated_.has_value() || now > *updated_) updated_ = now;
  if (per_second_ <= 0) return std::nullopt;
  Time at = now;
  if (tokens_ < 1) {
    const double wait = (1 - tokens_) / per_second_;
    if (wait > std::chrono::duration<double>(latest - now).count()) return std::nullopt;
    at += std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(wait));
  }
  if (at > latest) return std::nullopt;
  tokens_ -= 1;
  return at;
}

}  // namespace caravan::session
