// SPDX-License-Identifier: Apache-2.0
//
// The daemon's log: one line an event on stderr, "time level event key=value …".
//
//   base::Log(base::Level::kInfo, "ready", {{"control", address}});
//   2026-01-31T10:00:00.123Z info ready control=10.0.0.1:7400
//
// Never give it a secret: fingerprints and names only.
#ifndef CARAVAN_BASE_LOG_H_
#define CARAVAN_BASE_LOG_H_

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace caravan::base {

enum class Level { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3 };

// A key and its value. Values with spaces, quotes or control characters are quoted and escaped,
// so that nothing from outside can forge a line.
struct LogField {
  template <typename T>
  LogField(absl::string_view k, const T& v) : key(k), value(absl::StrCat(v)) {}
  absl::string_view key;
  std::string value;
};

// The line for an event, without its end. Pure. Values are cut at 1024 bytes.
std::string FormatLogLine(absl::Time now, Level level, absl::string_view event,
                          std::initializer_list<LogField> fields);

// Writes the line with one write(2). Thread-safe. Events below the level are dropped.
void Log(Level level, absl::string_view event, std::initializer_list<LogField> fields = {});
void SetLogLevel(Level level);  // kInfo at start

}  // namespace caravan::base

#endif  // CARAVAN_BASE_LOG_H_
