// SPDX-License-Identifier: Apache-2.0
//
// Files that appear whole or not at all, and locks that die with their holder.
#ifndef CARAVAN_COLLATERAL_FILES_H_
#define CARAVAN_COLLATERAL_FILES_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/descriptor.h"

namespace caravan::collateral {

// Makes the folder (0755) unless it is there. Errors name the path, as all here do.
absl::Status MakeFolder(const std::string& path);

// Writes `bytes` to a file of its own in `scratch`, on the same file system, and renames it to
// `path` once it is on disk.
absl::Status WriteWhole(const std::string& scratch, const std::string& path,
                        absl::string_view bytes);
// The folder's entries are on disk.
absl::Status SyncFolder(const std::string& path);

// Deletes regular files in `folder` that `is_ours` takes and whose last change lies over ten
// minutes before that of `than`: whoever was reading or writing them has ended.
void DeleteOlder(const std::string& folder, const std::string& than,
                 const std::function<bool(const std::string& name)>& is_ours);

// A descriptor that holds an exclusive lock on the file, which is made; -1 when another holds it
// and `wait` is false. Closing it releases the lock.
absl::StatusOr<base::Descriptor> LockFile(const std::string& path, bool wait);

}  // namespace caravan::collateral

#endif  // CARAVAN_COLLATERAL_FILES_H_
