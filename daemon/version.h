// SPDX-License-Identifier: Apache-2.0
#ifndef CARAVAN_DAEMON_VERSION_H_
#define CARAVAN_DAEMON_VERSION_H_

#include <string_view>

namespace caravan {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace caravan

#endif  // CARAVAN_DAEMON_VERSION_H_
