// SPDX-License-Identifier: Apache-2.0
#include "collateral/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"

namespace caravan::collateral {
namespace {

constexpr time_t kGrace = 600;  // seconds

absl::Status Failed(absl::string_view doing, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", doing, " ", path));
}

absl::Status WriteSynced(int fd, absl::string_view bytes, const std::string& path) {
  if (base::WriteAll(fd, {bytes.data(), bytes.size()}) != 0) return Failed("write", path);
  // mkstemp's file is the owner's alone; collateral is public.
  if (fchmod(fd, 0644) != 0 || fsync(fd) != 0) return Failed("write", path);
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0) return absl::OkStatus();
  struct stat info;
  if (errno == EEXIST && stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(path, " is no folder"));
  }
  return Failed("make folder", path);
}

absl::Status WriteWhole(const std::string& scratch, const std::string& path,
                        absl::string_view bytes) {
  std::string partial = absl::StrCat(scratch, "/partial-XXXXXX");
  base::Descriptor file(mkostemp(partial.data(), O_CLOEXEC));
  if (!file.valid()) return Failed("write in", scratch);
  absl::Status status = WriteSynced(file.get(), bytes, partial);
  if (const int error = file.Close(); error != 0 && status.ok()) {
    status = absl::ErrnoToStatus(error, absl::StrCat("cannot write ", partial));
  }
  if (status.ok() && rename(partial.c_str(), path.c_str()) != 0) status = Failed("write", path);
  if (!status.ok()) unlink(partial.c_str());
  return status;
}

absl::Status SyncFolder(const std::string& path) {
  const base::Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return Failed("open", path);
  return fsync(folder.get()) == 0 ? absl::OkStatus() : Failed("sync", path);
}

void DeleteOlder(const std::string& folder, const std::string& than,
                 const std::function<bool(const std::string& name)>& is_ours) {
  struct stat newest;
  absl::StatusOr<std::vector<std::string>> files = base::ListFiles(folder);
  if (!files.ok() || stat(than.c_str(), &newest) != 0) return;
  for (const std::string& file : *files) {
    struct stat info;
    if (!is_ours(file.substr(file.rfind('/') + 1)) || stat(file.c_str(), &info) != 0) continue;
    if (info.st_mtime + kGrace < newest.st_mtime) unlink(file.c_str());
  }
}

absl::StatusOr<base::Descriptor> LockFile(const std::string& path, bool wait) {
  base::Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file.valid()) return Failed("open", path);
  while (flock(file.get(), LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return base::Descriptor();
    return Failed("lock", path);
  }
  return file;
}

}  // namespace caravan::collateral
