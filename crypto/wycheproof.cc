// SPDX-License-Identifier: Apache-2.0
#include "crypto/wycheproof.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "absl/strings/escaping.h"

namespace caravan::crypto {
namespace {

std::string Folder() {
  const char* sources = std::getenv("TEST_SRCDIR");
  return std::string(sources != nullptr ? sources : ".") + "/vectors/v/wycheproof";
}

std::vector<uint8_t> FromHex(std::string_view hex) {
  const std::string bytes = absl::HexStringToBytes({hex.data(), hex.size()});
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<uint8_t> WycheproofCase::bytes(const char* name) const { return FromHex(test[name]); }

std::vector<uint8_t> WycheproofCase::group_bytes(const char* name) const {
  return FromHex(group[name]);
}

bool WycheproofIsPresent() {
  struct stat info;
  return stat(Folder().c_str(), &info) == 0;
}

void ForEachWycheproofCase(const std::string& name,
                           const std::function<void(const WycheproofCase&)>& run) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.load(Folder() + "/" + name + "_test.json").get(root), simdjson::SUCCESS) << name;
  int64_t count = 0;
  for (simdjson::dom::element group : root["testGroups"].get_array()) {
    for (simdjson::dom::element test : group["tests"].get_array()) {
      ++count;
      const WycheproofCase one{group, test};
      SCOPED_TRACE(name + " test " + std::to_string(one.id()));
      run(one);
    }
  }
  const int64_t announced = root["numberOfTests"];
  EXPECT_EQ(count, announced);
  EXPECT_GT(count, 0);
}

}  // namespace caravan::crypto
