// SPDX-License-Identifier: Apache-2.0
#include "collateral/fetcher.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "attestation/collateral/inspect.h"

namespace caravan::collateral {
namespace {

using attestation::CollateralItem;
using attestation::CollateralRequest;

constexpr int kTooManyRequests = 429;

// "127.0.0.1:8080" of a URL: who asked to be left alone.
std::string HostOf(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  return url.substr(begin + 3, url.find('/', begin + 3) - begin - 3);
}

// Statuses after which the same call may succeed.
bool IsPassing(int code) {
  return code == kTooManyRequests || code == 408 || code == 500 || code == 502 || code == 503 ||
         code == 504;
}

bool IsPassing(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// Seconds or a date (RFC 9110, 10.2.3); nullopt without either.
std::optional<absl::Duration> RetryAfter(const http::Reply& reply, absl::Time now) {
  const std::string value = http::Header(reply, "retry-after");
  uint32_t seconds = 0;
  if (absl::SimpleAtoi(value, &seconds)) return absl::Seconds(seconds);
  absl::Time date;
  std::string error;
  if (absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", value, absl::UTCTimeZone(), &date, &error)) {
    return std::max(date - now, absl::ZeroDuration());
  }
  return std::nullopt;
}

absl::Status ToStatus(const std::string& url, int code) {
  const std::string message = absl::StrCat(url, ": answered ", code);
  if (code == 404 || code == 410) return absl::NotFoundError(message);
  if (code == kTooManyRequests) {
    return absl::ResourceExhaustedError(absl::StrCat(message, ": asked too often"));
  }
  if (code == 401 || code == 403) {
    return absl::PermissionDeniedError(absl::StrCat(message, ": it wants to know who asks"));
  }
  if (code >= 500 || code == 408) return absl::UnavailableError(message);
  return absl::FailedPreconditionError(message);
}

std::string Tried(int attempts) {
  return attempts == 1 ? "" : absl::StrCat(" (tried ", attempts, " times)");
}

}  // namespace

World World::Real() {
  return {
      .now = [] { return absl::Now(); },
      .sleep = [](absl::Duration duration) { absl::SleepFor(duration); },
      .random =
          [] {
            // Spreads machines over time; nothing secret depends on it.
            thread_local std::mt19937_64 engine{std::random_device{}()};
            return std::uniform_real_distribution<double>(0, 1)(engine);
          },
      .send = [](const http::Request& request,
                 absl::Duration timeout) { return http::Fetch(request, absl::Now() + timeout); }};
}

bool Fetcher::Wait(absl::Duration duration, absl::Time deadline) const {
  if (world_.now() + duration >= deadline) return false;
  world_.sleep(duration);
  return true;
}

absl::Time Fetcher::HeldUntil(const std::string& host) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto held = held_until_.find(host);
  return held == held_until_.end() ? absl::InfinitePast() : held->second;
}

absl::StatusOr<http::Reply> Fetcher::Persist(const http::Request& request, absl::Time deadline) {
  const std::string host = HostOf(request.url);
  absl::Status last = absl::DeadlineExceededError(absl::StrCat(request.url, ": no time left"));
  for (int attempt = 1; attempt <= patience_.attempts; ++attempt) {
    const absl::Duration held = HeldUntil(host) - world_.now();
    if (held > absl::ZeroDuration() && !Wait(held, deadline)) {
      return absl::ResourceExhaustedError(
          absl::StrCat(request.url, ": the service asked not to be asked before ",
                       absl::FormatTime(absl::RFC3339_sec, HeldUntil(host), absl::UTCTimeZone()),
                       ", and there is no time until then"));
    }
    const absl::Duration timeout = std::min(patience_.attempt, deadline - world_.now());
    if (timeout <= absl::ZeroDuration()) return last;
    absl::StatusOr<http::Reply> reply = world_.send(request, timeout);
    if (reply.ok() && reply->code == 200) return reply;
    const bool passing = reply.ok() ? IsPassing(reply->code) : IsPassing(reply.status());
    last = reply.ok() ? ToStatus(request.url, reply->code) : reply.status();
    last = absl::Status(last.code(), absl::StrCat(last.message(), Tried(attempt)));
    if (!passing) return last;
    // Half of the delay is chance, so that machines that failed together do not return together.
    absl::Duration delay = std::min(patience_.longest, patience_.first * (1 << (attempt - 1)));
    delay = delay / 2 + delay * (world_.random() / 2);
    if (reply.ok()) {
      const std::optional<absl::Duration> wanted = RetryAfter(*reply, world_.now());
      if (wanted.has_value()) {
        const std::lock_guard<std::mutex> lock(mutex_);
        held_until_[host] = world_.now() + *wanted;
        continue;  // waits above, and says so where that is too long
      }
    }
    if (attempt < patience_.attempts && !Wait(delay, deadline)) {
      return absl::Status(last.code(),
                          absl::StrCat(last.message(), "; no time is left for another try"));
    }
  }
  return last;
}

absl::StatusOr<CollateralItem> Fetcher::Fetch(const CollateralRequest& request,
                                              absl::Time deadline) {
  absl::Status last = absl::NotFoundError(absl::StrCat(request.ToString(), ": no service has it"));
  for (const Call& call : CallsFor(request, services_)) {
    absl::StatusOr<http::Reply> reply = Persist(call.request, deadline);
    if (!reply.ok()) {
      last = reply.status();
      if (absl::IsNotFound(last)) continue;
      return last;
    }
    const std::string chain =
        call.chain_header.empty() ? "" : http::Header(*reply, call.chain_header);
    absl::StatusOr<CollateralItem> item = TakeAnswer(request, std::move(reply->body), chain);
    if (!item.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(call.request.url, ": ", item.status().message()));
    }
    item->url = call.request.url;
    item->fetched = world_.now();
    return item;
  }
  return last;
}

}  // namespace caravan::collateral
