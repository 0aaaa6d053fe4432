// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace caravan::bench {

std::string TableHeader() {
  return absl::StrFormat(
      "#%11s %11s %8s %6s %4s %10s %7s %7s %6s %-21s %8s %10s %10s %10s %10s %5s %7s\n"
      "#%11s %11s %8s %6s %4s %10s %7s %7s %6s %-21s %8s %10s %10s %10s %10s %5s %7s\n",
      "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "suite",
      "/plain", "sealed", "opened", "p50", "p99", "ranks", "samples", "(B)", "(elements)", "", "",
      "", "(us)", "(GB/s)", "(GB/s)", "", "", "(x)", "(B)", "(B)", "(us)", "(us)", "", "");
}

std::string FormatRow(const Row& row) {
  const std::string wrong = row.wrong < 0 ? "N/A" : absl::StrCat(row.wrong);
  const std::string ratio = row.over_plain > 0 ? absl::StrFormat("%.3f", row.over_plain) : "-";
  return absl::StrFormat(
      " %11d %11d %8s %6s %4d %10.2f %7.3f %7.3f %6s %-21s %8s %10d %10d %10.2f %10.2f %5d %7d\n",
      row.bytes, row.count, row.type, row.redop, row.root, row.mean * 1e6, row.algbw(),
      row.busbw(), wrong, row.suite, ratio, row.sealed, row.opened, row.p50 * 1e6, row.p99 * 1e6,
      row.ranks, row.samples);
}

absl::StatusOr<Row> ParseRow(const std::string& line) {
  Row row;
  double algbw = 0, busbw = 0;
  std::string wrong, ratio;
  std::istringstream in(line);
  in >> row.bytes >> row.count >> row.type >> row.redop >> row.root >> row.mean >> algbw >> busbw >>
      wrong >> row.suite >> ratio >> row.sealed >> row.opened >> row.p50 >> row.p99 >> row.ranks >>
      row.samples;
  if (!in) return absl::InvalidArgumentError(absl::StrCat("not a row of results: ", line));
  row.mean /= 1e6;
  row.p50 /= 1e6;
  row.p99 /= 1e6;
  row.bus_factor = algbw > 0 ? busbw / algbw : 1;
  row.wrong = wrong == "N/A" ? -1 : std::atoll(wrong.c_str());
  row.over_plain = ratio == "-" ? 0 : std::atof(ratio.c_str());
  return row;
}

std::string ToJson(const std::vector<Row>& rows) {
  std::vector<std::string> items;
  for (const Row& row : rows) {
    items.push_back(absl::StrFormat(
        "{\"size\": %d, \"count\": %d, \"type\": \"%s\", \"redop\": \"%s\", \"root\": %d, "
        "\"ranks\": %d, \"suite\": \"%s\", \"time_us\": %.3f, \"algbw_gbps\": %.4f, "
        "\"busbw_gbps\": %.4f, \"wrong\": %d, \"over_plain\": %.4f, \"sealed_bytes\": %d, "
        "\"opened_bytes\": %d, \"p50_us\": %.3f, \"p99_us\": %.3f, \"samples\": %d}",
        row.bytes, row.count, row.type, row.redop, row.root, row.ranks, row.suite, row.mean * 1e6,
        row.algbw(), row.busbw(), row.wrong, row.over_plain, row.sealed, row.opened, row.p50 * 1e6,
        row.p99 * 1e6, row.samples));
  }
  return absl::StrCat("{\"rows\": [\n  ", absl::StrJoin(items, ",\n  "), "\n]}\n");
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const size_t low = static_cast<size_t>(place);
  const size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (place - std::floor(place));
}

}  // namespace caravan::bench
