// SPDX-License-Identifier: Apache-2.0
//
// admin.sock: what an administrator asks, over gRPC (proto/caravan/v1/admin.proto).
#ifndef CARAVAN_DAEMON_SERVICE_ADMIN_SERVICE_H_
#define CARAVAN_DAEMON_SERVICE_ADMIN_SERVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collective/cost/cost.h"
#include "daemon/engine/engine.h"
#include "daemon/local/applications.h"
#include "daemon/service/refusals.h"
#include "daemon/session/session.h"

namespace caravan::service {

// What stays the same while the daemon runs.
struct NodeFacts {
  std::string node;
  std::string version;
  std::string attester;  // "insecure-software"
  std::string policy;    // "prod@sha256:ab12…"
  bool insecure = false;
  std::string measurement;  // hex
  std::string control_address;
  std::string data_address;
  absl::Time started;
  collective::Rates rates;  // measured at the start, of the suite that communicators prefer
};

class AdminServer {
 public:
  struct Options {
    std::string path;
    std::vector<uid_t> allowed_uids;
    NodeFacts facts;
    session::SessionManager* sessions = nullptr;  // these outlive the server
    engine::Engine* engine = nullptr;
    const local::Applications* applications = nullptr;
    const Refusals* refusals = nullptr;
  };
  // Errors as LocalSocket::Start.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(Options options);
  virtual ~AdminServer() = default;
  virtual void Stop() = 0;
};

}  // namespace caravan::service

#endif  // CARAVAN_DAEMON_SERVICE_ADMIN_SERVICE_H_
