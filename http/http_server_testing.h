// SPDX-License-Identifier: Apache-2.0
//
// For tests: a small HTTP server on loopback that answers as it is told.
#ifndef CARAVAN_HTTP_HTTP_SERVER_TESTING_H_
#define CARAVAN_HTTP_HTTP_SERVER_TESTING_H_

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace caravan::http {

class ServerForTest {
 public:
  // What is sent back, headers and all, for a request as it came; an empty answer breaks off.
  using Answer = std::function<std::string(const std::string& request)>;
  explicit ServerForTest(Answer answer);
  ~ServerForTest();
  std::string url(const std::string& path) const;
  int requests() const { return requests_; }

  // "HTTP/1.1 200 OK" with this body.
  static std::string Ok(const std::string& body);

 private:
  void Serve();
  void ServeOne(int fd);

  const Answer answer_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> requests_{0};
  std::thread thread_;
};

}  // namespace caravan::http

#endif  // CARAVAN_HTTP_HTTP_SERVER_TESTING_H_
