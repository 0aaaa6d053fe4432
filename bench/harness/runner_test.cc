// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/runner.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>

namespace caravan::bench {
namespace {

enum class Fault { kNone, kError, kDeath, kWrongResult };

// Does nothing, quickly, or fails the way it is told to, in rank 1.
class FakeRank : public Rank {
 public:
  FakeRank(int rank, Fault fault) : fault_(rank == 1 ? fault : Fault::kNone) {}
  uint64_t Count(uint64_t bytes) const override { return bytes / 4; }
  uint64_t Bytes(uint64_t count) const override { return count * 4; }
  double BusFactor() const override { return 1; }
  std::string Suite(int variant) const override { return variant == 0 ? "slow" : "quick"; }
  void Fill(int, uint64_t) override {}
  absl::Status Run(int variant, uint64_t) override {
    if (fault_ == Fault::kError) return absl::DataLossError("planted");
    if (fault_ == Fault::kDeath) raise(SIGKILL);
    usleep(variant == 0 ? 3000 : 100);
    return absl::OkStatus();
  }
  uint64_t CountWrong(int, uint64_t) override { return fault_ == Fault::kWrongResult ? 5 : 0; }

 private:
  const Fault fault_;
};

class Runner : public testing::Test {
 protected:
  Runner() {
    settings_.min_bytes = settings_.max_bytes = 64;
    settings_.iterations = 4;
    settings_.warmup = 1;
    settings_.rounds = 2;
    settings_.json = std::string(testing::TempDir()) + "/rows.json";
    benchmark_.variants = 2;
  }
  absl::Status Run(Fault fault) {
    benchmark_.make_rank = [fault](int rank) { return std::make_unique<FakeRank>(rank, fault); };
    return RunBenchmark(settings_, benchmark_);
  }
  std::string Json() const {
    std::ifstream in(settings_.json);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  Settings settings_;
  Benchmark benchmark_;
};

TEST_F(Runner, ReportsEveryVariant) {
  ASSERT_TRUE(Run(Fault::kNone).ok());
  EXPECT_NE(Json().find("\"suite\": \"slow\""), std::string::npos);
  EXPECT_NE(Json().find("\"suite\": \"quick\""), std::string::npos);
  EXPECT_NE(Json().find("\"samples\": 8"), std::string::npos);
}

TEST_F(Runner, ReportsOnlyTheFastestWhereAsked) {
  benchmark_.fastest_only = true;
  ASSERT_TRUE(Run(Fault::kNone).ok());
  EXPECT_EQ(Json().find("\"suite\": \"slow\""), std::string::npos);
  EXPECT_NE(Json().find("\"suite\": \"quick\""), std::string::npos);
}

// Rank 0 is done at once, rank 1 takes a while: how many operations is rank 0 ahead?
class UnevenRank : public FakeRank {
 public:
  UnevenRank(int rank, std::atomic<int>* done)
      : FakeRank(rank, Fault::kNone), rank_(rank), done_(done) {}
  absl::Status Run(int, uint64_t) override {
    if (rank_ == 1) usleep(2000);
    const int ahead = done_[rank_].fetch_add(1) - done_[1].load();
    if (rank_ == 0 && ahead > done_[2].load()) done_[2].store(ahead);
    return absl::OkStatus();
  }

 private:
  const int rank_;
  std::atomic<int>* const done_;  // by rank, then rank 0's largest lead
};

TEST_F(Runner, LetsRanksEnterTogetherWhereAsked) {
  settings_.check = false;
  settings_.iterations = 20;
  for (const bool together : {false, true}) {
    void* shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    auto* done = static_cast<std::atomic<int>*>(shared);
    benchmark_.together = together;
    benchmark_.make_rank = [done](int rank) { return std::make_unique<UnevenRank>(rank, done); };
    ASSERT_TRUE(RunBenchmark(settings_, benchmark_).ok());
    if (together) {
      EXPECT_LE(done[2].load(), 1);
    } else {
      EXPECT_GT(done[2].load(), 1);
    }
    munmap(shared, 4096);
  }
}

TEST_F(Runner, CountsWrongElementsOfEveryRank) {
  ASSERT_TRUE(Run(Fault::kWrongResult).ok());
  EXPECT_NE(Json().find("\"wrong\": 5"), std::string::npos);
}

TEST_F(Runner, NamesTheRankThatFailed) {
  const absl::Status status = Run(Fault::kError);
  EXPECT_NE(status.message().find("rank 1"), std::string::npos) << status;
  EXPECT_NE(status.message().find("planted"), std::string::npos) << status;
}

TEST_F(Runner, EndsWhenARankDies) {
  const absl::Status status = Run(Fault::kDeath);
  EXPECT_NE(status.message().find("rank 1"), std::string::npos) << status;
}

}  // namespace
}  // namespace caravan::bench
