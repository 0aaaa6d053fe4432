// SPDX-License-Identifier: Apache-2.0
//
// Algorithms that the configuration prescribes.
#ifndef CARAVAN_CONFIG_SELECTOR_CONFIG_H_
#define CARAVAN_CONFIG_SELECTOR_CONFIG_H_

#include "absl/status/statusor.h"
#include "collective/cost/selector.h"
#include "proto/caravan/v1/config.pb.h"

namespace caravan::config {

inline constexpr int kMaxConfiguredChoices = 64;

// A row for each choice. InvalidArgument names what is unknown or does not fit.
absl::StatusOr<collective::SelectorTable> ConfiguredChoices(const v1::SelectorConfig& config);

}  // namespace caravan::config

#endif  // CARAVAN_CONFIG_SELECTOR_CONFIG_H_
