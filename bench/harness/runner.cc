// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/runner.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/harness/shared_board.h"

namespace caravan::bench {
namespace {

// In-place sums double with each repetition; a fresh input every so often keeps them finite.
constexpr int kRefillEvery = 24;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One rank's loop over sizes, rounds and variants. Rank 0 prints.
class RankLoop {
 public:
  RankLoop(const Settings& settings, const Benchmark& benchmark, SharedBoard* board, int rank)
      : settings_(settings), benchmark_(benchmark), board_(board), index_(rank) {}

  absl::Status Run() {
    absl::StatusOr<std::unique_ptr<Rank>> made = benchmark_.make_rank(index_);
    if (!made.ok()) return made.status();
    rank_ = *std::move(made);
    std::vector<Row> rows;
    for (const uint64_t bytes : settings_.Sizes()) {
      absl::Status status = MeasureSize(bytes, &rows);
      if (!status.ok()) return status;
    }
    if (index_ == 0 && !settings_.json.empty()) {
      absl::Status status = WriteFile(settings_.json, ToJson(rows));
      if (!status.ok()) return status;
    }
    // Nobody tears down a connection that a slower rank still reads.
    return board_->Barrier();
  }

 private:
  absl::Status MeasureSize(uint64_t bytes, std::vector<Row>* rows) {
    const uint64_t count = rank_->Count(bytes);
    const int variants = benchmark_.variants;
    std::vector<std::vector<double>> times(variants);
    std::vector<int64_t> wrong(variants, -1);
    std::vector<CryptoBytes> crypto(variants);
    for (int round = 0; round < settings_.rounds; ++round) {
      for (int turn = 0; turn < variants; ++turn) {
        // Nobody comes after the same one each time.
        const int variant = (round + turn) % variants;
        absl::Status status = rank_->Prepare(variant, count);
        if (status.ok() && round == 0 && settings_.check) {
          status = Check(variant, count, &wrong[variant]);
        }
        if (status.ok()) status = Time(variant, count, &times[variant]);
        if (status.ok() && round == 0) status = MeasureCrypto(variant, count, &crypto[variant]);
        if (!status.ok()) return status;
      }
    }
    if (index_ == 0) {
      Report(count, times, wrong, crypto, rows);
      if (benchmark_.on_size) benchmark_.on_size(*rank_, count, times);
    }
    return board_->Barrier();
  }

  absl::Status Check(int variant, uint64_t count, int64_t* wrong) {
    rank_->Fill(variant, count);
    if (absl::Status s = board_->Barrier(); !s.ok()) return s;
    if (absl::Status s = rank_->Run(variant, count); !s.ok()) return s;
    board_->wrong().fetch_add(rank_->CountWrong(variant, count));
    if (absl::Status s = board_->Barrier(); !s.ok()) return s;
    *wrong = static_cast<int64_t>(board_->wrong().load());
    if (absl::Status s = board_->Barrier(); !s.ok()) return s;
    if (index_ == 0) board_->wrong().store(0);
    return board_->Barrier();
  }

  // Appends the slowest rank's time of each iteration.
  absl::Status Time(int variant, uint64_t count, std::vector<double>* times) {
    double* mine = board_->times(index_);
    for (int i = -settings_.warmup; i < settings_.iterations; ++i) {
      if ((i + settings_.warmup) % kRefillEvery == 0) {
        rank_->Fill(variant, count);
        if (absl::Status s = board_->Barrier(); !s.ok()) return s;
      } else if (benchmark_.together) {
        if (absl::Status s = board_->Barrier(); !s.ok()) return s;
      }
      const double start = Now();
      if (absl::Status s = rank_->Run(variant, count); !s.ok()) return s;
      if (i >= 0) mine[i] = Now() - start;
    }
    if (absl::Status s = board_->Barrier(); !s.ok()) return s;
    for (int i = 0; i < settings_.iterations; ++i) {
      double slowest = 0;
      for (int r = 0; r < settings_.ranks; ++r) slowest = std::max(slowest, board_->times(r)[i]);
      times->push_back(slowest);
    }
    return board_->Barrier();
  }

