// SPDX-License-Identifier: Apache-2.0
//
// For tests: an etcd of one's own on loopback.
#ifndef CARAVAN_TESTS_INTEGRATION_ETCD_H_
#define CARAVAN_TESTS_INTEGRATION_ETCD_H_

#include <string>

#include "tests/integration/process.h"

namespace caravan::testing {

class Etcd {
 public:
  static bool Installed();
  // Starts etcd and waits until it answers.
  Etcd();
  ~Etcd();
  const std::string& url() const { return url_; }
  Process& process() { return process_; }
  // Ends it and starts it again on the same data.
  void Restart();

 private:
  void Start();
  std::string folder_;
  std::string url_;
  std::string peer_url_;
  Process process_;
};

}  // namespace caravan::testing

#endif  // CARAVAN_TESTS_INTEGRATION_ETCD_H_
