// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer's mutator, which now and then begins again at a seed made in code.
#include <algorithm>

#include "tests/fuzz/fuzz.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  static const std::vector<std::string>& seeds = *new std::vector(caravan::fuzz::Seeds());
  if (!seeds.empty() && (size <= 1 || seed % 64 == 0)) {
    const std::string& from = seeds[seed / 64 % seeds.size()];
    size = std::min(from.size(), max_size);
    std::copy_n(from.begin(), size, data);
    // Whole at times, so that the corpus gets to hold it.
    if (seed % 128 == 0) return size;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
