// SPDX-License-Identifier: Apache-2.0
//
// Whether a communicator's configuration makes sense.
#ifndef CARAVAN_DAEMON_ENGINE_GROUP_CONFIG_H_
#define CARAVAN_DAEMON_ENGINE_GROUP_CONFIG_H_

#include "absl/status/status.h"
#include "daemon/engine/types.h"

namespace caravan::engine {

// InvalidArgument, naming the communicator and what contradicts what.
absl::Status CheckConfig(const GroupConfig& config);

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_GROUP_CONFIG_H_
