// SPDX-License-Identifier: Apache-2.0
#include "base/socket_address.h"

#include "gtest/gtest.h"

namespace caravan::base {
namespace {

TEST(Address, ParsesNamesAndBothFamilies) {
  EXPECT_EQ(ParseHostPort("node-a:7400")->host, "node-a");
  EXPECT_EQ(ParseHostPort("[::1]:7400")->host, "::1");
  EXPECT_EQ(ParseHostPort("[::1]:7400")->ToString(), "[::1]:7400");
  EXPECT_EQ(ParseHostPort("10.0.0.1:0")->port, 0);
  for (const char* bad : {"", ":1", "::1:7400", "a:", "a:-1", "a: 1", "a:1x", "[]:1"}) {
    EXPECT_FALSE(ParseHostPort(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace caravan::base
