// SPDX-License-Identifier: Apache-2.0
//
// An Admin service in the test's own process, on a socket of its own.
#ifndef CARAVAN_CLI_FAKE_ADMIN_H_
#define CARAVAN_CLI_FAKE_ADMIN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/caravan/v1/admin.pb.h"

namespace caravan::cli {

class FakeAdmin {
 public:
  static std::unique_ptr<FakeAdmin> Start();
  virtual ~FakeAdmin() = default;
  virtual const std::string& runtime_dir() const = 0;

  // Set before a call.
  v1::GetStatusReply status;
  absl::Status error;               // what every call answers, unless OK
  bool answers = true;              // false: calls run into their deadline
  std::vector<std::string> closed;  // ids that were asked to be closed
};

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_FAKE_ADMIN_H_
