// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/descriptor.h"

namespace caravan::base {
namespace {

absl::Status Failed(absl::string_view doing, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", doing, " ", path));
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t limit) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return Failed("open", path);
  struct stat info;
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  }
  std::string out;
  char buffer[65536];
  ssize_t n = 0;
  do {
    n = read(file.get(), buffer, sizeof(buffer));
    if (n > 0) out.append(buffer, n);
  } while ((n > 0 && out.size() <= limit) || (n < 0 && errno == EINTR));
  if (n < 0) return Failed("read", path);
  if (out.size() > limit) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is longer than the ", limit, " bytes that are read"));
  }
  return out;
}

absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return Failed("open", path);
  if (!S_ISDIR(info.st_mode)) return std::vector<std::string>{path};
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) return Failed("list", path);
  std::vector<std::string> files;
  while (dirent* entry = readdir(folder)) {
    std::string child = absl::StrCat(path, "/", entry->d_name);
    if (stat(child.c_str(), &info) == 0 && S_ISREG(info.st_mode)) files.push_back(child);
  }
  closedir(folder);
  std::sort(files.begin(), files.end());
  return files;
}

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put > 0) {
      bytes.remove_prefix(static_cast<size_t>(put));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace caravan::base
