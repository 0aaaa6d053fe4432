// SPDX-License-Identifier: Apache-2.0
//
// Everything at once: communicators that come, work, fail and go on the same engines, while others
// ask what the engines do. Meant for ThreadSanitizer; elsewhere it finds hangs.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "collective/simulate/shapes_for_test.h"
#include "daemon/engine/operations_testing.h"

namespace caravan::engine {
namespace {

constexpr int kRanks = 3;
constexpr int kApplications = 3;
constexpr int kLives = 12;  // of communicators, for each application
constexpr int kOperations = 24;

// What happens to a communicator with its operations under way.
enum class End { kDone, kFailed, kRemoved };

collective::OperationSpec RandomSpec(std::mt19937& random) {
  static const auto& shapes = *new std::vector(collective::AllShapesForTest());
  const collective::ShapeForTest& shape = shapes[random() % shapes.size()];
  collective::OperationSpec spec;
  spec.op = shape.op;
  spec.algorithm = shape.algorithm;
  spec.root = static_cast<uint16_t>(random() % kRanks);
  spec.count = collective::CountForTest(shape.op, spec.dtype, kRanks, random() % 40'000);
  return spec;
}

void LiveOnce(const std::vector<std::unique_ptr<Engine>>& engines, uint8_t epoch, End end) {
  std::mt19937 random(epoch);
  CommunicatorOptionsForTest options;
  options.epoch = epoch;
  options.lanes = 1 + epoch % 2;
  CommunicatorForTest comm(PointersForTest(engines), options);
  std::vector<OperationForTest> runs;
  for (int i = 0; i < kOperations; ++i) {
    runs.push_back(SubmitForTest(comm, RandomSpec(random), static_cast<uint64_t>(i) + 1));
  }
  if (end == End::kRemoved) return;
  if (end == End::kFailed) {
    const absl::Status reason = absl::AbortedError("ended on purpose");
    comm.FailAll(reason);
    for (const OperationForTest& run : runs) {
      for (int rank = 0; rank < kRanks; ++rank) {
        const absl::Status status = comm.ring(rank).Wait(run.ids[rank]);
        EXPECT_TRUE(status.ok() || status == reason) << status;
      }
    }
    return;
  }
  for (const OperationForTest& run : runs) CheckForTest(comm, run);
  CheckCountersForTest(comm);
}

TEST(EngineStress, CommunicatorsComeAndGoBesideEachOther) {
  const auto engines = StartEnginesForTest(kRanks);
  std::atomic<bool> stop{false};
  std::thread observer([&] {
    for (uint64_t i = 0; !stop; ++i) {
      for (const auto& engine : engines) {
        for (const GroupStatus& status : engine->List()) {
          EXPECT_LE(status.operations, uint64_t{kOperations});
          engine->DescribeOperation(status.epoch, i % kOperations).IgnoreError();
        }
      }
      absl::SleepFor(absl::Microseconds(200));
    }
  });
  std::vector<std::thread> applications;
  for (int a = 0; a < kApplications; ++a) {
    applications.emplace_back([&, a] {
      for (int life = 0; life < kLives; ++life) {
        LiveOnce(engines, static_cast<uint8_t>(1 + a * kLives + life),
                 static_cast<End>((a + life) % 3));
      }
    });
  }
  for (std::thread& application : applications) application.join();
  stop = true;
  observer.join();
  for (const auto& engine : engines) EXPECT_TRUE(engine->List().empty());
}

}  // namespace
}  // namespace caravan::engine
