// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/rendezvous.h"

#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/membership/epoch.h"
#include "daemon/membership/root_choice.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::membership {
namespace {

using testing::HasSubstr;

constexpr char kLetters[] = "abcdefghijklmnop";

Joiner MakeJoiner(uint32_t rank, uint32_t size) {
  Joiner joiner;
  v1::JoinRequest& request = joiner.request;
  request.set_communicator("train");
  request.set_rank(rank);
  request.set_size(size);
  request.set_contribution(std::string(32, static_cast<char>(rank)));
  request.set_control_address(absl::StrCat("10.0.0.", rank + 1, ":7400"));
  request.set_data_address(absl::StrCat("10.0.0.", rank + 1, ":7401"));
  request.add_suites(1);
  request.add_suites(2);
  request.set_chunk_log2(17);
  request.set_lanes(1);
  request.set_node(absl::StrCat("node-", std::string(1, kLetters[rank])));
  request.set_policy_digest(std::string(32, 'p'));
  joiner.spki.fill(static_cast<uint8_t>(rank + 1));
  if (rank != 0) joiner.root_session.fill(static_cast<uint8_t>(rank));
  return joiner;
}

void Choose(v1::Roster* roster) {
  ChooseForAll(
      RootFacts{}, [](const crypto::SessionId&) { return absl::ZeroDuration(); }, roster);
}

using Result = absl::StatusOr<std::shared_ptr<const Gathered>>;

std::future<Result> Start(
    Rendezvous& rendezvous, Joiner joiner, absl::Duration timeout = absl::Seconds(20),
    std::function<bool()> cancelled = [] { return false; }) {
  return std::async(std::launch::async, [&rendezvous, joiner, timeout, cancelled] {
    return rendezvous.Join(joiner, absl::Now() + timeout, cancelled);
  });
}

TEST(Rendezvous, GivesAllRanksOneRosterAndSecret) {
  Rendezvous rendezvous(8, Choose);
  std::vector<std::future<Result>> joins;
  for (uint32_t rank : {2u, 0u, 3u, 1u}) {
    joins.push_back(Start(rendezvous, MakeJoiner(rank, 4)));
  }
  std::shared_ptr<const Gathered> first;
  for (std::future<Result>& join : joins) {
    Result result = join.get();
    ASSERT_TRUE(result.ok()) << result.status();
    if (first == nullptr) first = *result;
    EXPECT_EQ(first, *result);
  }
  EXPECT_TRUE(CheckRoster(first->roster).ok());
  EXPECT_EQ(first->epoch, ComputeEpochId(first->roster));
  EXPECT_EQ(first->secret.size(), kEpochSecretSize);
  EXPECT_EQ(first->roster.suite(), 1u);
}

TEST(Rendezvous, MakesALaterGenerationEachTime) {
  Rendezvous rendezvous(8, Choose);
  Result one = Start(rendezvous, MakeJoiner(0, 1)).get();
  Result two = Start(rendezvous, MakeJoiner(0, 1)).get();
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_LT((*one)->roster.generation(), (*two)->roster.generation());
  EXPECT_NE((*one)->epoch, (*two)->epoch);
}

struct Contradiction {
  const char* name;
  std::function<void(Joiner*)> change;  // of rank 1; rank 0 of 3 stands
  const char* what;
};

class Contradictions : public testing::TestWithParam<Contradiction> {};

TEST_P(Contradictions, EndTheGatheringForAllWithBothSidesNamed) {
  Rendezvous rendezvous(8, Choose);
  std::future<Result> root = Start(rendezvous, MakeJoiner(0, 3));
  absl::SleepFor(absl::Milliseconds(100));
  Joiner other = MakeJoiner(1, 3);
  GetParam().change(&other);
  Result result = Start(rendezvous, other).get();
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(GetParam().what));
  EXPECT_EQ(root.get().status(), result.status());
}

INSTANTIATE_TEST_SUITE_P(
    Fields, Contradictions,
    testing::Values(
        Contradiction{"Size", [](Joiner* j) { j->request.set_size(4); },
                      "rank 1 (node-b) asked for 4 ranks, rank 0 (node-a) for 3"},
        Contradiction{"Rank", [](Joiner* j) { j->request.set_rank(0); },
                      "rank 0 is claimed by both node-a and node-b"},
        Contradiction{"Node", [](Joiner* j) { j->spki.fill(1); },
                      "rank 0 and rank 1 are both of node node-b"},
        Contradiction{"Chunk", [](Joiner* j) { j->request.set_chunk_log2(14); },
                      "rank 1 (node-b) asked for chunks of 2^14 bytes, rank 0 (node-a) for 2^17"},
        Contradiction{"Lanes", [](Joiner* j) { j->request.set_lanes(2); },
                      "rank 1 (node-b) asked for 2 lanes, rank 0 (node-a) for 1"},
        Contradiction{"RanksPerNode", [](Joiner* j) { j->request.set_ranks_per_node(2); },
                      "ranks 2-3 (node-b) asked for 2 ranks a node, rank 0 (node-a) for 1"},
        Contradiction{"Suite", [](Joiner* j) { j->request.set_suite("CHACHA20_POLY1305"); },
                      "asked for CHACHA20_POLY1305, rank 0 (node-a) for any suite"},
        Contradiction{"AnyLanes", [](Joiner* j) { j->request.set_lanes(0); },
                      "rank 1 (node-b) asked for any number of lanes, rank 0 (node-a) for 1"},
        Contradiction{"Policy",
                      [](Joiner* j) { j->request.set_policy_digest(std::string(32, 'q')); },
                      "rank 1 (node-b) has policy 7171717171717171…, rank 0 (node-a) "
                      "7070707070707070…"}),
    [](const testing::TestParamInfo<Contradiction>& info) { return info.param.name; });

