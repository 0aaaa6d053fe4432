// SPDX-License-Identifier: Apache-2.0
#include "client/split.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace caravan::client {

std::vector<uint32_t> SplitMembers(const std::vector<SplitChoice>& choices, int color) {
  std::vector<uint32_t> members;
  for (uint32_t rank = 0; rank < choices.size(); ++rank) {
    if (choices[rank].color == color) members.push_back(rank);
  }
  std::stable_sort(members.begin(), members.end(),
                   [&](uint32_t a, uint32_t b) { return choices[a].key < choices[b].key; });
  return members;
}

absl::StatusOr<std::vector<uint32_t>> ShrinkMembers(int size, int rank,
                                                    absl::Span<const int> excluded) {
  std::vector<bool> gone(static_cast<size_t>(size), false);
  for (const int one : excluded) {
    if (one < 0 || one >= size) {
      return absl::InvalidArgumentError(absl::StrCat("excluded rank ", one, " is none of ", size));
    }
    if (gone[one]) {
      return absl::InvalidArgumentError(absl::StrCat("excluded rank ", one, " is named twice"));
    }
    gone[one] = true;
  }
  if (gone[rank]) {
    return absl::InvalidArgumentError(absl::StrCat(
        "excluded rank ", rank, " is this rank: who is excluded does not call Shrink"));
  }
  std::vector<uint32_t> members;
  for (int one = 0; one < size; ++one) {
    if (!gone[one]) members.push_back(static_cast<uint32_t>(one));
  }
  return members;
}

}  // namespace caravan::client
