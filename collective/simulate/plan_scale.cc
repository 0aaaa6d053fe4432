// SPDX-License-Identifier: Apache-2.0
//
// Prints what plans of many ranks cost to build: of a few ranks the one with the longest plan, its
// steps and its build time, the best of several. With --check it builds every rank's plan, one at a
// time, and verifies that they fit together.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "collective/algorithms/build_plan.h"
#include "collective/cost/selector.h"
#include "collective/plan/plan.h"
#include "collective/simulate/scale_check.h"

namespace caravan::collective {
namespace {

using Clock = std::chrono::steady_clock;

struct Case {
  Operation op;
  Algorithm algorithm;
  uint64_t count;  // as NCCL counts it, of f32
};

// 64 MiB where a rank has a whole vector, 64 KiB blocks where it has one a rank.
constexpr uint64_t kWhole = uint64_t{64} << 18;
constexpr uint64_t kBlock = uint64_t{64} << 8;

constexpr int kAttempts = 5;

constexpr Case kCases[] = {
    {Operation::kAllReduce, Algorithm::kDirect, kWhole},
    {Operation::kAllReduce, Algorithm::kRingForward, kWhole},
    {Operation::kAllGather, Algorithm::kDirect, kBlock},
    {Operation::kAllGather, Algorithm::kRingForward, kBlock},
    {Operation::kAllGather, Algorithm::kDoublingForward, kBlock},
    {Operation::kReduceScatter, Algorithm::kRing, kBlock},
    {Operation::kBroadcast, Algorithm::kBinomialForward, kWhole},
    {Operation::kBroadcast, Algorithm::kChainForward, kWhole},
    {Operation::kReduce, Algorithm::kRing, kWhole},
    {Operation::kGather, Algorithm::kDirect, kBlock},
    {Operation::kScatter, Algorithm::kDirect, kBlock},
    {Operation::kAllToAll, Algorithm::kDirect, kBlock},
    {Operation::kAllToAll, Algorithm::kBruckForward, 256},
};

int Report(bool check) {
  std::printf("| operation | algorithm | ranks | steps | build, ms | µs a step | rounds |%s\n",
              check ? " all plans, s |" : "");
  std::printf("|---|---|---|---|---|---|---|%s\n", check ? "---|" : "");
  for (const Case& c : kCases) {
    for (const int size : {64, 512, 4096}) {
      OperationSpec spec;
      spec.op = c.op;
      spec.algorithm = c.algorithm;
      spec.count = c.count;
      double best = 0;
      uint64_t steps = 0;
      uint32_t rounds = 0;
      for (const int rank : {0, 1, size / 2, size - 1}) {
        for (int attempt = 0; attempt < kAttempts; ++attempt) {
          const Clock::time_point start = Clock::now();
          const auto plan = BuildPlan(spec, rank, size);
          const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
          if (!plan.ok()) {
            std::fprintf(stderr, "%s\n", plan.status().ToString().c_str());
            return 1;
          }
          const bool longer = (*plan)->steps.size() > steps;
          if (!longer && ((*plan)->steps.size() < steps || ms >= best)) continue;
          best = ms;
          steps = (*plan)->steps.size();
          rounds = (*plan)->rounds;
        }
      }
      std::printf("| %s | %s | %d | %llu | %.2f | %.3f | %u |", Name(spec.op).data(),
                  Name(spec.algorithm).data(), size, static_cast<unsigned long long>(steps), best,
                  1000 * best / static_cast<double>(steps), rounds);
      if (check) {
        const Clock::time_point start = Clock::now();
        ScaleCheck all;
        for (int rank = 0; rank < size; ++rank) all.Add(**BuildPlan(spec, rank, size));
        if (!all.Verify().ok()) {
          std::fprintf(stderr, "%s\n", all.Verify().ToString().c_str());
          return 1;
        }
        std::printf(" %.1f |", std::chrono::duration<double>(Clock::now() - start).count());
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace caravan::collective

int main(int argc, char** argv) {
  const bool check = argc == 2 && std::strcmp(argv[1], "--check") == 0;
  if (argc > 1 && !check) {
    std::fprintf(stderr, "usage: plan_scale [--check]\n");
    return 2;
  }
  return caravan::collective::Report(check);
}
