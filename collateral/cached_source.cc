// SPDX-License-Identifier: Apache-2.0
#include "collateral/cached_source.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::collateral {
namespace {

using attestation::CollateralFacts;
using attestation::CollateralItem;
using attestation::CollateralKind;
using attestation::CollateralRequest;

constexpr absl::Duration kPoll = absl::Milliseconds(100);  // while another process fetches

std::string FormatUtc(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

// Certificates say what stays true until they end.
bool Ages(CollateralKind kind) {
  return kind != CollateralKind::kAmdVcek && kind != CollateralKind::kAmdChain &&
         kind != CollateralKind::kNvidiaRim;
}

bool Holds(const CollateralFacts& facts, absl::Time now) {
  return facts.issued <= now && now <= facts.expires;
}

bool IsFresh(const CacheEntry& entry, absl::Duration refresh, absl::Time now) {
  if (!Holds(entry.facts, now)) return false;
  // A clock that went back leaves an age that says nothing.
  return !Ages(entry.request.kind) || (entry.fetched <= now && now - entry.fetched < refresh);
}

std::string Shortfall(const CollateralFacts& facts, absl::Time now) {
  if (now < facts.issued) return absl::StrCat("holds only from ", FormatUtc(facts.issued));
  return absl::StrCat("expired at ", FormatUtc(facts.expires), ", ",
                      absl::FormatDuration(absl::Trunc(now - facts.expires, absl::Minutes(1))),
                      " ago");
}

// Why there is nothing, and what the copy at hand, if any, is worth.
absl::Status Refuse(const CollateralRequest& request, const absl::Status& why,
                    const std::optional<Cache::Found>& kept, absl::Time now) {
  std::string message = absl::StrCat(request.ToString(), ": ", why.message());
  if (kept.has_value()) {
    absl::StrAppend(&message, "; the copy in the cache ",
                    kept->entry.problem.empty()
                        ? Shortfall(kept->entry.facts, now)
                        : absl::StrCat("is unusable: ", kept->entry.problem));
  }
  return absl::Status(why.code(), message);
}

}  // namespace

absl::StatusOr<CacheLock> CachedSource::Lock(const CollateralRequest& request,
                                             absl::Time deadline) {
  while (true) {
    absl::StatusOr<CacheLock> lock = cache_.TryLock(request);
    if (lock.ok() || !absl::IsUnavailable(lock.status())) return lock;
    if (fetcher_.world().now() + kPoll >= deadline) {
      return absl::DeadlineExceededError(lock.status().message());
    }
    fetcher_.world().sleep(kPoll);
  }
}

absl::StatusOr<CollateralItem> CachedSource::Renew(const CollateralRequest& request,
                                                   const std::vector<std::string>& issuers,
                                                   const CacheEntry* kept, absl::Time deadline) {
  absl::StatusOr<CollateralItem> item = fetcher_.Fetch(request, deadline);
  if (!item.ok()) return item;
  absl::StatusOr<CollateralFacts> facts =
      InspectCollateral(request, *item, issuers, options_.extra_roots);
  if (!facts.ok()) {
    return absl::Status(facts.status().code(),
                        absl::StrCat(item->url, ": ", facts.status().message()));
  }
  absl::Status usable;
  if (kept != nullptr) usable = CheckNotOlder(*facts, kept->facts);
  const absl::Time now = fetcher_.world().now();
  if (usable.ok() && !Holds(*facts, now)) {
    usable = absl::UnauthenticatedError(absl::StrCat("what came ", Shortfall(*facts, now)));
  }
  if (!usable.ok()) {
    return absl::Status(usable.code(), absl::StrCat(item->url, ": ", usable.message()));
  }
  item->expires = facts->expires;
  if (absl::Status put = cache_.Put(request, *item, *facts); !put.ok()) {
    item->note = absl::StrCat("fetched, but not kept: ", put.message());
  }
  return item;
}

absl::StatusOr<CollateralItem> CachedSource::Get(const CollateralRequest& request,
                                                 const std::vector<std::string>& issuers,
                                                 absl::Time deadline) {
  const auto find = [&] { return cache_.Find(request); };
  absl::StatusOr<std::optional<Cache::Found>> kept = find();
  if (!kept.ok()) return kept.status();
  const auto usable = [&] { return kept->has_value() && (*kept)->entry.problem.empty(); };
  const auto fresh = [&] {
    return usable() && IsFresh((*kept)->entry, options_.refresh, fetcher_.world().now());
  };
  if (fresh()) return (*kept)->item;

  absl::StatusOr<CollateralItem> renewed = absl::NotFoundError("offline, and not in the cache");
  if (options_.offline) {
    if (kept->has_value()) renewed = absl::NotFoundError("offline");
  } else {
    absl::StatusOr<CacheLock> lock = Lock(request, deadline);
    if (!lock.ok()) {
      renewed = lock.status();
    } else {
      // Whoever held the lock may have fetched it.
      kept = find();
      if (!kept.ok()) return kept.status();
      if (fresh()) return (*kept)->item;
      // What a corrupted file was is known still: nothing older takes its place.
      const CacheEntry* const before = kept->has_value() ? &(*kept)->entry : nullptr;
      renewed = Renew(request, issuers, before, deadline);
    }
  }
  const absl::Time now = fetcher_.world().now();
  if (renewed.ok()) {
    if (kept->has_value() && !usable() && renewed->note.empty()) {
      renewed->note = absl::StrCat("fetched again: ", (*kept)->entry.problem);
    }
    return renewed;
  }
  if (!usable() || !Holds((*kept)->entry.facts, now)) {
    return Refuse(request, renewed.status(), *kept, now);
  }
  CollateralItem item = std::move((*kept)->item);
  item.note = absl::StrCat("the copy fetched at ", FormatUtc(item.fetched),
                           " is used: ", renewed.status().message());
  return item;
}

}  // namespace caravan::collateral
