// SPDX-License-Identifier: Apache-2.0
//
// A fuzzer defines these two functions.
#ifndef CARAVAN_TESTS_FUZZ_FUZZ_H_
#define CARAVAN_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// Takes any bytes; aborts when a promise is broken. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace caravan::fuzz {

// Valid inputs, made by the project's own encoders: fuzzing starts from the format as it is today.
// Seeds that people write, such as texts, are files (the rule's `seeds`).
std::vector<std::string> Seeds();

// Aborts with `what`.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace caravan::fuzz

#endif  // CARAVAN_TESTS_FUZZ_FUZZ_H_
