// SPDX-License-Identifier: Apache-2.0
//
// Text for a terminal: tables, sizes, ages, and strings from elsewhere made harmless.
#ifndef CARAVAN_CLI_TEXT_H_
#define CARAVAN_CLI_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/utf8.h"

namespace caravan::cli {

// Control characters (escape sequences among them) and bytes that are not UTF-8 become '?': a
// peer's text must not drive the reader's terminal.
std::string Printable(absl::string_view text);

// "0 B", "1.5 KiB", "12.0 GiB".
std::string FormatBytes(uint64_t bytes);
// "41s", "12m", "3h", "2d"; "0s" when negative.
std::string FormatAge(int64_t milliseconds);
// The first `keep` characters and "…", or all of it when it is no longer.
std::string Shorten(absl::string_view text, size_t keep);

enum class Color { kNone, kGreen, kYellow, kRed, kBold };
// `text` in a colour where `enabled`.
std::string Paint(Color color, absl::string_view text, bool enabled);

// Columns aligned by characters, two spaces apart; cells are made printable.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void Add(std::vector<std::string> row);
  bool empty() const { return rows_.size() == 1; }
  std::string Render(absl::string_view indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_TEXT_H_