TEST(Rendezvous, RefusesMalformedRequestsAloneAndByField) {
  struct {
    std::function<void(v1::JoinRequest*)> change;
    const char* field;
  } cases[] = {
      {[](v1::JoinRequest* r) { r->clear_communicator(); }, "name"},
      {[](v1::JoinRequest* r) { r->set_size(0); }, "size"},
      {[](v1::JoinRequest* r) { r->set_rank(3); }, "rank: 3 is not below the size 3"},
      {[](v1::JoinRequest* r) { r->set_chunk_log2(13); }, "chunk_log2"},
      {[](v1::JoinRequest* r) { r->set_lanes(17); }, "lanes"},
      {[](v1::JoinRequest* r) { r->set_ranks_per_node(65); }, "ranks_per_node: 65"},
      {[](v1::JoinRequest* r) { r->set_suite("DES"); }, "suite"},
      {[](v1::JoinRequest* r) { r->set_contribution("x"); }, "contribution"},
      {[](v1::JoinRequest* r) { r->clear_suites(); }, "suites"},
      {[](v1::JoinRequest* r) { r->set_policy_digest("x"); }, "policy_digest"},
      {[](v1::JoinRequest* r) { r->set_node("a b\n"); }, "node"},
  };
  Rendezvous rendezvous(8, Choose);
  std::future<Result> root = Start(rendezvous, MakeJoiner(0, 3));
  for (const auto& test : cases) {
    Joiner joiner = MakeJoiner(1, 3);
    test.change(&joiner.request);
    Result result = Start(rendezvous, joiner).get();
    EXPECT_THAT(std::string(result.status().message()), HasSubstr(test.field));
  }
  std::future<Result> one = Start(rendezvous, MakeJoiner(1, 3));
  std::future<Result> two = Start(rendezvous, MakeJoiner(2, 3));
  EXPECT_TRUE(root.get().ok() && one.get().ok() && two.get().ok());
}

TEST(Rendezvous, ChoosesWhatAllOffer) {
  Rendezvous rendezvous(8, Choose);
  Joiner root = MakeJoiner(0, 2);
  Joiner other = MakeJoiner(1, 2);
  other.request.clear_suites();
  other.request.add_suites(2);
  std::future<Result> a = Start(rendezvous, root);
  std::future<Result> b = Start(rendezvous, other);
  Result result = a.get();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result)->roster.suite(), 2u);
  EXPECT_TRUE(b.get().ok());

  root.request.set_suite("AES_256_GCM");
  other.request.set_suite("AES_256_GCM");
  a = Start(rendezvous, root);
  b = Start(rendezvous, other);
  absl::Status refused = a.get().status();
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("rank 1 (node-b) does not offer AES_256_GCM, rank 0 (node-a) asked for"));
  EXPECT_EQ(b.get().status(), refused);
}

TEST(Rendezvous, NamesWhoIsMissingAtTheFirstDeadline) {
  Rendezvous rendezvous(8, Choose);
  std::future<Result> patient = Start(rendezvous, MakeJoiner(0, 4));
  std::future<Result> hasty = Start(rendezvous, MakeJoiner(1, 4), absl::Milliseconds(150));
  absl::Status status = hasty.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ranks 2, 3 have not joined"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 (node-b) waited"));
  EXPECT_EQ(patient.get().status(), status);
}

TEST(Rendezvous, EndsForAllWhenARankLeaves) {
  Rendezvous rendezvous(8, Choose);
  std::atomic<bool> gone{false};
  std::future<Result> root = Start(rendezvous, MakeJoiner(0, 3));
  std::future<Result> leaver =
      Start(rendezvous, MakeJoiner(1, 3), absl::Seconds(20), [&] { return gone.load(); });
  // Both have joined by then: who leaves before the root comes leaves an earlier gathering.
  absl::SleepFor(absl::Milliseconds(100));
  gone = true;
  absl::Status status = root.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 (node-b) left"));
  EXPECT_EQ(leaver.get().status(), status);
}

TEST(Rendezvous, LetsARankTakeItsOwnPlaceAgain) {
  Rendezvous rendezvous(8, Choose);
  std::future<Result> old = Start(rendezvous, MakeJoiner(1, 2));
  absl::SleepFor(absl::Milliseconds(50));
  std::future<Result> again = Start(rendezvous, MakeJoiner(1, 2));
  EXPECT_EQ(old.get().status().code(), absl::StatusCode::kAborted);
  std::future<Result> root = Start(rendezvous, MakeJoiner(0, 2));
  EXPECT_TRUE(again.get().ok());
  EXPECT_TRUE(root.get().ok());
}

TEST(Rendezvous, IsBounded) {
  Rendezvous rendezvous(2, Choose);
  std::vector<std::future<Result>> waiting;
  for (int i = 0; i < 2; ++i) {
    Joiner joiner = MakeJoiner(0, 2);
    joiner.request.set_communicator(absl::StrCat("c", i));
    waiting.push_back(Start(rendezvous, joiner));
  }
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_EQ(Start(rendezvous, MakeJoiner(0, 2)).get().status().code(),
            absl::StatusCode::kResourceExhausted);
  rendezvous.Stop(absl::UnavailableError("stopping"));
  for (std::future<Result>& join : waiting) {
    EXPECT_EQ(join.get().status(), absl::UnavailableError("stopping"));
  }
  EXPECT_EQ(Start(rendezvous, MakeJoiner(0, 1)).get().status(), absl::UnavailableError("stopping"));
}

}  // namespace
}  // namespace caravan::membership
