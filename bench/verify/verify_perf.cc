// SPDX-License-Identifier: Apache-2.0
//
// verify_perf: how long one core takes to verify one of each kind of evidence, with chain and
// collateral read anew each time: once with every signature, once as an appraiser that is kept and
// that knows the makers' signatures; and with --verifications, whether memory grows.
//
//   verify_perf [-n SAMPLES] [--vectors FOLDER] [--verifications N]
//
// Ends with 1 when a subject is refused or memory grew.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/verify/memory.h"
#include "bench/verify/subjects.h"

namespace caravan::bench {
namespace {

constexpr double kGoalMilliseconds = 5;
constexpr int kWarmUp = 50;
// Over all verifications: less than a byte each of 20,000.
constexpr size_t kHeapSlack = 16 << 10, kResidentSlack = 1 << 20;

// The time that a core gave to this thread.
double CoreMilliseconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

// One row: a subject, all of it or again.
struct Row {
  std::string name;
  std::function<bool()> verify;
};

bool Verify(const Row& row) {
  if (row.verify()) return true;
  absl::FPrintF(stderr, "verify_perf: %s is refused\n", row.name);
  return false;
}

bool Time(const Row& row, int samples) {
  std::vector<double> times;
  for (int i = 0; i < kWarmUp + samples; ++i) {
    const double start = CoreMilliseconds();
    if (!Verify(row)) return false;
    if (i >= kWarmUp) times.push_back(CoreMilliseconds() - start);
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  absl::PrintF("%-30s %9.2f %9.2f %9.2f  %s\n", row.name, median, times[times.size() * 9 / 10],
               times.back(), median <= kGoalMilliseconds ? "" : "over the goal");
  std::fflush(stdout);
  return true;
}

bool HoldsMemory(const Row& row, int verifications) {
  for (int i = 0; i < kWarmUp; ++i) {
    if (!Verify(row)) return false;
  }
  const size_t heap = AllocatedBytes(), resident = ResidentBytes();
  for (int i = 0; i < verifications; ++i) {
    if (!Verify(row)) return false;
  }
  const size_t heap_after = AllocatedBytes(), resident_after = ResidentBytes();
  const bool holds = heap_after <= heap + kHeapSlack && resident_after <= resident + kResidentSlack;
  absl::PrintF("%-30s %11d %11d %9.1f %9.1f  %s\n", row.name, heap, heap_after,
               static_cast<double>(resident) / (1 << 20),
               static_cast<double>(resident_after) / (1 << 20), holds ? "" : "grows");
  std::fflush(stdout);
  return holds;
}

int Main(int argc, char** argv) {
  int samples = 301, verifications = 0;
  const char* vectors = nullptr;
  for (int i = 1; i < argc; i += 2) {
    const bool has_value = i + 1 < argc;
    if (has_value && strcmp(argv[i], "-n") == 0 && std::atoi(argv[i + 1]) > 0) {
      samples = std::atoi(argv[i + 1]);
    } else if (has_value && strcmp(argv[i], "--vectors") == 0) {
      vectors = argv[i + 1];
    } else if (has_value && strcmp(argv[i], "--verifications") == 0 && std::atoi(argv[i + 1]) > 0) {
      verifications = std::atoi(argv[i + 1]);
    } else {
      absl::FPrintF(stderr,
                    "usage: verify_perf [-n SAMPLES] [--vectors FOLDER] [--verifications N]\n");
      return 2;
    }
  }
  std::vector<Subject> subjects = SyntheticSubjects();
  if (vectors != nullptr) {
    auto real = RealSubjects(vectors);
    if (!real.ok()) {
      absl::FPrintF(stderr, "verify_perf: %s\n", real.status().ToString());
      return 1;
    }
    for (Subject& subject : *real) subjects.push_back(std::move(subject));
  }
  std::vector<Row> rows;
  for (Subject& subject : subjects) {
    rows.push_back({subject.name, std::move(subject.verify)});
    rows.push_back({subject.name + ", again", std::move(subject.verify_again)});
  }
  bool good = true;
  absl::PrintF("# one core, %d verifications each; goal: a median of %.0f ms\n", samples,
               kGoalMilliseconds);
  absl::PrintF("%-30s %9s %9s %9s\n", "evidence", "median ms", "p90 ms", "max ms");
  for (const Row& row : rows) good &= Time(row, samples);
  if (verifications > 0) {
    absl::PrintF("# bytes allocated and MiB resident, before and after %d verifications\n",
                 verifications);
    absl::PrintF("%-30s %11s %11s %9s %9s\n", "evidence", "heap", "heap", "rss", "rss");
    for (const Row& row : rows) good &= HoldsMemory(row, verifications);
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace caravan::bench

int main(int argc, char** argv) { return caravan::bench::Main(argc, argv); }
