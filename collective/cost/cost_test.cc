// SPDX-License-Identifier: Apache-2.0
#include "collective/cost/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "collective/algorithms/build_plan.h"
#include "collective/cost/crossover.h"
#include "collective/cost/selector.h"
#include "collective/plan/plan.h"
#include "collective/plan/plan_effort.h"
#include "collective/simulate/shapes_for_test.h"

namespace caravan::collective {
namespace {

using testing::HasSubstr;

constexpr int kSizes[] = {2, 3, 4, 5, 7, 8, 12, 16, 17};

double Time(Operation op, Algorithm algorithm, uint64_t bytes, int size,
            const Rates& rates = Rates{}) {
  return PriceOf(op, algorithm, bytes, size, rates).total_ns;
}

// Even where the operation has counts: the closed form is of blocks of one size.
OperationSpec EvenSpec(Operation op, int size, uint64_t block_bytes, int rank) {
  OperationSpec spec;
  spec.op = op;
  spec.chunk_log2 = 14;
  spec.count = CountForTest(op, spec.dtype, size, block_bytes);
  if (HasCounts(op)) {
    spec.counts.assign(size, block_bytes / SizeOf(spec.dtype));
    spec.count = std::accumulate(spec.counts.begin(), spec.counts.end(), uint64_t{0});
    if (op == Operation::kAllToAllV) spec.receive_counts = spec.counts;
  }
  (void)rank;
  return spec;
}

class ClosedForm : public ::testing::TestWithParam<ShapeForTest> {};

TEST_P(ClosedForm, EqualsThePlansOfAllRanks) {
  const auto [op, algorithm] = GetParam();
  for (const int size : kSizes) {
    for (const uint64_t block : {64u, 16384u, 40000u}) {
      Effort planned;
      double most_sent = 0;
      double most_sealed = 0;
      OperationSpec spec;
      for (int rank = 0; rank < size; ++rank) {
        spec = EvenSpec(op, size, block, rank);
        spec.algorithm = algorithm;
        const auto plan = BuildPlan(spec, rank, size);
        ASSERT_TRUE(plan.ok()) << plan.status();
        const Effort effort = EffortOf(**plan);
        planned += effort;
        most_sent = std::max(most_sent, effort.sent);
        most_sealed = std::max(most_sealed, effort.sealed);
      }
      const Load load = LoadOf(op, algorithm, spec.WholeBytes(size), size, spec.chunk_log2);
      Effort told;
      double ranks = 0;
      double told_sent = 0;
      double told_sealed = 0;
      for (const Role& role : load.roles) {
        told += role.effort * role.ranks;
        ranks += role.ranks;
        if (role.ranks == 0) continue;
        told_sent = std::max(told_sent, role.effort.sent);
        told_sealed = std::max(told_sealed, role.effort.sealed);
      }
      EXPECT_EQ(ranks, size);
      const std::string what = NameForTest(GetParam()) + " among " + std::to_string(size) +
                               ", blocks of " + std::to_string(block);
      EXPECT_NEAR(told.sealed, planned.sealed, 1e-6 * planned.sealed) << what;
      EXPECT_NEAR(told.opened, planned.opened, 1e-6 * planned.opened) << what;
      EXPECT_NEAR(told.sent, planned.sent, 1e-6 * planned.sent) << what;
      EXPECT_NEAR(told.received, planned.received, 1e-6 * planned.received) << what;
      EXPECT_NEAR(told.reduced, planned.reduced, 1e-6 * planned.reduced) << what;
      EXPECT_NEAR(told.copied, planned.copied, 1e-6 * planned.copied) << what;
      EXPECT_NEAR(told.records_sealed, planned.records_sealed, 1e-6) << what;
      EXPECT_NEAR(told.records_opened, planned.records_opened, 1e-6) << what;
      EXPECT_NEAR(told.records_sent, planned.records_sent, 1e-6) << what;
      EXPECT_NEAR(told.records_forwarded, planned.records_forwarded, 1e-6) << what;
      EXPECT_NEAR(told.keys, planned.keys, 1e-6) << what;
      // Everything that is sent is sent in some message, and each message is got by somebody.
      EXPECT_GE(told.messages, 2 * (size - 1)) << what;
      EXPECT_LE(told.messages, 2 * told.records_sent + 1e-6) << what;
      EXPECT_NEAR(told_sent, most_sent, 1e-6 * most_sent) << what;
      EXPECT_NEAR(told_sealed, most_sealed, 1e-6 * most_sealed) << what;
    }
  }
}

TEST_P(ClosedForm, NeverGetsCheaperWithMoreBytes) {
  const auto [op, algorithm] = GetParam();
  for (const int size : kSizes) {
    double before = 0;
    for (uint64_t bytes = 0; bytes < uint64_t{1} << 36; bytes += bytes / 3 + 1) {
      const double time = Time(op, algorithm, bytes, size);
      ASSERT_GE(time, before) << bytes << " bytes among " << size;
      before = time;
    }
  }
}

TEST_P(ClosedForm, NeverGetsCheaperWithASlowerRate) {
  const auto [op, algorithm] = GetParam();
  for (const NamedRate& named : NamedRates()) {
    Rates slower;
    const bool higher_is_faster =
        named.rate == &Rates::link_bytes_per_second || named.rate == &Rates::cores;
    slower.*named.rate *= higher_is_faster ? 0.25 : 4;
    // Ranks of one node spare the link.
    slower.link_bytes_per_second =
        named.rate == &Rates::ranks_per_node ? 1e15 : slower.link_bytes_per_second;
    Rates rates;
    if (named.rate == &Rates::ranks_per_node) rates.link_bytes_per_second = 1e15;
    for (const int size : {2, 4, 16}) {
      for (const uint64_t bytes : {0u, 4096u, 16u << 20}) {
        EXPECT_GE(Time(op, algorithm, bytes, size, slower), Time(op, algorithm, bytes, size, rates))
            << named.name << ", " << bytes << " bytes among " << size;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ClosedForm, ::testing::ValuesIn(AllShapesForTest()),
                         [](const auto& info) { return NameForTest(info.param); });

TEST(PriceOf, IsNothingForOneRank) {
  EXPECT_EQ(Time(Operation::kAllReduce, Algorithm::kDirect, 1 << 20, 1), 0);
}

TEST(PriceOf, PrefersFewRoundsForSmallVectorsAndFewBytesForLargeOnes) {
  constexpr uint64_t kSmall = 256;
  constexpr uint64_t kLarge = 64 << 20;
  const auto one_shot = [](uint64_t bytes, int size) {
    return Time(Operation::kAllReduce, Algorithm::kOneShot, bytes, size);
  };
  const auto direct = [](uint64_t bytes, int size) {
    return Time(Operation::kAllReduce, Algorithm::kDirect, bytes, size);
  };
  EXPECT_LT(one_shot(kSmall, 2), direct(kSmall, 2));
  EXPECT_LT(one_shot(kSmall, 8), direct(kSmall, 8));
  EXPECT_GT(one_shot(kLarge, 8), 2 * direct(kLarge, 8));
  EXPECT_LT(Time(Operation::kAllReduce, Algorithm::kRingForward, kLarge, 8),
            Time(Operation::kAllReduce, Algorithm::kRing, kLarge, 8));
  EXPECT_LT(Time(Operation::kBroadcast, Algorithm::kBinomialForward, kSmall, 16),
            Time(Operation::kBroadcast, Algorithm::kChainForward, kSmall, 16));
  EXPECT_LT(Time(Operation::kBroadcast, Algorithm::kChainForward, kLarge, 16),
            Time(Operation::kBroadcast, Algorithm::kDirect, kLarge, 16));
  EXPECT_LT(Time(Operation::kReduce, Algorithm::kRing, kLarge, 8),
            Time(Operation::kReduce, Algorithm::kDirect, kLarge, 8));
  EXPECT_LT(Time(Operation::kAllToAll, Algorithm::kBruckForward, 64 * 64, 64),
            Time(Operation::kAllToAll, Algorithm::kDirect, 64 * 64, 64));
  EXPECT_GT(Time(Operation::kAllToAll, Algorithm::kBruckForward, kLarge, 64),
            Time(Operation::kAllToAll, Algorithm::kDirect, kLarge, 64));
}

TEST(PriceOf, CountsTheLinkOnlyBetweenNodes) {
  Rates rates;
  rates.link_bytes_per_second = 1e6;
  const Price apart = PriceOf(Operation::kAllReduce, Algorithm::kDirect, 1 << 20, 4, rates);
  EXPECT_NEAR(apart.link_ns, 1.5 * (1 << 20) / 1e6 * 1e9, 1);
  EXPECT_GT(apart.total_ns, apart.link_ns);
  rates.ranks_per_node = 4;
  EXPECT_EQ(PriceOf(Operation::kAllReduce, Algorithm::kDirect, 1 << 20, 4, rates).link_ns, 0);
}

TEST(PriceOf, SharesTheCoresOfANode) {
  Rates rates;
  rates.cores = 2;
  const Price alone = PriceOf(Operation::kAllReduce, Algorithm::kDirect, 1 << 20, 8, rates);
  EXPECT_EQ(alone.total_ns, alone.rounds_ns + alone.processor_ns);
  rates.ranks_per_node = 8;
  const Price together = PriceOf(Operation::kAllReduce, Algorithm::kDirect, 1 << 20, 8, rates);
  EXPECT_NEAR(together.shared_ns, 4 * alone.processor_ns, 1);
  EXPECT_EQ(together.total_ns, together.shared_ns);
}

TEST(PriceOf, AddsNoLatencyToSharedCoresThatAreBusyAllTheTime) {
  Rates rates;
  rates.cores = 2;
  rates.ranks_per_node = 8;
  const auto time = [&](Algorithm algorithm) {
    return Time(Operation::kReduceScatter, algorithm, 65536, 8, rates);
  };
  const double before = time(Algorithm::kRing);
  rates.latency_ns += 1000;
  EXPECT_EQ(time(Algorithm::kRing), before);
  EXPECT_LT(time(Algorithm::kRing), time(Algorithm::kDirect));
  rates.ranks_per_node = 1;
  EXPECT_GT(time(Algorithm::kRing), time(Algorithm::kDirect));
}

TEST(LoadOf, CountsAMessageForEachRoundThatARankPassesOn) {
  const auto messages = [](Operation op, Algorithm algorithm, int size) {
    return LoadOf(op, algorithm, 1024, size).roles.front().effort.messages / 2;
  };
  const auto gather = [&](int size) {
    return messages(Operation::kAllGather, Algorithm::kDoublingForward, size);
  };
  const auto exchange = [&](int size) {
    return messages(Operation::kAllToAll, Algorithm::kBruckForward, size);
  };
  EXPECT_EQ(gather(2), 1);
  EXPECT_EQ(gather(3), 2);  // as many as records
  EXPECT_EQ(gather(4), 3);  // the own one twice, the first round's once
  EXPECT_EQ(gather(8), 6);
  EXPECT_EQ(gather(64), 21);
  EXPECT_EQ(exchange(5), 5);
  EXPECT_EQ(exchange(8), 6);
  EXPECT_EQ(messages(Operation::kAllGather, Algorithm::kDirect, 8), 7);
}

// Ranks of one host of two cores, at rates of such a machine.
Rates OneHost() {
  return {.seal_ns_per_byte = 0.05,
          .open_ns_per_byte = 0.05,
          .record_ns = 360,
          .key_ns = 950,
          .reduce_ns_per_byte = 0.01,
          .copy_ns_per_byte = 0.01,
          .wire_ns_per_byte = 0.15,
          .message_ns = 6500,
          .latency_ns = 500,
          .cores = 2,
          .ranks_per_node = 64};
}

TEST(PriceOf, AddsNoWaitsForCoresThatOtherRanksUseMeanwhile) {
  const Rates rates = OneHost();
  const auto time = [&](Operation op, Algorithm algorithm, uint64_t bytes) {
    return Time(op, algorithm, bytes, 8, rates);
  };
  // As many records in seven rounds as in one, with 2 keys and with 14.
  EXPECT_LT(time(Operation::kReduceScatter, Algorithm::kRing, 1024),
            time(Operation::kReduceScatter, Algorithm::kDirect, 1024));
  EXPECT_LT(time(Operation::kAllReduce, Algorithm::kRing, 65536),
            time(Operation::kAllReduce, Algorithm::kDirect, 65536));
  EXPECT_LT(time(Operation::kAllReduce, Algorithm::kOneShot, 1024),
            time(Operation::kAllReduce, Algorithm::kRing, 1024));
  // The first record's way down a chain is one rank's after another, on one core.
  EXPECT_LT(time(Operation::kBroadcast, Algorithm::kDirect, 1 << 20),
            time(Operation::kBroadcast, Algorithm::kBinomialForward, 1 << 20));
  EXPECT_LT(time(Operation::kBroadcast, Algorithm::kBinomialForward, 1 << 20),
            time(Operation::kBroadcast, Algorithm::kChainForward, 1 << 20));
}

TEST(CheckRates, NamesTheRateThatIsNone) {
  EXPECT_TRUE(CheckRates(Rates{}).ok());
  for (const NamedRate& named : NamedRates()) {
    for (const double value : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
      Rates rates;
      rates.*named.rate = value;
      EXPECT_THAT(std::string(CheckRates(rates).message()), HasSubstr(named.name)) << value;
    }
  }
  Rates rates;
  rates.ranks_per_node = 0.5;
  EXPECT_FALSE(CheckRates(rates).ok());
}

std::vector<Rates> Machines() {
  std::vector<Rates> machines = {Rates{}};
  Rates loopback;
  loopback.ranks_per_node = 65534;
  loopback.cores = 2;
  machines.push_back(loopback);
  Rates far_away;
  far_away.latency_ns = 2e6;
  far_away.link_bytes_per_second = 1.25e8;
  machines.push_back(far_away);
  Rates no_aes;
  no_aes.seal_ns_per_byte = no_aes.open_ns_per_byte = 2;
  machines.push_back(no_aes);
  Rates fast;
  fast.latency_ns = 2000;
  fast.message_ns = 500;
  fast.link_bytes_per_second = 5e10;
  machines.push_back(fast);
  machines.push_back(OneHost());
  return machines;
}

TEST(DeriveTable, TakesAnAlgorithmThatIsWithinAFewPerCentOfTheCheapest) {
  for (const Rates& rates : Machines()) {
    for (const int size : kSizes) {
      const SelectorTable table = DeriveTable(rates, size);
      for (const ShapeForTest& shape : AllShapesForTest()) {
        for (uint64_t bytes = 64; bytes <= uint64_t{1} << 36; bytes = bytes * 5 / 4) {
          OperationSpec spec;
          spec.op = shape.op;
          spec.dtype = DataType::kUint8;
          spec.count = CountsBlocks(spec.op) ? bytes / size : bytes;
          if (spec.count == 0) continue;
          const auto chosen = Resolve(spec, size, table);
          ASSERT_TRUE(chosen.ok()) << chosen.status();
          const uint64_t whole = spec.WholeBytes(size);
          // Five per cent to change for, and limits rounded to a sixteenth of an octave.
          EXPECT_LE(Time(spec.op, *chosen, whole, size, rates),
                    1.10 * Time(shape.op, shape.algorithm, whole, size, rates))
              << NameForTest(shape) << " against " << Name(*chosen) << ", " << bytes
              << " bytes among " << size;
        }
      }
    }
  }
}

TEST(DeriveTable, IsShortAndForItsSizeAlone) {
  for (const Rates& rates : Machines()) {
    for (const int size : {2, 8, 64, 1024}) {
      const SelectorTable table = DeriveTable(rates, size);
      EXPECT_LE(table.size(), 40u);
      for (const SelectorRow& row : table) EXPECT_EQ(row.max_ranks, size);
    }
  }
}

TEST(DeriveTable, HasForEachOperationALastRowForAnySize) {
  const SelectorTable table = DeriveTable(Rates{}, 8);
  for (int op = 1; op <= 13; ++op) {
    const auto operation = static_cast<Operation>(op);
    uint64_t last = 0;
    for (const SelectorRow& row : table) {
      if (row.op != operation) continue;
      EXPECT_GT(row.max_bytes, last);
      last = row.max_bytes;
    }
    EXPECT_EQ(last, AlgorithmsFor(operation).size() > 1 ? UINT64_MAX : 0u) << Name(operation);
  }
}

// Where one-shot stops to be worth it, in bytes.
uint64_t OneShotLimit(const Rates& rates, int size) {
  uint64_t limit = 0;
  for (const SelectorRow& row : DeriveTable(rates, size)) {
    if (row.op != Operation::kAllReduce || row.algorithm != Algorithm::kOneShot) continue;
    limit = std::max(limit, row.max_bytes);
  }
  return limit;
}

TEST(DeriveTable, MovesWithTheRates) {
  Rates far_away;
  far_away.latency_ns = 1e6;
  EXPECT_GT(OneShotLimit(far_away, 4), OneShotLimit(Rates{}, 4));
  Rates slow_aes;
  slow_aes.seal_ns_per_byte = slow_aes.open_ns_per_byte = 2;
  EXPECT_LT(OneShotLimit(slow_aes, 4), OneShotLimit(Rates{}, 4));
  EXPECT_GT(OneShotLimit(Rates{}, 2), OneShotLimit(Rates{}, 8));
}

TEST(DeriveTable, ForOneHostOfTwoCores) {
  const auto chosen = [](Operation op, uint64_t bytes, int size) {
    OperationSpec spec;
    spec.op = op;
    spec.dtype = DataType::kUint8;
    spec.count = CountsBlocks(op) ? bytes / size : bytes;
    return *Resolve(spec, size, DeriveTable(OneHost(), size));
  };
  EXPECT_EQ(chosen(Operation::kReduceScatter, 4096, 8), Algorithm::kRing);
  EXPECT_EQ(chosen(Operation::kReduceScatter, 16 << 20, 8), Algorithm::kDirect);
  EXPECT_EQ(chosen(Operation::kAllReduce, 4096, 8), Algorithm::kOneShot);
  EXPECT_EQ(chosen(Operation::kAllReduce, 16 << 20, 8), Algorithm::kDirect);
  EXPECT_EQ(chosen(Operation::kBroadcast, 4096, 8), Algorithm::kDirect);
  EXPECT_EQ(chosen(Operation::kBroadcast, 1 << 20, 4), Algorithm::kDirect);
  EXPECT_EQ(chosen(Operation::kAllGather, 65536, 4), Algorithm::kDirect);
}

TEST(DeriveTable, DoesNotMoveWithNoise) {
  Rates noisy;
  noisy.record_ns *= 1.001;
  EXPECT_EQ(DeriveTable(noisy, 2).size(), DeriveTable(Rates{}, 2).size());
}

}  // namespace
}  // namespace caravan::collective
