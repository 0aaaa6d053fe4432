// SPDX-License-Identifier: Apache-2.0
#include "bench/plots.h"

#include <cstdlib>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/harness/table.h"

namespace caravan::bench {
namespace {

struct Line {
  Contender contender;
  const char* title;
};
constexpr Line kLines[] = {{Contender::kSecure, "Caravan"},
                           {Contender::kPlaintext, "Caravan's engine without encryption"},
                           {Contender::kGloo, "Gloo, plain TCP"},
                           {Contender::kTls, "ring over TLS 1.3"}};

struct Picture {
  const char* name;
  const char* axis;
  int column;
};
constexpr Picture kPictures[] = {{"busbw", "bus bandwidth (GB/s)", 3}, {"latency", "time (µs)", 2}};

std::set<int> RankCounts(const Measurements& measurements) {
  std::set<int> counts;
  for (const Line& line : kLines) {
    for (const Ratio& time : measurements.Times(line.contender)) counts.insert(time.ranks);
  }
  return counts;
}

bool Measured(const Measurements& measurements, Contender contender, int ranks) {
  for (const Ratio& time : measurements.Times(contender)) {
    if (time.ranks == ranks) return true;
  }
  return false;
}

// File names are relative: gnuplot runs inside the folder.
std::string Script(const Measurements& measurements, const Picture& picture, int ranks,
                   const std::string& data, const std::string& name) {
  std::string plot;
  int block = 0;
  for (const Line& line : kLines) {
    if (!Measured(measurements, line.contender, ranks)) continue;
    absl::StrAppendFormat(&plot, "%s '%s' index %d using 1:%d with linespoints lw 2 title \"%s\"",
                          plot.empty() ? "plot" : ",", data, block++, picture.column, line.title);
  }
  std::string script = absl::StrFormat(
      "set title \"allreduce, float sum, %d ranks\"\n"
      "set xlabel \"size (bytes)\"\nset ylabel \"%s\"\n"
      "set logscale x 2\nset logscale y\nset format x \"%%.0b%%B\"\nset key left top\nset grid\n",
      ranks, picture.axis);
  absl::StrAppendFormat(&script, "set terminal svg size 800,500\nset output '%s.svg'\n%s\n", name,
                        plot);
  absl::StrAppendFormat(&script, "set terminal png size 800,500\nset output '%s.png'\nreplot\n",
                        name);
  return script;
}

}  // namespace

std::string PlotData(const Measurements& measurements, int ranks) {
  std::string data;
  for (const Line& line : kLines) {
    std::string block;
    for (const Ratio& time : measurements.Times(line.contender)) {
      if (time.ranks != ranks || time.median <= 0) continue;
      const double busbw = time.bytes / time.median * 2 * (ranks - 1) / ranks / 1e9;
      absl::StrAppendFormat(&block, "%d %.3f %.4f\n", time.bytes, time.median * 1e6, busbw);
    }
    if (block.empty()) continue;
    absl::StrAppend(&data, data.empty() ? "" : "\n\n", "# ", line.title, "\n", block);
  }
  return data;
}

absl::Status WritePlots(const Measurements& measurements, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::NotFoundError(absl::StrCat("cannot make ", folder, ": ", error.message()));
  }
  for (const int ranks : RankCounts(measurements)) {
    const std::string prefix = absl::StrCat("allreduce-", ranks, "-ranks");
    const std::string data = prefix + ".dat";
    absl::Status status = WriteFile(absl::StrCat(folder, "/", data), PlotData(measurements, ranks));
    if (!status.ok()) return status;
    for (const Picture& picture : kPictures) {
      const std::string name = absl::StrCat(prefix, "-", picture.name);
      const std::filesystem::path script =
          std::filesystem::absolute(absl::StrCat(folder, "/", name, ".gnuplot"));
      status = WriteFile(script.string(), Script(measurements, picture, ranks, data, name));
      if (!status.ok()) return status;
      // The folder's name goes through the environment, so that no shell reads it.
      setenv("CARAVAN_PLOT_FOLDER", script.parent_path().c_str(), 1);
      const std::string command =
          absl::StrCat("cd \"$CARAVAN_PLOT_FOLDER\" && gnuplot ", name, ".gnuplot");
      if (std::system(command.c_str()) != 0) {
        return absl::FailedPreconditionError(
            absl::StrCat("gnuplot failed on ", script.string(),
                         "; install the package gnuplot-nox, or draw the .dat file otherwise"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace caravan::bench
