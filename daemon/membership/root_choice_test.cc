// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/root_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "collective/cost/crossover.h"

namespace caravan::membership {
namespace {

v1::Roster MakeRoster(int size, bool one_host = false) {
  v1::Roster roster;
  roster.set_suite(1);
  roster.set_chunk_log2(17);
  for (int i = 0; i < size; ++i) {
    v1::Member* member = roster.add_members();
    member->set_rank(i);
    member->set_root_session(std::string(16, static_cast<char>(i)));
    member->set_data_address(one_host ? absl::StrCat("127.0.0.1:", 7401 + i)
                                      : absl::StrCat("[fe80::", i, "]:7401"));
  }
  return roster;
}

RootFacts MakeFacts() {
  RootFacts facts;
  collective::Rates rates;
  rates.latency_ns = 3000;
  rates.cores = 32;
  facts.calibration.rates[crypto::Suite::kAes256Gcm] = rates;
  rates.seal_ns_per_byte = 2;
  facts.calibration.rates[crypto::Suite::kChaCha20Poly1305] = rates;
  return facts;
}

// The round trip of the session with rank r: r × 100 µs.
absl::Duration RoundTripByRank(const crypto::SessionId& session) {
  return session[0] * absl::Microseconds(100);
}

TEST(RatesAmong, AreTheSuitesWithTheLongestRoundTripAndTheLink) {
  RootFacts facts = MakeFacts();
  facts.link_bytes_per_second = 1e9;
  v1::Roster roster = MakeRoster(4);
  collective::Rates rates = RatesAmong(facts, RoundTripByRank, roster);
  EXPECT_EQ(rates.latency_ns, 150'000);
  EXPECT_EQ(rates.link_bytes_per_second, 1e9);
  EXPECT_EQ(rates.ranks_per_node, 1);
  EXPECT_NE(rates.seal_ns_per_byte, 2);
  roster.set_suite(2);
  EXPECT_EQ(RatesAmong(facts, RoundTripByRank, roster).seal_ns_per_byte, 2);
}

TEST(RatesAmong, KnowMembersOfOneHost) {
  v1::Roster roster = MakeRoster(3, /*one_host=*/true);
  collective::Rates rates = RatesAmong(MakeFacts(), RoundTripByRank, roster);
  EXPECT_EQ(rates.ranks_per_node, 3);
  EXPECT_EQ(rates.latency_ns, 3000) << "no round trip within a host counts";
  roster.mutable_members(2)->set_data_address("10.0.0.9:7401");
  rates = RatesAmong(MakeFacts(), RoundTripByRank, roster);
  EXPECT_EQ(rates.ranks_per_node, 2);
  EXPECT_EQ(rates.latency_ns, 100'000);
}

TEST(ChooseForAll, GivesATableOfTheConfigurationsChoicesAndThenTheDerivedOnes) {
  RootFacts facts = MakeFacts();
  facts.choices = {{collective::Operation::kAllReduce, 1000, 8, collective::Algorithm::kRing}};
  v1::Roster roster = MakeRoster(4);
  ChooseForAll(facts, RoundTripByRank, &roster);
  const auto table = collective::ParseSelectorTable(roster.selector_table());
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->front(), facts.choices.front());
  EXPECT_EQ(collective::SelectorTable(table->begin() + 1, table->end()),
            collective::DeriveTable(RatesAmong(facts, RoundTripByRank, roster), 4));
  EXPECT_LT(roster.selector_table().size(), 1000u);
}

TEST(ChooseForAll, TakesLanesThatWereAskedFor) {
  v1::Roster roster = MakeRoster(4);
  roster.set_lanes(7);
  ChooseForAll(MakeFacts(), RoundTripByRank, &roster);
  EXPECT_EQ(roster.lanes(), 7u);
  roster.set_lanes(0);
  ChooseForAll(MakeFacts(), RoundTripByRank, &roster);
  EXPECT_EQ(roster.lanes(), 4u);
  roster = MakeRoster(4, /*one_host=*/true);
  ChooseForAll(MakeFacts(), RoundTripByRank, &roster);
  EXPECT_EQ(roster.lanes(), 1u);
}

TEST(ChooseForAll, WorksForOneMemberAndForNothingMeasured) {
  v1::Roster roster = MakeRoster(1);
  ChooseForAll(RootFacts{}, RoundTripByRank, &roster);
  EXPECT_EQ(roster.lanes(), 1u);
  EXPECT_TRUE(collective::ParseSelectorTable(roster.selector_table()).ok());
  roster = MakeRoster(5);
  ChooseForAll(RootFacts{}, RoundTripByRank, &roster);
  EXPECT_TRUE(collective::ParseSelectorTable(roster.selector_table()).ok());
}

TEST(DefaultLanes, GrowWithCoresWithinBounds) {
  EXPECT_EQ(DefaultLanes(2, false, 2), 1u);
  EXPECT_EQ(DefaultLanes(16, false, 2), 2u);
  EXPECT_EQ(DefaultLanes(192, false, 2), 4u);
  EXPECT_EQ(DefaultLanes(192, true, 8), 1u);
  EXPECT_EQ(DefaultLanes(192, false, 257), 2u);
  EXPECT_EQ(DefaultLanes(192, false, 1024), 1u);
  EXPECT_EQ(DefaultLanes(192, false, 1), 1u);
}

}  // namespace
}  // namespace caravan::membership
