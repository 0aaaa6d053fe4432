// SPDX-License-Identifier: Apache-2.0
//
// Pieces of the tensors that a run hands to the network, kept aside, so that a packet capture can
// be searched for them afterwards.
#ifndef CARAVAN_EXAMPLES_DDP_TEXT_CANARY_H_
#define CARAVAN_EXAMPLES_DDP_TEXT_CANARY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace caravan::ddp_text {

inline constexpr size_t kCanaryBytes = 32;

class Canary {
 public:
  // Keeps pieces spread over `values`. Pieces with few distinct bytes are passed over: they would
  // be found anywhere.
  void Keep(const float* values, size_t count);
  absl::Status Write(const std::string& path) const;

 private:
  std::string pieces_;
};

struct CanaryResult {
  size_t pieces = 0;
  size_t found = 0;
  size_t searched_bytes = 0;
};
// Looks for every piece of the file `canary` in the file `capture`, byte for byte.
// InvalidArgument when there is no piece or nothing to search: such a search could not fail.
absl::StatusOr<CanaryResult> SearchCapture(const std::string& canary, const std::string& capture);

}  // namespace caravan::ddp_text

#endif  // CARAVAN_EXAMPLES_DDP_TEXT_CANARY_H_
