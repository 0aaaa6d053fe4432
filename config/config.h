// SPDX-License-Identifier: Apache-2.0
//
// The daemon's configuration: text in, a checked configuration with every default applied out.
#ifndef CARAVAN_CONFIG_CONFIG_H_
#define CARAVAN_CONFIG_CONFIG_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/caravan/v1/config.pb.h"

namespace caravan::config {

// Longest path of a Unix socket, without its terminating zero (sockaddr_un).
inline constexpr size_t kMaxSocketPath = 107;
inline constexpr size_t kMaxConfigSize = 1 << 20;  // bytes of text

// Parses and checks `text`, a caravan.v1.Config in text format. Pure. In the result every field
// has its default applied and every path is absolute or relative to where `file` is read from:
// a relative path is taken from the folder of `file`.
// InvalidArgument: "file:line:column: what is wrong", for the first error in the file; columns and
// lines count from 1.
absl::StatusOr<v1::Config> LoadConfig(absl::string_view text, const std::string& file);

// Reads `file` and loads it. NotFound, PermissionDenied or InvalidArgument.
absl::StatusOr<v1::Config> ReadConfig(const std::string& file);

}  // namespace caravan::config

#endif  // CARAVAN_CONFIG_CONFIG_H_
