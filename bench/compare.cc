// SPDX-License-Identifier: Apache-2.0
//
// ./dev bench: runs every benchmark in turns, round after round, and prints how the secure engine
// compares with its own plaintext build, with Gloo and with a TLS ring.
//   compare [-J FILE] [--plot FOLDER] [--quick]
// Or how well the selector chooses: auto against every algorithm, for each operation.
//   compare --algorithms [--entry together|free] [--quick]
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/algorithms.h"
#include "bench/harness/table.h"
#include "bench/plots.h"
#include "bench/ratios.h"

namespace caravan::bench {
namespace {

// Sizes that want many short iterations, and sizes that want few long ones.
struct Span {
  const char* flags;
  const char* quick_flags;
};
constexpr Span kSpans[] = {
    {"-b 1K -e 256K -n 200 -w 20 -N 1", "-b 1K -e 64K -f 64 -n 100 -w 10 -N 1"},
    {"-b 1M -e 64M -n 8 -w 2 -N 1", "-b 1M -e 16M -f 16 -n 5 -w 1 -N 1"}};

struct Options {
  std::string json;
  std::string plot_folder;
  bool quick = false;
  bool algorithms = false;
  std::string entry;  // of --algorithms: collective_perf's flag, "" for its default
};

absl::StatusOr<Options> ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--quick") {
      options.quick = true;
    } else if (flag == "--algorithms") {
      options.algorithms = true;
    } else if (flag == "--entry" && i + 1 < argc) {
      options.entry = argv[++i];
    } else if (flag == "-J" && i + 1 < argc) {
      options.json = argv[++i];
    } else if (flag == "--plot" && i + 1 < argc) {
      options.plot_folder = argv[++i];
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown flag ", flag,
                       "; usage: bench [-J FILE] [--plot FOLDER] [--quick] | --algorithms [--entry "
                       "together|free] [--quick]"));
    }
  }
  return options;
}

