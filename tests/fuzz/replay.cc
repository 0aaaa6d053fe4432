// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzzer without libFuzzer: every seed whole, cut short and with bytes changed. Always the
// same inputs.
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

constexpr int kChanges = 400;  // changed copies of each seed
constexpr size_t kCuts = 200;  // shortened copies of each seed, at most

// From a buffer of exactly its size, so that AddressSanitizer sees every byte read past it.
void Run(const std::string& input) {
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void RunAround(const std::string& seed, std::mt19937* random) {
  Run(seed);
  const size_t stride = seed.size() / kCuts + 1;
  for (size_t size = 0; size < seed.size(); size += stride) Run(seed.substr(0, size));
  Run(seed + '\0');
  if (seed.empty()) return;
  for (int i = 0; i < kChanges; ++i) {
    std::string changed = seed;
    for (int changes = 1 + (*random)() % 4; changes > 0; --changes) {
      changed[(*random)() % changed.size()] ^= static_cast<char>(1u << (*random)() % 8);
    }
    Run(changed);
  }
}

}  // namespace
}  // namespace caravan::fuzz

int main(int argc, char** argv) {
  std::vector<std::string> seeds = caravan::fuzz::Seeds();
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "cannot read the seed %s\n", argv[i]);
      return 1;
    }
    std::stringstream content;
    content << in.rdbuf();
    seeds.push_back(content.str());
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "this fuzzer has no seeds\n");
    return 1;
  }
  std::mt19937 random(1);
  for (const std::string& seed : seeds) caravan::fuzz::RunAround(seed, &random);
  std::printf("replayed %zu seeds\n", seeds.size());
}
