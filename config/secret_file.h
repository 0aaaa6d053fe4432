// SPDX-License-Identifier: Apache-2.0
#ifndef CARAVAN_CONFIG_SECRET_FILE_H_
#define CARAVAN_CONFIG_SECRET_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "crypto/secret_bytes.h"

namespace caravan::config {

// Reads a whole file straight into secret memory. InvalidArgument: shorter or longer than allowed,
// or no regular file. PermissionDenied: others than its owner and group may read it. NotFound.
absl::StatusOr<crypto::SecretBytes> ReadSecretFile(const std::string& path, size_t least,
                                                   size_t most);

}  // namespace caravan::config

#endif  // CARAVAN_CONFIG_SECRET_FILE_H_
