// SPDX-License-Identifier: Apache-2.0
//
// The store on etcd (3.4 or later), through its v3 JSON gateway.
#ifndef CARAVAN_DAEMON_STORE_ETCD_STORE_H_
#define CARAVAN_DAEMON_STORE_ETCD_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/store/store.h"

namespace caravan::store {

struct EtcdOptions {
  std::vector<std::string> endpoints;              // "http://10.0.0.1:2379"; tried in turn
  std::string prefix = "caravan/";                 // stands before every key
  std::string ca_file;                             // for https://; empty: the system's authorities
  absl::Duration lease = absl::Seconds(10);        // 2 s to 1 h, whole seconds
  absl::Duration call_timeout = absl::Seconds(3);  // one call to one endpoint
};

// InvalidArgument names the option. Does not talk to etcd yet.
absl::StatusOr<std::unique_ptr<Store>> MakeEtcdStore(EtcdOptions options);

}  // namespace caravan::store

#endif  // CARAVAN_DAEMON_STORE_ETCD_STORE_H_
