// SPDX-License-Identifier: Apache-2.0
//
// Where nodes find one another before they have a session: keys that live as long as who wrote
// them. A store is untrusted. It can deny and mislead about addresses; who a member is, its
// sessions and the roster decide.
#ifndef CARAVAN_DAEMON_STORE_STORE_H_
#define CARAVAN_DAEMON_STORE_STORE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace caravan::store {

// Keys are 1 to 512 bytes, values up to 4 KiB.
inline constexpr size_t kMaxKey = 512;
inline constexpr size_t kMaxValue = 4096;

// A key that this process holds: renewed in the background, written anew where the store lost it
// and nobody took it meanwhile, gone soon after this is destroyed, and gone after the lease's time
// when the process dies. The store outlives its claims.
class Claim {
 public:
  virtual ~Claim() = default;
};

// Thread-safe. Calls that do not get an answer try again, with pauses, until the deadline:
// DeadlineExceeded then names the last reason. Cancelled when `cancelled` (polled) says so.
class Store {
 public:
  using Cancelled = std::function<bool()>;
  virtual ~Store() = default;

  // Writes `key` once nobody else holds it.
  virtual absl::StatusOr<std::unique_ptr<Claim>> Hold(const std::string& key,
                                                      const std::string& value, absl::Time deadline,
                                                      const Cancelled& cancelled) = 0;
  // Writes `key`, whoever wrote it before.
  virtual absl::StatusOr<std::unique_ptr<Claim>> Announce(const std::string& key,
                                                          const std::string& value,
                                                          absl::Time deadline,
                                                          const Cancelled& cancelled) = 0;
  // The value, or nothing where nobody holds the key.
  virtual absl::StatusOr<std::optional<std::string>> Get(const std::string& key,
                                                         absl::Time deadline,
                                                         const Cancelled& cancelled) = 0;
  // All keys that begin with `prefix`, at most 65,536.
  virtual absl::StatusOr<std::map<std::string, std::string>> List(const std::string& prefix,
                                                                  absl::Time deadline,
                                                                  const Cancelled& cancelled) = 0;
  // "etcd at http://10.0.0.1:2379": for messages.
  virtual std::string Describe() const = 0;
};

}  // namespace caravan::store

#endif  // CARAVAN_DAEMON_STORE_STORE_H_
