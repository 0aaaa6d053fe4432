// SPDX-License-Identifier: Apache-2.0
//
// One HTTP(S) request at a time, by libcurl: for stores and collateral services, which are all
// untrusted. Redirects and proxies are not followed, bodies are bounded, and every request has a
// deadline.
#ifndef CARAVAN_HTTP_HTTP_H_
#define CARAVAN_HTTP_HTTP_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace caravan::http {

struct Request {
  std::string url = {};   // http:// or https://
  std::string body = {};  // POST where it is not empty or `post` is set, GET otherwise
  bool post = false;
  std::vector<std::string> headers = {};  // "Name: value"
  std::string ca_file = {};               // PEM; empty: the system's authorities
  size_t max_body = 1 << 20;              // bytes of the answer
  absl::Duration connect_timeout = absl::Seconds(2);
};

struct Reply {
  int code = 0;  // 200, 404, …
  std::string body;
  std::vector<std::string> headers;  // "name: value", names in lower case
};

// Whatever the server answered, 4xx and 5xx too. Unavailable: it could not be reached or broke off,
// with the reason. DeadlineExceeded. ResourceExhausted: the answer is larger than max_body.
// InvalidArgument: the URL. Cancelled when `cancelled` (polled) says so. Thread-safe.
absl::StatusOr<Reply> Fetch(const Request& request, absl::Time deadline,
                            const std::function<bool()>& cancelled = nullptr);

// The value of a header, or an empty string.
std::string Header(const Reply& reply, const std::string& lower_case_name);

}  // namespace caravan::http

#endif  // CARAVAN_HTTP_HTTP_H_
