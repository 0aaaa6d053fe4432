// SPDX-License-Identifier: Apache-2.0
#include "tests/adversary/handshake_model.h"

#include <gtest/gtest.h>

#include <iostream>

namespace caravan::session {
namespace {

using crypto::Role;

// Never reached: the search ends because there is nothing left to try.
constexpr size_t kBound = 20;

struct Setting {
  const char* name;
  std::vector<ModelEnd> ends;
  bool honest = false;  // both ends of each channel are nodes: handshakes can complete
  uint32_t rounds = 0;
  // The length of the longest schedule. A handshake or round takes six deliveries, a round its
  // start besides; each responder then takes the hello of one round more.
  size_t depth = 0;
};

const Setting kSettings[] = {
    {"TwoSessionsOfTheSameNodes",
     {{"a", "b", Role::kInitiator, "1"},
      {"b", "a", Role::kResponder, "1"},
      {"a", "b", Role::kInitiator, "2"},
      {"b", "a", Role::kResponder, "2"}},
     true,
     0,
     14},
    {"TwoSessionsTheOtherWayRound",
     {{"a", "b", Role::kInitiator, "1"},
      {"b", "a", Role::kResponder, "1"},
      {"b", "a", Role::kInitiator, "2"},
      {"a", "b", Role::kResponder, "2"}},
     true,
     0,
     14},
    {"OneSessionAndItsNextRound",
     {{"a", "b", Role::kInitiator, "1"}, {"b", "a", Role::kResponder, "1"}},
     true,
     1,
     14},
    {"RelayBetweenTwoNodes",
     {{"a", "m", Role::kInitiator, "1"}, {"b", "m", Role::kResponder, "2"}},
     false,
     0,
     2},
    {"TwoNodesThatDialTheAttacker",
     {{"a", "m", Role::kInitiator, "1"}, {"b", "m", Role::kInitiator, "2"}},
     false,
     0,
     2},
    {"TwoNodesThatTheAttackerDials",
     {{"a", "m", Role::kResponder, "1"}, {"b", "m", Role::kResponder, "2"}},
     false,
     0,
     2},
};

void Report(const char* name, const ModelResult& result) {
  std::cout << name << ": depth " << result.depth << ", " << result.states << " states, "
            << result.deliveries << " deliveries, " << result.completed << " with a completed end, "
            << result.violations.size() << " kinds of violation\n";
  for (const std::string& violation : result.violations) std::cout << "  " << violation << "\n";
}

class Schedules : public testing::TestWithParam<Setting> {};

TEST_P(Schedules, NoneBreaksAgreement) {
  const Setting& setting = GetParam();
  const ModelResult result = HandshakeModel(setting.ends, {}, setting.rounds).Explore(kBound);
  Report(setting.name, result);
  EXPECT_TRUE(result.violations.empty());
  EXPECT_EQ(result.completed > 0, setting.honest);
  EXPECT_EQ(result.depth, setting.depth);
}

INSTANTIATE_TEST_SUITE_P(Model, Schedules, testing::ValuesIn(kSettings),
                         [](const auto& info) { return std::string(info.param.name); });

size_t ViolationsWith(const HandshakeBugsForTest& bugs) {
  size_t violations = 0;
  for (const Setting& setting : kSettings) {
    const ModelResult result = HandshakeModel(setting.ends, bugs, setting.rounds).Explore(6);
    Report(setting.name, result);
    violations += result.violations.size();
  }
  return violations;
}

TEST(PlantedBug, TheSameBinderForBothRolesIsFound) {
  EXPECT_GT(ViolationsWith({.same_binder_for_both_roles = true}), 0u);
}

TEST(PlantedBug, AnUncheckedAcceptIsFound) {
  EXPECT_GT(ViolationsWith({.accept_unchecked = true}), 0u);
}

}  // namespace
}  // namespace caravan::session