// Shows the program's lines, each handed to `line` too.
template <typename F>
absl::Status RunAndRead(const std::string& command, F&& take) {
  std::FILE* out = popen(command.c_str(), "r");
  if (out == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot run ", command));
  char line[1024];
  while (std::fgets(line, sizeof(line), out) != nullptr) {
    std::fputs(line, stdout);
    std::fflush(stdout);
    take(line);
  }
  if (pclose(out) != 0) return absl::InternalError(absl::StrCat(command, " failed"));
  return absl::OkStatus();
}

absl::Status CompareAlgorithms(bool quick, const std::string& entry) {
  const std::string folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::vector<Choice> choices;
  for (const int ranks : {2, 4, 8}) {
    for (const char* op : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall"}) {
      // Short turns, many of them: what disturbs a machine lasts longer than one operation.
      for (const char* span : {"-b 1K -e 64K -n 10 -w 2 -N ", "-b 256K -e 16M -n 2 -w 1 -N "}) {
        const std::string command = absl::StrCat(
            folder, "/collective_perf --engine secure --algorithm each --op ", op, " -r ", ranks,
            " ", span, quick ? 12 : 36, entry.empty() ? "" : " --entry ", entry);
        const absl::Status status = RunAndRead(command, [&](const char* line) {
          if (auto choice = ParseChoice(line); choice.ok()) choices.push_back(*choice);
        });
        if (!status.ok()) return status;
      }
    }
  }
  std::printf(
      "\n#      operation    ranks       size chosen           best             auto/b"
      "  choice/b  best (us)\n");
  for (const Choice& choice : choices) std::fputs(FormatChoice(choice).c_str(), stdout);
  std::fputs(SummarizeChoices(choices).c_str(), stdout);
  return absl::OkStatus();
}

class Comparison {
 public:
  explicit Comparison(Options options)
      : options_(std::move(options)),
        folder_(std::filesystem::read_symlink("/proc/self/exe").parent_path()) {}

  absl::Status Run() {
    const int rounds = options_.quick ? 2 : 3;
    // Where it cannot be the same for all, a part of a ratio may come from it.
    std::ifstream kernel("/proc/sys/net/ipv4/tcp_congestion_control");
    std::string congestion_control;
    std::getline(kernel, congestion_control);
    std::printf("# congestion control: ours asks for cubic, the others have %s\n",
                congestion_control.c_str());
    if (absl::Status status = RunAead(); !status.ok()) return status;
    for (const int ranks : {2, 4}) {
      for (int round = 0; round < rounds; ++round) {
        std::printf("# %d ranks, round %d of %d\n", ranks, round + 1, rounds);
        std::fflush(stdout);
        for (const Span& span : kSpans) {
          const std::string flags =
              absl::StrCat(" -r ", ranks, " ", options_.quick ? span.quick_flags : span.flags);
          for (const char* program :
               {"collective_perf --engine both", "peers/gloo_perf", "peers/tls_ring_perf"}) {
            if (absl::Status s = RunOne(absl::StrCat(program, flags), round); !s.ok()) return s;
          }
        }
      }
    }
    Print();
    if (!options_.json.empty()) {
      if (absl::Status s = WriteFile(options_.json, Json()); !s.ok()) return s;
    }
    return options_.plot_folder.empty() ? absl::OkStatus()
                                        : WritePlots(measurements_, options_.plot_folder);
  }

 private:
  absl::Status RunAead() {
    std::string path = (std::filesystem::temp_directory_path() / "aead_perf.XXXXXX").string();
    const int fd = mkstemp(path.data());
    if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", path));
    close(fd);
    const std::string command =
        absl::StrCat(folder_, "/aead/aead_perf -J ", path, options_.quick ? " -n 20" : "");
    const int code = std::system(command.c_str());
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    aead_ = text.str();
    unlink(path.c_str());
    const size_t first = aead_.find('{'), last = aead_.rfind('}');
    if (code != 0 || first == std::string::npos || last <= first) {
      return absl::InternalError("aead_perf failed");
    }
    aead_ = aead_.substr(first + 1, last - first - 1);
    return absl::OkStatus();
  }

  // Shows the program's rows and keeps them.
  absl::Status RunOne(const std::string& command, int round) {
    const absl::Status status =
        RunAndRead(absl::StrCat(folder_, "/", command), [&](const char* line) {
          if (line[0] == '#') return;
          const absl::StatusOr<Row> row = ParseRow(line);
          if (!row.ok()) return;
          if (row->wrong != 0) wrong_ = true;
          measurements_.Add(ContenderOf(row->suite), round, *row);
        });
    if (!status.ok()) return status;
    if (wrong_) return absl::DataLossError(absl::StrCat(command, " gave wrong results"));
    return absl::OkStatus();
  }

  static Contender ContenderOf(const std::string& suite) {
    if (suite.rfind("gloo-", 0) == 0) return Contender::kGloo;
    if (suite.rfind("TLS_", 0) == 0) return Contender::kTls;
    return suite == "caravan-bench-plaintext" ? Contender::kPlaintext : Contender::kSecure;
  }

  void Print() const {
    std::printf(
        "\n# allreduce, float sum: time of the others over ours (above 1: we are faster)\n");
    std::printf("#%11s %6s %12s %14s %10s %8s\n", "size", "ranks", "ours (us)", "own plaintext",
                "Gloo TCP", "TLS ring");
    const auto plain = measurements_.SecureOver(Contender::kPlaintext);
    const auto gloo = measurements_.SecureOver(Contender::kGloo);
    const auto tls = measurements_.SecureOver(Contender::kTls);
    for (const Ratio& time : measurements_.Times(Contender::kSecure)) {
      std::printf(" %11lu %6d %12.1f %14s %10s %8s\n", static_cast<unsigned long>(time.bytes),
                  time.ranks, time.median * 1e6, Find(plain, time).c_str(),
                  Find(gloo, time).c_str(), Find(tls, time).c_str());
    }
  }

  static std::string Find(const std::vector<Ratio>& ratios, const Ratio& at) {
    for (const Ratio& ratio : ratios) {
      if (ratio.bytes == at.bytes && ratio.ranks == at.ranks) {
        return absl::StrFormat("%.2f", ratio.median);
      }
    }
    return "-";
  }

  // latency_over_gloo is our time over Gloo's at 1 KiB: below 1, we are faster.
  std::string Json() const {
    std::vector<Ratio> latency;
    for (Ratio ratio : measurements_.SecureOver(Contender::kGloo)) {
      if (ratio.bytes != 1024) continue;
      ratio.median = 1 / ratio.median;
      latency.push_back(ratio);
    }
    return absl::StrCat(
        "{", absl::StripTrailingAsciiWhitespace(aead_),
        ",\n  \"secure_over_plain\": ", ToJson(measurements_.SecureOver(Contender::kPlaintext)),
        ",\n  \"over_gloo_tcp\": ", ToJson(measurements_.SecureOver(Contender::kGloo)),
        ",\n  \"over_tls\": ", ToJson(measurements_.SecureOver(Contender::kTls)),
        ",\n  \"latency_over_gloo\": ", ToJson(latency), "\n}\n");
  }

  const Options options_;
  const std::string folder_;
  Measurements measurements_;
  std::string aead_;
  bool wrong_ = false;
};

}  // namespace
}  // namespace caravan::bench

int main(int argc, char** argv) {
  using caravan::bench::Comparison;
  const auto options = caravan::bench::ParseOptions(argc, argv);
  absl::Status status = options.status();
  if (options.ok()) {
    status = options->algorithms ? caravan::bench::CompareAlgorithms(options->quick, options->entry)
                                 : Comparison(*options).Run();
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
}
