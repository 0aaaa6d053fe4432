// SPDX-License-Identifier: Apache-2.0
//
// What the host's quote service answers: the length in front, and the message.
#include <sys/socket.h>
#include <unistd.h>

#include "absl/time/clock.h"
#include "attester/quote_service.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {

constexpr size_t kMaxAnswer = 32 << 10;  // what a socket holds without a reader

std::vector<std::string> Seeds() {
  const auto answer = [](char type, char error, const std::string& id, const std::string& quote) {
    const std::string message =
        std::string("\x01\0\0\0", 4) + std::string{type, 0, 0, 0} +
        std::string{static_cast<char>(24 + id.size() + quote.size()), 0, 0, 0} +
        std::string{error, static_cast<char>(error == 0 ? 0 : 0x20),
                    static_cast<char>(error == 0 ? 0 : 1), 0} +
        std::string{static_cast<char>(id.size()), 0, 0, 0} +
        std::string{static_cast<char>(quote.size()), 0, 0, 0} + id + quote;
    return std::string{0, 0, 0, static_cast<char>(message.size())} + message;
  };
  return {answer(1, 0, "", "the quote"), answer(1, 0, "id", "the quote"), answer(1, 2, "", ""),
          answer(0, 0, "", "a request")};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  if (size > fuzz::kMaxAnswer) return 0;
  int ends[2];
  fuzz::Require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a pair of sockets can be made");
  fuzz::Require(send(ends[1], data, size, 0) == static_cast<ssize_t>(size), "it holds the answer");
  fuzz::Require(shutdown(ends[1], SHUT_WR) == 0, "the answer has an end");
  const auto quote = attester::RequestQuote([&](absl::Time) { return ends[0]; }, "td report",
                                            absl::Now() + absl::Seconds(10));
  close(ends[1]);
  if (!quote.ok()) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  fuzz::Require(!quote->empty() && bytes.find(*quote, 28) != std::string::npos,
                "a quote is what stands behind the lengths");
  return 0;
}
