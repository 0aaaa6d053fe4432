// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/golden.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::nvidia {
namespace {

using Kind = GoldenFinding::Kind;

struct Expected {
  const Rim* rim;
  const GoldenEntry* entry;
};

std::string Describe(const Expected& expected) {
  return absl::StrCat(std::string(Name(expected.rim->kind)), " measurement ",
                      int{expected.entry->index}, " (", expected.entry->name, ")");
}

std::string Beginning(std::string_view value) {
  return absl::StrCat(base::ToHex(crypto::AsBytes(value.substr(0, 8))), "…");
}

bool Allows(const GoldenEntry& entry, std::string_view value) {
  return std::any_of(entry.alternatives.begin(), entry.alternatives.end(), [&](const auto& digest) {
    return value == std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
  });
}

// An unused block is all zeros.
bool IsUnused(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) { return c == '\0'; });
}

class Comparer {
 public:
  explicit Comparer(bool nvdec0_disabled) : nvdec0_disabled_(nvdec0_disabled) {}

  void Expect(const Rim& rim) {
    for (const GoldenEntry& entry : rim.golden) {
      if (!entry.active) continue;
      const auto [at, fresh] = expected_.emplace(entry.index, Expected{&rim, &entry});
      if (fresh) continue;
      Add(Kind::kConflict, entry.index,
          absl::StrCat(Describe(at->second), " is active in the ", std::string(Name(rim.kind)),
                       " manifest too"));
    }
  }

  void Measure(const MeasuredBlock& block) {
    const auto index = static_cast<uint8_t>(block.index - 1);
    const auto [at, fresh] = measured_.emplace(index, &block.value);
    if (!fresh)
      Add(Kind::kRepeated, index,
          absl::StrCat("the report has block ", int{block.index}, " twice"));
  }

  GoldenComparison Run() {
    for (const auto& [index, expected] : expected_) Compare(index, expected);
    for (const auto& [index, value] : measured_) {
      if (expected_.contains(index) || IsUnused(*value)) continue;
      Add(Kind::kUncovered, index,
          absl::StrCat("measurement ", int{index}, " is ", Beginning(*value),
                       ", of which no manifest speaks"));
    }
    std::stable_sort(result_.findings.begin(), result_.findings.end(),
                     [](const auto& a, const auto& b) { return a.index < b.index; });
    return std::move(result_);
  }

 private:
  void Add(Kind kind, uint8_t index, std::string detail) {
    result_.findings.push_back({kind, index, std::move(detail)});
  }

  void Compare(uint8_t index, const Expected& expected) {
    if (index == kNvdec0Index && nvdec0_disabled_) {
      return Add(Kind::kSkipped, index, absl::StrCat(Describe(expected), ": NVDEC0 is disabled"));
    }
    ++result_.compared;
    const auto block = measured_.find(index);
    if (block == measured_.end()) {
      return Add(Kind::kNotMeasured, index,
                 absl::StrCat(Describe(expected), " is not in the report"));
    }
    if (Allows(*expected.entry, *block->second)) {
      ++result_.matched;
      return;
    }
    Add(Kind::kMismatch, index,
        absl::StrCat(Describe(expected), " is ", Beginning(*block->second), ", none of the ",
                     expected.entry->alternatives.size(), " values of version ",
                     expected.rim->version));
  }

  const bool nvdec0_disabled_;
  std::map<uint8_t, Expected> expected_;
  std::map<uint8_t, const std::string*> measured_;
  GoldenComparison result_;
};

// The first few of a kind, and how many there are.
std::string Summarise(const GoldenComparison& comparison, std::initializer_list<Kind> kinds) {
  constexpr size_t kShown = 3;
  size_t count = 0;
  std::string text;
  for (const GoldenFinding& finding : comparison.findings) {
    if (std::find(kinds.begin(), kinds.end(), finding.kind) == kinds.end()) continue;
    if (++count <= kShown) absl::StrAppend(&text, text.empty() ? "" : "; ", finding.detail);
  }
  if (count > kShown) absl::StrAppend(&text, "; and ", count - kShown, " more");
  return text;
}

}  // namespace

size_t GoldenComparison::Count(GoldenFinding::Kind kind) const {
  return static_cast<size_t>(std::count_if(findings.begin(), findings.end(),
                                           [&](const auto& f) { return f.kind == kind; }));
}

bool GoldenComparison::Matches() const {
  return compared > 0 && matched == compared && Count(Kind::kConflict) == 0 &&
         Count(Kind::kRepeated) == 0;
}

GoldenComparison CompareGolden(absl::Span<const Rim* const> rims,
                               absl::Span<const MeasuredBlock> measured, bool nvdec0_disabled) {
  Comparer comparer(nvdec0_disabled);
  for (const Rim* rim : rims) comparer.Expect(*rim);
  for (const MeasuredBlock& block : measured) comparer.Measure(block);
  return comparer.Run();
}

void CheckGolden(const std::string& id, const GoldenComparison& comparison, bool allow_uncovered,
                 CheckList* checks) {
  const std::string conflicts = Summarise(comparison, {Kind::kConflict, Kind::kRepeated});
  checks->Require(conflicts.empty(), absl::StrCat(id, "_GOLDEN_CONFLICT"),
                  "each measurement has one manifest", conflicts);
  const std::string skipped = Summarise(comparison, {Kind::kSkipped});
  std::string detail = absl::StrCat(comparison.matched, " of ", comparison.compared, " match");
  const std::string mismatches = Summarise(comparison, {Kind::kMismatch, Kind::kNotMeasured});
  for (const std::string& more : {mismatches, skipped}) {
    if (!more.empty()) absl::StrAppend(&detail, "; ", more);
  }
  checks->Require(comparison.compared > 0 && comparison.matched == comparison.compared,
                  absl::StrCat(id, "_GOLDEN"), "measurements are those of the manifests",
                  std::move(detail), "is the firmware another version, or changed?");
  constexpr std::string_view kCoverageWhat = "manifests speak of every measurement";
  const std::string coverage = absl::StrCat(id, "_GOLDEN_COVERAGE");
  const std::string uncovered = Summarise(comparison, {Kind::kUncovered});
  if (uncovered.empty()) {
    checks->Pass(coverage, kCoverageWhat);
  } else if (allow_uncovered) {
    checks->Warn(coverage, kCoverageWhat, uncovered);
  } else {
    checks->Fail(coverage, kCoverageWhat, uncovered);
  }
}

}  // namespace caravan::attestation::nvidia
