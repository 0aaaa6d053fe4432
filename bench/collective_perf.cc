// SPDX-License-Identifier: Apache-2.0
//
// Collectives over real daemons: nccl-tests' flags and columns, and what sealing costs.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/algorithms.h"
#include "bench/cluster/cluster.h"
#include "bench/collective_rank.h"
#include "bench/harness/runner.h"

namespace caravan::bench {
namespace {

// Built next to this program.
constexpr char kSecureDaemon[] = "../daemon/caravand";
constexpr char kPlaintextDaemon[] = "plaintext/caravand_plaintext";

absl::StatusOr<std::string> BesideThisProgram(const std::string& relative) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = (self.parent_path() / relative).lexically_normal().string();
  if (error || access(path.c_str(), X_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", path, "; ./dev build //daemon:caravand ",
                     "//bench/plaintext:caravand_plaintext makes both daemons"));
  }
  return path;
}

std::string NameOf(Algorithm algorithm) {
  return std::string(collective::Name(collective::Algorithm(algorithm)));
}

void PrintChoice(const Settings& settings, const CollectiveOptions& options, Rank& rank,
                 uint64_t count, const std::vector<std::vector<double>>& times) {
  std::vector<std::string> names;
  for (const Algorithm algorithm : options.algorithms) names.push_back(NameOf(algorithm));
  absl::StatusOr<Choice> choice =
      JudgeChoice(names, times, settings.rounds, NameOf(ChosenBy(rank, count)));
  if (!choice.ok()) {
    std::printf("# %s\n", std::string(choice.status().message()).c_str());
    return;
  }
  choice->op = settings.extra.at("--op");
  choice->ranks = settings.ranks;
  choice->bytes = rank.Bytes(count);
  std::fputs(FormatChoice(*choice).c_str(), stdout);
  std::fflush(stdout);
}

absl::Status Main(int argc, char** argv) {
  absl::StatusOr<Settings> settings = ParseSettings(argc, argv,
                                                    {{"--engine", "secure"},
                                                     {"--op", "all_reduce"},
                                                     {"--algorithm", "auto"},
                                                     {"--suite", ""},
                                                     {"--chunk-log2", "17"},
                                                     {"--lanes", "0"},
                                                     {"--ranks-per-node", "1"},
                                                     {"--entry", ""}});
  if (!settings.ok()) return settings.status();
  const std::string engine = settings->extra.at("--engine");
  std::vector<std::string> daemons;
  if (engine == "secure" || engine == "both") daemons.push_back(kSecureDaemon);
  if (engine == "plaintext" || engine == "both") daemons.push_back(kPlaintextDaemon);
  if (daemons.empty()) {
    return absl::InvalidArgumentError("flag --engine: must be secure, plaintext or both");
  }
  const absl::StatusOr<CollectiveOptions> options = ReadCollectiveOptions(*settings);
  if (!options.ok()) return options.status();

  const int per_node = options->communicator.ranks_per_node;
  if (settings->ranks % per_node != 0) {
    return absl::InvalidArgumentError("flag --ranks-per-node: must divide the number of ranks");
  }
  std::vector<std::unique_ptr<Cluster>> clusters;
  for (const std::string& relative : daemons) {
    const absl::StatusOr<std::string> daemon = BesideThisProgram(relative);
    if (!daemon.ok()) return daemon.status();
    absl::StatusOr<std::unique_ptr<Cluster>> cluster =
        Cluster::Start(*daemon, settings->ranks / per_node);
    if (!cluster.ok()) return cluster.status();
    clusters.push_back(*std::move(cluster));
  }
  const std::string entry = settings->extra.at("--entry");
  if (!entry.empty() && entry != "together" && entry != "free") {
    return absl::InvalidArgumentError("flag --entry: must be together or free");
  }
  Benchmark benchmark;
  benchmark.together = entry.empty() ? options->algorithms.size() > 1 : entry == "together";
  benchmark.variants = static_cast<int>(clusters.size());
  if (options->algorithms.size() > 1) {
    if (clusters.size() > 1) {
      return absl::InvalidArgumentError("flag --algorithm: each goes with one engine, not both");
    }
    benchmark.variants = static_cast<int>(options->algorithms.size());
    benchmark.on_size = [&](Rank& rank, uint64_t count, const auto& times) {
      PrintChoice(*settings, *options, rank, count, times);
    };
  }
  benchmark.plain_variant = engine == "both" ? 1 : -1;
  benchmark.make_rank = [&](int rank) {
    std::vector<NodePlace> places;
    for (const auto& cluster : clusters) {
      places.push_back({cluster->runtime_dir(rank / per_node), cluster->control_address(0)});
    }
    return MakeCollectiveRank(*settings, *options, rank, places);
  };
  return RunBenchmark(*settings, benchmark);
}

}  // namespace
}  // namespace caravan::bench

int main(int argc, char** argv) {
  return caravan::bench::ExitCode(caravan::bench::Main(argc, argv), argv[0]);
}
