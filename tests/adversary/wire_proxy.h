// SPDX-License-Identifier: Apache-2.0
//
// An adversary between two ends of a lane: records that go one way pass through its hands.
#ifndef CARAVAN_TESTS_ADVERSARY_WIRE_PROXY_H_
#define CARAVAN_TESTS_ADVERSARY_WIRE_PROXY_H_

#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace caravan::adversary {

using WireBytes = std::vector<uint8_t>;

class WireProxy {
 public:
  // What to send on instead of the `index`-th record.
  using Tamper = std::function<std::vector<WireBytes>(int index, const WireBytes& record)>;

  WireProxy() = default;
  ~WireProxy();
  WireProxy(const WireProxy&) = delete;
  WireProxy& operator=(const WireProxy&) = delete;

  // The descriptors for the two ends. Records from the first to the second go through `tamper`;
  // an empty record ends the connection. Those of the other way go through `back`, if there is one,
  // on another thread.
  std::pair<int, int> Connect(Tamper tamper, Tamper back = nullptr);

 private:
  static void Records(int from, int to, const Tamper& tamper);
  void Rest();

  int first_ = -1;
  int second_ = -1;
  std::thread records_;
  std::thread rest_;
};

}  // namespace caravan::adversary

#endif  // CARAVAN_TESTS_ADVERSARY_WIRE_PROXY_H_
