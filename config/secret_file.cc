// SPDX-License-Identifier: Apache-2.0
#include "config/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/descriptor.h"

namespace caravan::config {
namespace {

absl::StatusOr<crypto::SecretBytes> ReadAll(int fd, const std::string& path, size_t least,
                                            size_t most) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  }
  if ((info.st_mode & S_IROTH) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " holds a secret that anybody may read: chmod 600 it"));
  }
  size_t size = static_cast<size_t>(info.st_size);
  if (size < least || size > most) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", size, " bytes, expected ", least, " to ", most));
  }
  absl::StatusOr<crypto::SecretBytes> secret = crypto::SecretBytes::Zero(size);
  if (!secret.ok()) return secret.status();
  absl::Span<uint8_t> rest = secret->ExposeMutable();
  while (!rest.empty()) {
    ssize_t n = read(fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
    if (n == 0) return absl::InvalidArgumentError(absl::StrCat(path, " shrank while it was read"));
    rest.remove_prefix(n);
  }
  return secret;
}

}  // namespace

absl::StatusOr<crypto::SecretBytes> ReadSecretFile(const std::string& path, size_t least,
                                                   size_t most) {
  const base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  return ReadAll(file.get(), path, least, most);
}

}  // namespace caravan::config
