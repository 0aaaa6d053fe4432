// SPDX-License-Identifier: Apache-2.0
//
// Reads Project Wycheproof's test vectors (schema testvectors_v1) for the tests of this folder.
#ifndef CARAVAN_CRYPTO_WYCHEPROOF_H_
#define CARAVAN_CRYPTO_WYCHEPROOF_H_

#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace caravan::crypto {

struct WycheproofCase {
  simdjson::dom::element group;
  simdjson::dom::element test;

  int64_t id() const { return test["tcId"]; }
  std::string_view result() const { return test["result"]; }
  bool valid() const { return result() == "valid"; }
  int64_t group_number(const char* name) const { return group[name]; }
  // A field of the test, or of its group, in hexadecimal.
  std::vector<uint8_t> bytes(const char* name) const;
  std::vector<uint8_t> group_bytes(const char* name) const;
};

// True when the vectors are there. Where they are not, a test skips.
bool WycheproofIsPresent();
constexpr char kWycheproofMissing[] =
    "no Wycheproof vectors: set CARAVAN_VECTORS to a folder that holds wycheproof/";

// Calls `run` for each test of "<name>_test.json". Fails the running gtest when the number of
// calls is not what the file announces.
void ForEachWycheproofCase(const std::string& name,
                           const std::function<void(const WycheproofCase&)>& run);

}  // namespace caravan::crypto

#endif  // CARAVAN_CRYPTO_WYCHEPROOF_H_
