// SPDX-License-Identifier: Apache-2.0
//
// A folder of collateral, one item a file (two where an issuer chain came with it), readable by
// ParseEndorsements and by any tool. What each file is, where it came from and how long it holds
// stands in state/index. Several processes may use one folder.
#ifndef CARAVAN_COLLATERAL_CACHE_H_
#define CARAVAN_COLLATERAL_CACHE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/collateral/inspect.h"
#include "attestation/collateral_source.h"
#include "base/descriptor.h"

namespace caravan::collateral {

inline constexpr size_t kMaxItemBytes = 1 << 20;  // body and issuer chain together

struct CacheLimits {
  size_t items = 1024;
  size_t bytes = 64 << 20;
};

struct CacheEntry {
  attestation::CollateralRequest request;
  std::string url;
  absl::Time fetched;
  attestation::CollateralFacts facts;
  std::vector<std::string> files;  // names in the folder: the body, then the issuer chain
  std::string problem;             // "vcek-….der is corrupted"; empty: the files are as they came
};

class Cache;

// Held by one process and thread at a time; released by the destructor, and when a process dies.
class CacheLock {
 private:
  friend class Cache;
  explicit CacheLock(base::Descriptor file) : file_(std::move(file)) {}
  base::Descriptor file_;
};

// Thread-safe.
class Cache {
 public:
  // Makes the folder where there is none, but not its parents. PermissionDenied, NotFound and the
  // like name the path.
  static absl::StatusOr<std::unique_ptr<Cache>> Open(const std::string& folder,
                                                     CacheLimits limits = {});
  // Opens for reading alone and makes nothing. A folder that is not there is an empty cache.
  static std::unique_ptr<Cache> OpenForReading(const std::string& folder);

  struct Found {
    CacheEntry entry;
    attestation::CollateralItem item;  // empty where the entry has a problem
  };
  // What is kept for the request, expired or not.
  absl::StatusOr<std::optional<Found>> Find(const attestation::CollateralRequest& request) const;

  // Appears whole or not at all, then replaces what was there. The least recently fetched items
  // make room where a limit would be passed, the expired ones first. InvalidArgument: larger than
  // kMaxItemBytes.
  absl::Status Put(const attestation::CollateralRequest& request,
                   const attestation::CollateralItem& item,
                   const attestation::CollateralFacts& facts);

  // Everything, by kind and key, each file compared with what was written.
  absl::StatusOr<std::vector<CacheEntry>> List() const;

  // Who fetches this item: whoever comes second finds it fetched. Unavailable while another holds
  // it.
  absl::StatusOr<CacheLock> TryLock(const attestation::CollateralRequest& request) const;

  const std::string& folder() const { return folder_; }

 private:
  Cache(std::string folder, CacheLimits limits) : folder_(std::move(folder)), limits_(limits) {}

  const std::string folder_;
  const CacheLimits limits_;
};

}  // namespace caravan::collateral

#endif  // CARAVAN_COLLATERAL_CACHE_H_
