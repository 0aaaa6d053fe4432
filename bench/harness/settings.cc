// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/settings.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace caravan::bench {
namespace {

constexpr char kUsage[] =
    "  -b BYTES   smallest size (1K)          -e BYTES   largest size (64M)\n"
    "  -f FACTOR  size factor (4)             -i BYTES   size step, instead of a factor\n"
    "  -n N       timed iterations (20)       -w N       warm-up iterations (5)\n"
    "  -N N       rounds, interleaved (3)     -c 0|1     check the results (1)\n"
    "  -d TYPE    half bfloat16 float double int32 int64 uint32 uint64\n"
    "  -o OP      sum prod min max avg        -r N       ranks, a process each (2)\n"
    "  -J FILE    write the rows as JSON\n";

template <typename T>
absl::Status ParseInto(const std::string& flag, const std::string& value, int64_t low, int64_t high,
                       T* out) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number < low || number > high) {
    return absl::InvalidArgumentError(
        absl::StrCat("flag ", flag, ": \"", value, "\" is not a number from ", low, " to ", high));
  }
  *out = static_cast<T>(number);
  return absl::OkStatus();
}

absl::Status ParseBytesInto(const std::string& flag, const std::string& value, uint64_t* out) {
  absl::StatusOr<uint64_t> bytes = ParseBytes(value);
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("flag ", flag, ": ", bytes.status().message()));
  }
  *out = *bytes;
  return absl::OkStatus();
}

template <size_t N>
absl::Status ParseWord(const std::string& flag, const std::string& value,
                       const std::array<const char*, N>& words, std::string* out) {
  std::string all;
  for (const char* word : words) {
    if (value == word) {
      *out = value;
      return absl::OkStatus();
    }
    absl::StrAppend(&all, " ", word);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("flag ", flag, ": \"", value, "\" is none of", all));
}

absl::Status Apply(const std::string& flag, const std::string& value, Settings* s) {
  constexpr std::array<const char*, 8> kTypes = {"half",  "bfloat16", "float",  "double",
                                                 "int32", "int64",    "uint32", "uint64"};
  constexpr std::array<const char*, 5> kOps = {"sum", "prod", "min", "max", "avg"};
  constexpr int64_t kMany = 1'000'000;
  if (flag == "-b") return ParseBytesInto(flag, value, &s->min_bytes);
  if (flag == "-e") return ParseBytesInto(flag, value, &s->max_bytes);
  if (flag == "-i") return ParseBytesInto(flag, value, &s->step_bytes);
  if (flag == "-f") return ParseInto(flag, value, 2, 1024, &s->step_factor);
  if (flag == "-n") return ParseInto(flag, value, 1, kMany, &s->iterations);
  if (flag == "-w") return ParseInto(flag, value, 0, kMany, &s->warmup);
  if (flag == "-N") return ParseInto(flag, value, 1, 1000, &s->rounds);
  if (flag == "-c") return ParseInto(flag, value, 0, 1, &s->check);
  if (flag == "-r") return ParseInto(flag, value, 1, kMaxRanks, &s->ranks);
  if (flag == "-d") return ParseWord(flag, value, kTypes, &s->type);
  if (flag == "-o") return ParseWord(flag, value, kOps, &s->redop);
  if (flag == "-J") {
    s->json = value;
    return absl::OkStatus();
  }
  const auto known = s->extra.find(flag);
  if (known == s->extra.end()) {
    return absl::InvalidArgumentError(absl::StrCat("unknown flag ", flag, "; try --help"));
  }
  known->second = value;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint64_t> ParseBytes(const std::string& text) {
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  absl::ConsumeSuffix(&rest, "iB");
  int shift = 0;
  if (absl::ConsumeSuffix(&rest, "K"))
    shift = 10;
  else if (absl::ConsumeSuffix(&rest, "M"))
    shift = 20;
  else if (absl::ConsumeSuffix(&rest, "G"))
    shift = 30;
  uint64_t number = 0;
  if (!absl::SimpleAtoi(rest, &number) || number > (uint64_t{1} << 40 >> shift)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not a size such as 512, 64K or 16M"));
  }
  return number << shift;
}

std::vector<uint64_t> Settings::Sizes() const {
  std::vector<uint64_t> sizes;
  for (uint64_t size = min_bytes; size <= max_bytes;
       size = step_bytes > 0 ? size + step_bytes : size * step_factor) {
    sizes.push_back(size);
    if (size == 0 && step_bytes == 0) break;
  }
  return sizes;
}

absl::StatusOr<Settings> ParseSettings(int argc, char** argv,
                                       const std::map<std::string, std::string>& extra) {
  Settings settings;
  settings.extra = extra;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--help" || flag == "-h") {
      std::string usage = kUsage;
      for (const auto& [name, value] : extra) {
        absl::StrAppend(&usage, "  ", name, " VALUE  (", value, ")\n");
      }
      return absl::CancelledError(usage);
    }
    if (i + 1 >= argc)
      return absl::InvalidArgumentError(absl::StrCat("flag ", flag, " wants a value"));
    const absl::Status status = Apply(flag, argv[++i], &settings);
    if (!status.ok()) return status;
  }
  if (settings.min_bytes > settings.max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("flag -b: ", settings.min_bytes,
                                                   " bytes is more than -e, ", settings.max_bytes));
  }
  return settings;
}

}  // namespace caravan::bench
