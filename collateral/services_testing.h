// SPDX-License-Identifier: Apache-2.0
//
// For tests: AMD's and Intel's services on loopback, and a clock that only moves when somebody
// sleeps.
#ifndef CARAVAN_COLLATERAL_SERVICES_TESTING_H_
#define CARAVAN_COLLATERAL_SERVICES_TESTING_H_

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "attestation/collateral/makers_testing.h"
#include "collateral/fetcher.h"
#include "collateral/services.h"
#include "http/http_server_testing.h"

namespace caravan::collateral {

// Thread-safe.
class ClockForTest {
 public:
  explicit ClockForTest(absl::Time now) : now_(now) {}

  absl::Time now() const;
  void Set(absl::Time now);
  std::vector<absl::Duration> slept() const;  // every sleep asked for
  void ForgetSleeps();

  // Time passes by sleeping, and by waiting in vain for an answer; chance is `random` each time.
  // The network is real: 300 ms without an answer stand for all of a time-out.
  World MakeWorld(double random = 0.5);

 private:
  mutable std::mutex mutex_;
  absl::Time now_;
  std::vector<absl::Duration> slept_;
};

// A whole answer: "HTTP/1.1 429 …" with headers ("Retry-After: 7") and a body.
std::string AnswerForTest(int code, const std::vector<std::string>& headers = {},
                          const std::string& body = "");

// One server in the place of all of them.
class ServicesForTest {
 public:
  ServicesForTest();

  Services services() const;  // all at this server
  // Publishes everything that both makers have, as of their `now`.
  void PublishAll();
  void Publish(const attestation::CollateralRequest& request,
               const attestation::CollateralItem& item);
  // What is answered for a path, query and all; each answer once, the last one for ever.
  void Answer(const std::string& path, std::vector<std::string> answers);
  void AnswerAll(const std::string& answer);  // whatever is asked, until PublishAll()
  void AnswerLate(absl::Duration delay);      // by so much real time
  static std::string PathOf(const attestation::CollateralRequest& request);

  std::vector<std::string> asked() const;  // "GET /path" in order
  void ForgetAsked();
  std::vector<std::string> roots();

  attestation::AmdForTest amd;
  attestation::IntelForTest intel;

 private:
  std::string Reply(const std::string& request);

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> answers_;
  std::string for_all_;
  absl::Duration delay_;
  std::vector<std::string> asked_;
  http::ServerForTest server_;  // last: it calls Reply
};

}  // namespace caravan::collateral

#endif  // CARAVAN_COLLATERAL_SERVICES_TESTING_H_
