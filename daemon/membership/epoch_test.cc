// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/epoch.h"

#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "collective/cost/selector.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::membership {
namespace {

using testing::HasSubstr;

v1::Roster GoodRoster(int size = 3) {
  v1::Roster roster;
  roster.set_communicator("train");
  roster.set_generation(7);
  roster.set_suite(1);
  roster.set_policy_digest(std::string(32, 'p'));
  roster.set_chunk_log2(17);
  roster.set_lanes(2);
  roster.set_selector_table(collective::Canonical({}));
  for (int i = 0; i < size; ++i) {
    v1::Member* member = roster.add_members();
    member->set_rank(i);
    member->set_spki(std::string(32, static_cast<char>('a' + i)));
    member->set_root_session(i == 0 ? std::string(16, '\0')
                                    : std::string(16, static_cast<char>('A' + i)));
    member->set_contribution(std::string(32, static_cast<char>('0' + i)));
    member->set_control_address(absl::StrCat("10.0.0.", i + 1, ":7400"));
    member->set_data_address(absl::StrCat("10.0.0.", i + 1, ":7401"));
    member->add_suites(1);
    member->add_suites(2);
    member->set_node(absl::StrCat("node-", i));
  }
  return roster;
}

OwnPart PartOf(const v1::Roster& roster, uint32_t rank) {
  const v1::Member& member = roster.members(rank);
  OwnPart own;
  own.communicator = roster.communicator();
  own.rank = rank;
  own.size = roster.members_size();
  own.spki = *ToArray<32>(member.spki(), "spki");
  own.root_session = *ToArray<16>(member.root_session(), "session");
  own.contribution = member.contribution();
  own.suites = {1, 2};
  own.policy_digest = *ToArray<32>(roster.policy_digest(), "policy");
  own.chunk_log2 = 17;
  own.lanes = 2;
  return own;
}

TEST(Roster, PassesItsOwnChecks) {
  v1::Roster roster = GoodRoster();
  EXPECT_TRUE(CheckRoster(roster).ok());
  OwnPart own = PartOf(roster, 1);
  EXPECT_TRUE(CheckRosterFor(roster, own, PartOf(roster, 0).spki).ok());
}

struct Damage {
  const char* name;
  std::function<void(v1::Roster*)> apply;
  const char* what;
};

class DamagedRosters : public testing::TestWithParam<Damage> {};

TEST_P(DamagedRosters, AreRefusedByName) {
  v1::Roster roster = GoodRoster();
  OwnPart own = PartOf(roster, 1);
  crypto::Sha256Digest root = PartOf(roster, 0).spki;
  GetParam().apply(&roster);
  absl::Status status = CheckRosterFor(roster, own, root);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, DamagedRosters,
    testing::Values(
        Damage{"Name", [](v1::Roster* r) { r->set_communicator(std::string(129, 'x')); },
               "communicator"},
        Damage{"OtherName", [](v1::Roster* r) { r->set_communicator("other"); }, "another one"},
        Damage{"Empty", [](v1::Roster* r) { r->clear_members(); }, "0 members"},
        Damage{"RankOrder", [](v1::Roster* r) { r->mutable_members(2)->set_rank(1); },
               "member 2: has rank 1"},
        Damage{"RepeatedNode",
               [](v1::Roster* r) { r->mutable_members(2)->set_spki(r->members(1).spki()); },
               "stands in it already"},
        Damage{"ShortSpki", [](v1::Roster* r) { r->mutable_members(0)->set_spki("x"); }, "spki"},
        Damage{"Root", [](v1::Roster* r) { r->mutable_members(0)->set_spki(std::string(32, 'z')); },
               "rank 0 is not the node"},
        Damage{
            "RootSession",
            [](v1::Roster* r) { r->mutable_members(2)->set_root_session(std::string(16, '\0')); },
            "root_session is zero"},
        Damage{"OwnSession",
               [](v1::Roster* r) { r->mutable_members(1)->set_root_session(std::string(16, 'q')); },
               "own root_session"},
        Damage{"OwnContribution",
               [](v1::Roster* r) { r->mutable_members(1)->set_contribution(std::string(32, 'q')); },
               "own contribution"},
        Damage{"OwnOffer",
               [](v1::Roster* r) { r->mutable_members(1)->mutable_suites()->RemoveLast(); },
               "own suites differ"},
        Damage{"UnofferedSuite",
               [](v1::Roster* r) {
                 r->set_suite(2);
                 r->mutable_members(2)->mutable_suites()->RemoveLast();
               },
               "does not offer the suite CHACHA20_POLY1305"},
        Damage{"UnknownSuite", [](v1::Roster* r) { r->set_suite(3); }, "suite 3 is unknown"},
        Damage{"Policy", [](v1::Roster* r) { r->set_policy_digest(std::string(32, 'q')); },
               "policy_digest"},
        Damage{"Chunk", [](v1::Roster* r) { r->set_chunk_log2(19); }, "chunk_log2 is 19"},
        Damage{"Lanes", [](v1::Roster* r) { r->set_lanes(0); }, "lanes is 0"},
        Damage{"RanksPerNode", [](v1::Roster* r) { r->set_ranks_per_node(2); },
               "ranks_per_node differs"},
        Damage{"TooManyRanksPerNode", [](v1::Roster* r) { r->set_ranks_per_node(65); },
               "ranks_per_node is 65"},
        Damage{"Selector", [](v1::Roster* r) { r->set_selector_table("other"); },
               "selector table: has"}),
    [](const testing::TestParamInfo<Damage>& info) { return info.param.name; });

TEST(Roster, MayHaveAnyTableAndLanesWhereNoneWereAskedFor) {
  v1::Roster roster = GoodRoster();
  OwnPart own = PartOf(roster, 1);
  own.lanes = 0;
  roster.set_lanes(3);
  roster.set_selector_table(collective::Canonical(
      {{collective::Operation::kAllReduce, 100, 3, collective::Algorithm::kRing}}));
  EXPECT_TRUE(CheckRosterFor(roster, own, *ToArray<32>(roster.members(0).spki(), "spki")).ok());
}

TEST(EpochId, ChangesWithEveryPartThatIsBound) {
  std::set<crypto::EpochId> ids;
  auto add = [&](const std::function<void(v1::Roster*)>& change) {
    v1::Roster roster = GoodRoster();
    change(&roster);
    ids.insert(ComputeEpochId(roster));
  };
  add([](v1::Roster*) {});
  add([](v1::Roster* r) { r->set_communicator("trai"); });
  add([](v1::Roster* r) { r->set_generation(8); });
  add([](v1::Roster* r) { r->set_ranks_per_node(2); });
  add([](v1::Roster* r) { r->mutable_members(0)->set_contribution(std::string(32, 'x')); });
  add([](v1::Roster* r) { r->mutable_members(1)->set_spki(std::string(32, 'x')); });
  add([](v1::Roster* r) { r->mutable_members(1)->set_root_session(std::string(16, 'x')); });
  add([](v1::Roster* r) { r->mutable_members(2)->mutable_suites()->RemoveLast(); });
  add([](v1::Roster* r) { r->mutable_members()->RemoveLast(); });
  add([](v1::Roster* r) { r->set_suite(2); });
  add([](v1::Roster* r) { r->set_policy_digest(std::string(32, 'x')); });
  add([](v1::Roster* r) { r->set_chunk_log2(16); });
  add([](v1::Roster* r) { r->set_selector_table("tables"); });
  EXPECT_EQ(ids.size(), 13u);
}

class EpochSecret : public testing::Test {
 protected:
  crypto::SecretBytes secret_ = *crypto::SecretBytes::Random(kEpochSecretSize);
  crypto::SecretBytes session_ = *crypto::SecretBytes::Random(48);
  crypto::EpochId epoch_ = ComputeEpochId(GoodRoster());
};

TEST_F(EpochSecret, ReachesItsRecipient) {
  absl::StatusOr<std::string> wrapped = WrapEpochSecret(secret_, session_, epoch_, 2);
  ASSERT_TRUE(wrapped.ok()) << wrapped.status();
  EXPECT_EQ(wrapped->size(), 64u);
  absl::StatusOr<crypto::SecretBytes> opened = UnwrapEpochSecret(*wrapped, session_, epoch_, 2);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(crypto::ConstantTimeEquals(opened->Expose(), secret_.Expose()));
}

TEST_F(EpochSecret, ReachesNobodyElse) {
  std::string wrapped = *WrapEpochSecret(secret_, session_, epoch_, 2);
  EXPECT_EQ(UnwrapEpochSecret(wrapped, session_, epoch_, 1).status().code(),
            absl::StatusCode::kPermissionDenied);
  crypto::EpochId other = epoch_;
  other[31] ^= 1;
  EXPECT_FALSE(UnwrapEpochSecret(wrapped, session_, other, 2).ok());
  crypto::SecretBytes session = *crypto::SecretBytes::Random(48);
  EXPECT_FALSE(UnwrapEpochSecret(wrapped, session, epoch_, 2).ok());
  for (size_t i = 0; i < wrapped.size(); ++i) {
    std::string flipped = wrapped;
    flipped[i] ^= 1;
    EXPECT_FALSE(UnwrapEpochSecret(flipped, session_, epoch_, 2).ok()) << i;
  }
  for (size_t size : {0u, 63u, 65u}) {
    std::string wrong = wrapped;
    wrong.resize(size);
    EXPECT_EQ(UnwrapEpochSecret(wrong, session_, epoch_, 2).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(Suites, ParseByName) {
  EXPECT_EQ(*ParseSuite("AES_256_GCM"), crypto::Suite::kAes256Gcm);
  EXPECT_EQ(*ParseSuite("CHACHA20_POLY1305"), crypto::Suite::kChaCha20Poly1305);
  EXPECT_THAT(std::string(ParseSuite("ROT13").status().message()), HasSubstr("\"ROT13\""));
}

}  // namespace
}  // namespace caravan::membership
