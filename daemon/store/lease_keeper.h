// SPDX-License-Identifier: Apache-2.0
//
// The leases of one store: renewed, taken anew when etcd has lost them, and given back, all on one
// thread, so that nobody waits for etcd but who asks it something. Internal to this folder.
#ifndef CARAVAN_DAEMON_STORE_LEASE_KEEPER_H_
#define CARAVAN_DAEMON_STORE_LEASE_KEEPER_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/store/etcd_api.pb.h"
#include "daemon/store/etcd_client.h"

namespace caravan::store {

// What a claim wrote, to write it again.
struct Held {
  std::string key;  // with the prefix
  std::string value;
  bool exclusive = false;  // only where nobody else holds it
};

class LeaseKeeper {
 public:
  explicit LeaseKeeper(EtcdClient* client);
  // Gives back what is still held, in one short try; etcd's own time ends the rest.
  ~LeaseKeeper();

  absl::StatusOr<int64_t> Grant(absl::Time deadline, const Store::Cancelled& cancelled);
  // False: somebody else holds the key.
  absl::StatusOr<bool> Write(const Held& held, int64_t lease, absl::Time deadline,
                             const Store::Cancelled& cancelled);
  // Keeps `lease` as long as the result lives; destroying it does not wait.
  std::unique_ptr<Claim> Keep(Held held, int64_t lease);
  // Gives a lease back that is not kept. Does not wait.
  void GiveBack(int64_t lease);

 private:
  class Kept;
  struct Entry {
    Held held;
    int64_t lease = 0;
  };
  void Run();
  void Renew(uint64_t id, Entry entry);
  void Revoke(int64_t lease, absl::Time deadline);
  void End(uint64_t id);

  EtcdClient* const client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, Entry> entries_;  // these four: guarded by mutex_
  std::vector<int64_t> ended_;         // leases to give back
  uint64_t next_ = 1;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace caravan::store

#endif  // CARAVAN_DAEMON_STORE_LEASE_KEEPER_H_
