// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"

namespace caravan::base {
namespace {

constexpr size_t kMaxValue = 1024;

std::atomic<Level> g_level{Level::kInfo};

absl::string_view Name(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      return "error";
  }
  return "unknown";
}

std::string Quoted(absl::string_view value) {
  value = value.substr(0, kMaxValue);
  bool plain = !value.empty() && std::all_of(value.begin(), value.end(), [](unsigned char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\';
  });
  if (plain) return std::string(value);
  return absl::StrCat("\"", absl::Utf8SafeCEscape(value), "\"");
}

}  // namespace

std::string FormatLogLine(absl::Time now, Level level, absl::string_view event,
                          std::initializer_list<LogField> fields) {
  std::string line =
      absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", now, absl::UTCTimeZone()), " ",
                   Name(level), " ", event);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.key, "=", Quoted(field.value));
  }
  return line;
}

void Log(Level level, absl::string_view event, std::initializer_list<LogField> fields) {
  if (level < g_level.load(std::memory_order_relaxed)) return;
  std::string line = FormatLogLine(absl::Now(), level, event, fields);
  line.push_back('\n');
  // A log that cannot be written must not stop the daemon.
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void SetLogLevel(Level level) { g_level.store(level, std::memory_order_relaxed); }

}  // namespace caravan::base