  absl::Status MeasureCrypto(int variant, uint64_t count, CryptoBytes* out) {
    const absl::StatusOr<CryptoBytes> before = rank_->Crypto(variant);
    if (!before.ok()) return before.status();
    if (absl::Status s = rank_->Run(variant, count); !s.ok()) return s;
    const absl::StatusOr<CryptoBytes> after = rank_->Crypto(variant);
    if (!after.ok()) return after.status();
    *out = {after->sealed - before->sealed, after->opened - before->opened};
    return board_->Barrier();
  }

  void Report(uint64_t count, const std::vector<std::vector<double>>& times,
              const std::vector<int64_t>& wrong, const std::vector<CryptoBytes>& crypto,
              std::vector<Row>* rows) {
    std::vector<Row> all;
    for (int variant = 0; variant < benchmark_.variants; ++variant) {
      Row row;
      row.count = count;
      row.bytes = rank_->Bytes(count);
      row.type = settings_.type;
      row.redop = settings_.redop;
      row.suite = rank_->Suite(variant);
      row.bus_factor = rank_->BusFactor();
      for (const double t : times[variant]) row.mean += t / times[variant].size();
      row.p50 = Quantile(times[variant], 0.5);
      row.p99 = Quantile(times[variant], 0.99);
      row.wrong = wrong[variant];
      row.sealed = crypto[variant].sealed;
      row.opened = crypto[variant].opened;
      row.ranks = settings_.ranks;
      row.samples = static_cast<int>(times[variant].size());
      if (benchmark_.plain_variant >= 0) {
        row.over_plain = Quantile(times[benchmark_.plain_variant], 0.5) / row.p50;
      }
      all.push_back(std::move(row));
    }
    if (benchmark_.fastest_only) {
      all = {*std::min_element(all.begin(), all.end(),
                               [](const Row& a, const Row& b) { return a.p50 < b.p50; })};
    }
    for (const Row& row : all) {
      std::fputs(FormatRow(row).c_str(), stdout);
      rows->push_back(row);
    }
    std::fflush(stdout);
  }

  const Settings& settings_;
  const Benchmark& benchmark_;
  SharedBoard* const board_;
  const int index_;
  std::unique_ptr<Rank> rank_;
};

[[noreturn]] void RunChild(const Settings& settings, const Benchmark& benchmark, SharedBoard* board,
                           int rank) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const absl::Status status = RankLoop(settings, benchmark, board, rank).Run();
  if (!status.ok()) board->Fail(rank, status);
  std::fflush(stdout);
  // No destructors of static objects: libraries of the measured peers hang in theirs.
  _exit(status.ok() ? 0 : 1);
}

}  // namespace

absl::Status RunBenchmark(const Settings& settings, const Benchmark& benchmark) {
  const absl::StatusOr<SharedBoard*> board = SharedBoard::Map(settings.ranks, settings.iterations);
  if (!board.ok()) return board.status();
  std::fputs(TableHeader().c_str(), stdout);
  std::fflush(stdout);
  std::vector<pid_t> children;
  for (int rank = 0; rank < settings.ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) {
      (*board)->Fail(rank, absl::ErrnoToStatus(errno, "cannot fork"));
      break;
    }
    if (child == 0) RunChild(settings, benchmark, *board, rank);
    children.push_back(child);
  }
  for (size_t left = children.size(); left > 0; --left) {
    int how = 0;
    const pid_t ended = waitpid(-1, &how, 0);
    const auto at = std::find(children.begin(), children.end(), ended);
    if (at == children.end()) continue;
    if (how != 0) {
      (*board)->Fail(static_cast<int>(at - children.begin()),
                     absl::InternalError(absl::StrCat("ended with wait status ", how)));
      for (const pid_t child : children) {
        if (child > 0) kill(child, SIGKILL);
      }
    }
    *at = -1;
  }
  if ((*board)->failed()) return absl::InternalError((*board)->message());
  return absl::OkStatus();
}

int ExitCode(const absl::Status& status, const char* program) {
  if (status.ok()) return 0;
  if (status.code() == absl::StatusCode::kCancelled) {
    std::printf("usage: %s [flags]\n%s", program, std::string(status.message()).c_str());
    return 0;
  }
  std::fprintf(stderr, "%s: %s\n", program, std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
}

}  // namespace caravan::bench
