// SPDX-License-Identifier: Apache-2.0
//
// How many small operations a second: allreduces over real daemons, a thread a rank, several in
// flight at a time. The result is checked.
//
//   rate_perf [-r RANKS] [-b BYTES] [-n OPERATIONS] [--outstanding K] [--algorithm NUMBER]
#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/cluster/cluster.h"
#include "bench/harness/runner.h"
#include "caravan/caravan.h"

namespace caravan::bench {
namespace {

struct Load {
  uint64_t count = 0;  // elements of an operation
  uint64_t operations = 0;
  uint64_t outstanding = 1;
  Algorithm algorithm = Algorithm::kAuto;
};

// Each operation in flight has a place of its own, so none waits for another's result.
absl::Status Work(const Cluster& cluster, int rank, int ranks, const Load& load,
                  absl::Duration* took) {
  NodeOptions options;
  options.runtime_dir = cluster.runtime_dir(rank);
  auto node = Node::Connect(options);
  if (!node.ok()) return node.status();
  const uint64_t stride = (load.count * sizeof(float) + 63) / 64 * 64;
  auto buffer = (*node)->Allocate(stride * load.outstanding);
  if (!buffer.ok()) return buffer.status();
  auto communicator =
      Communicator::Create(**node, {"rate", cluster.control_address(0)}, rank, ranks);
  if (!communicator.ok()) return communicator.status();
  std::fill_n((*buffer)->As<float>(), stride * load.outstanding / sizeof(float),
              static_cast<float>(rank));
  std::deque<caravan::Work> flying;
  const absl::Time begun = absl::Now();
  for (uint64_t i = 0; i < load.operations; ++i) {
    if (flying.size() == load.outstanding) {
      if (absl::Status status = flying.front().Wait(); !status.ok()) return status;
      flying.pop_front();
    }
    auto work = (*communicator)
                    ->AllReduce({.input = {**buffer, i % load.outstanding * stride},
                                 .count = load.count,
                                 .op = ReduceOp::kMax,
                                 .algorithm = load.algorithm});
    if (!work.ok()) return work.status();
    flying.push_back(*work);
  }
  for (const caravan::Work& work : flying) {
    if (absl::Status status = work.Wait(); !status.ok()) return status;
  }
  *took = absl::Now() - begun;
  const float* values = (*buffer)->As<float>();
  for (uint64_t i = 0; i < load.outstanding; ++i) {
    if (i < load.operations &&
        values[i * stride / sizeof(float)] != static_cast<float>(ranks - 1)) {
      return absl::DataLossError("a wrong result");
    }
  }
  // Nobody leaves while another waits.
  auto barrier = (*communicator)->Barrier();
  return barrier.ok() ? barrier->Wait() : barrier.status();
}

absl::Status Main(int argc, char** argv) {
  absl::StatusOr<Settings> settings =
      ParseSettings(argc, argv, {{"--outstanding", "64"}, {"--algorithm", "0"}});
  if (!settings.ok()) return settings.status();
  Load load;
  int algorithm = 0;
  load.count = std::max<uint64_t>(settings->min_bytes / sizeof(float), 1);
  load.operations = static_cast<uint64_t>(settings->iterations);
  if (!absl::SimpleAtoi(settings->extra.at("--outstanding"), &load.outstanding) ||
      load.outstanding < 1 || load.outstanding > 256) {
    return absl::InvalidArgumentError("flag --outstanding: must be a number from 1 to 256");
  }
  if (!absl::SimpleAtoi(settings->extra.at("--algorithm"), &algorithm) || algorithm < 0 ||
      algorithm > static_cast<int>(Algorithm::kBruckForward)) {
    return absl::InvalidArgumentError("flag --algorithm: must be a number from 0 to 8");
  }
  load.algorithm = static_cast<Algorithm>(algorithm);
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  absl::StatusOr<std::unique_ptr<Cluster>> cluster =
      Cluster::Start((self.parent_path() / "../daemon/caravand").string(), settings->ranks);
  if (!cluster.ok()) return cluster.status();

  std::vector<absl::Status> ends(static_cast<size_t>(settings->ranks));
  std::vector<absl::Duration> took(ends.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < settings->ranks; ++rank) {
    threads.emplace_back(
        [&, rank] { ends[rank] = Work(**cluster, rank, settings->ranks, load, &took[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& end : ends) {
    if (!end.ok()) return end;
  }
  const double seconds = absl::ToDoubleSeconds(*std::max_element(took.begin(), took.end()));
  std::printf("%d ranks, %llu bytes, %llu outstanding: %llu operations in %.2f s, %.0f a second\n",
              settings->ranks, static_cast<unsigned long long>(load.count * sizeof(float)),
              static_cast<unsigned long long>(load.outstanding),
              static_cast<unsigned long long>(load.operations), seconds,
              static_cast<double>(load.operations) / seconds);
  return absl::OkStatus();
}

}  // namespace
}  // namespace caravan::bench

int main(int argc, char** argv) {
  return caravan::bench::ExitCode(caravan::bench::Main(argc, argv), argv[0]);
}
