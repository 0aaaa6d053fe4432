// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace caravan::cli {
namespace {

size_t Characters(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = base::Utf8Length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    // U+0080 to U+009F are control characters too: 0xc2 and 0x80 to 0x9f.
    const bool c1 = length == 2 && c == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length == 0 || c < 0x20 || c == 0x7f || c1) {
      out += '?';
    } else {
      absl::StrAppend(&out, text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 would be printed as 1024.0.
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string FormatAge(int64_t milliseconds) {
  const int64_t seconds = std::max<int64_t>(milliseconds, 0) / 1000;
  if (seconds < 120) return absl::StrCat(seconds, "s");
  if (seconds < 2 * 3600) return absl::StrCat(seconds / 60, "m");
  if (seconds < 2 * 86400) return absl::StrCat(seconds / 3600, "h");
  return absl::StrCat(seconds / 86400, "d");
}

std::string Shorten(absl::string_view text, size_t keep) {
  size_t end = 0;
  for (size_t i = 0; i < keep && end < text.size(); ++i) {
    end += std::max<size_t>(base::Utf8Length(text.substr(end)), 1);
  }
  if (end >= text.size()) return std::string(text);
  return absl::StrCat(text.substr(0, end), "…");
}

std::string Paint(Color color, absl::string_view text, bool enabled) {
  if (!enabled || color == Color::kNone) return std::string(text);
  const char* code = color == Color::kGreen    ? "32"
                     : color == Color::kYellow ? "33"
                     : color == Color::kRed    ? "31"
                                               : "1";
  return absl::StrCat("\x1b[", code, "m", text, "\x1b[0m");
}

void Table::Add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = Printable(cell);
  row.resize(rows_.front().size());
  rows_.push_back(std::move(row));
}

std::string Table::Render(absl::string_view indent) const {
  std::vector<size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Characters(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    absl::StrAppend(&out, indent);
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&out, row[i]);
      if (i + 1 < row.size()) out.append(widths[i] - Characters(row[i]) + 2, ' ');
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

}  // namespace caravan::cli
