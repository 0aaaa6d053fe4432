// SPDX-License-Identifier: Apache-2.0
//
// Where tests find real evidence: the folder of @vectors, which may be absent.
#ifndef CARAVAN_ATTESTATION_SEV_SNP_TEST_VECTORS_H_
#define CARAVAN_ATTESTATION_SEV_SNP_TEST_VECTORS_H_

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace caravan::attestation {

// The path of a file below the folder of vectors.
inline std::string VectorPathForTest(const std::string& path) {
  const char* base = std::getenv("TEST_SRCDIR");
  return std::string(base == nullptr ? "." : base) + "/vectors/v/" + path;
}

inline std::optional<std::string> ReadVectorForTest(const std::string& path) {
  std::ifstream file(VectorPathForTest(path), std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline bool HaveVectorsForTest() {
  return ReadVectorForTest("snp/go-sev-guest/attestation.bin").has_value();
}

}  // namespace caravan::attestation

// First statement of a test that needs the vectors.
#define CARAVAN_REQUIRE_VECTORS()                                \
  if (!::caravan::attestation::HaveVectorsForTest()) {           \
    GTEST_SKIP() << "CARAVAN_VECTORS names no folder with snp/"; \
  }                                                              \
  static_assert(true)

#endif  // CARAVAN_ATTESTATION_SEV_SNP_TEST_VECTORS_H_
