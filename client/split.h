// SPDX-License-Identifier: Apache-2.0
//
// Who is a member of a communicator that is made of another one's members. Pure.
#ifndef CARAVAN_CLIENT_SPLIT_H_
#define CARAVAN_CLIENT_SPLIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace caravan::client {

// What one rank gives to Split.
struct SplitChoice {
  int color = 0;
  int key = 0;
};

// Ranks of `choices` with this color, in the order of key, then rank.
std::vector<uint32_t> SplitMembers(const std::vector<SplitChoice>& choices, int color);

// All ranks of `size` but those excluded, ascending. InvalidArgument: a rank that is out of range
// or named twice, or `rank` itself.
absl::StatusOr<std::vector<uint32_t>> ShrinkMembers(int size, int rank,
                                                    absl::Span<const int> excluded);

}  // namespace caravan::client

#endif  // CARAVAN_CLIENT_SPLIT_H_
