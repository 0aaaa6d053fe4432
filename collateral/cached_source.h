// SPDX-License-Identifier: Apache-2.0
//
// The source that commands and daemons use: what is kept and fresh is handed out, what is not is
// fetched, and what was fetched is kept.
#ifndef CARAVAN_COLLATERAL_CACHED_SOURCE_H_
#define CARAVAN_COLLATERAL_CACHED_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "attestation/collateral_source.h"
#include "collateral/cache.h"
#include "collateral/fetcher.h"

namespace caravan::collateral {

struct SourceOptions {
  bool offline = false;  // never touches the network
  // How old a list, a document or an OCSP response may get before it is fetched again though it
  // still holds; certificates are kept until they end.
  absl::Duration refresh = absl::Hours(24);
  std::vector<std::string> extra_roots = {};  // InspectCollateral's
};

// What Get() does:
//
//   in the cache          | service answers       | it does not
//   ----------------------+-----------------------+------------------------------------------------
//   fresh                 | not asked             | not asked
//   holds, past `refresh` | the new one is kept   | the old one, with a note
//   expired, or not yet   | the new one is kept   | error that says since when
//   corrupted, or nothing | the new one is kept   | error
//
// An answer that is malformed, not what was asked for, older than what is kept, or expired counts
// as none. Offline is as if no service answered.
class CachedSource : public attestation::CollateralSource {
 public:
  // `cache` outlives the source.
  CachedSource(Cache* cache, Fetcher* fetcher, SourceOptions options)
      : cache_(*cache), fetcher_(*fetcher), options_(std::move(options)) {}

  absl::StatusOr<attestation::CollateralItem> Get(const attestation::CollateralRequest& request,
                                                  const std::vector<std::string>& issuers,
                                                  absl::Time deadline) override;

 private:
  absl::StatusOr<CacheLock> Lock(const attestation::CollateralRequest& request,
                                 absl::Time deadline);
  absl::StatusOr<attestation::CollateralItem> Renew(const attestation::CollateralRequest& request,
                                                    const std::vector<std::string>& issuers,
                                                    const CacheEntry* kept, absl::Time deadline);

  Cache& cache_;
  Fetcher& fetcher_;
  const SourceOptions options_;
};

}  // namespace caravan::collateral

#endif  // CARAVAN_COLLATERAL_CACHED_SOURCE_H_
