// SPDX-License-Identifier: Apache-2.0
#ifndef CARAVAN_BASE_VERSION_H_
#define CARAVAN_BASE_VERSION_H_

#include <string_view>

namespace caravan::base {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace caravan::base

#endif  // CARAVAN_BASE_VERSION_H_
