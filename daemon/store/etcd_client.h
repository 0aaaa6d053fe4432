// SPDX-License-Identifier: Apache-2.0
//
// Calls to etcd's JSON gateway: messages in, messages out, endpoints in turn, pauses between tries.
// Internal to this folder.
#ifndef CARAVAN_DAEMON_STORE_ETCD_CLIENT_H_
#define CARAVAN_DAEMON_STORE_ETCD_CLIENT_H_

#include <google/protobuf/message.h>

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "daemon/store/etcd_store.h"

namespace caravan::store {

class EtcdClient {
 public:
  explicit EtcdClient(EtcdOptions options) : options_(std::move(options)) {}
  const EtcdOptions& options() const { return options_; }
  std::string Describe() const;

  // One call to "/v3/…", tried until it is answered. Answers that another try cannot mend come back
  // at once: InvalidArgument, NotFound, PermissionDenied, Internal (no JSON).
  absl::Status Call(const std::string& path, const google::protobuf::Message& request,
                    google::protobuf::Message* reply, absl::Time deadline,
                    const Store::Cancelled& cancelled);
  // Calls once at each endpoint.
  absl::Status CallOnce(const std::string& path, const google::protobuf::Message& request,
                        google::protobuf::Message* reply, absl::Time deadline,
                        const Store::Cancelled& cancelled);

 private:
  absl::Status Try(const std::string& endpoint, const std::string& path, const std::string& body,
                   google::protobuf::Message* reply, absl::Time deadline,
                   const Store::Cancelled& cancelled);

  const EtcdOptions options_;
  std::atomic<size_t> endpoint_{0};  // the one that answered last
};

// Text from a store, for a message: escaped, 256 bytes of it at most.
std::string Shown(absl::string_view text);

// Sleeps in short pieces; Cancelled as soon as `cancelled` says so.
absl::Status Pause(absl::Duration pause, absl::Time deadline, const Store::Cancelled& cancelled);

}  // namespace caravan::store

#endif  // CARAVAN_DAEMON_STORE_ETCD_CLIENT_H_
