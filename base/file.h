// SPDX-License-Identifier: Apache-2.0
//
// Reading whole files within a limit.
#ifndef CARAVAN_BASE_FILE_H_
#define CARAVAN_BASE_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace caravan::base {

// The whole file. NotFound, PermissionDenied, or InvalidArgument when it is longer than `limit`
// bytes or not a regular file (a device would never end).
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t limit);

// `path` itself when it is a file; the regular files in it, sorted by name, when it is a folder.
absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& path);

// Writes all of `bytes` where `fd` stands: 0, or the error number.
int WriteAll(int fd, std::string_view bytes);

}  // namespace caravan::base

#endif  // CARAVAN_BASE_FILE_H_
