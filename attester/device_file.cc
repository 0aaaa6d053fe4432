// SPDX-License-Identifier: Apache-2.0
#include "attester/device_file.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/descriptor.h"

namespace caravan::attester {
absl::Status OpenError(const std::string& path, int error) {
  const std::string what = absl::StrCat(path, ": ");
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(absl::StrCat(
          what, "is not there: is this a confidential VM, with its guest driver loaded?"));
    case ENXIO:
    case ENODEV:
      return absl::NotFoundError(
          absl::StrCat(what, "has no driver behind it: load the guest's driver"));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(
          absl::StrCat(what, "not permitted: the daemon needs read and write access to it"));
    case EBUSY:
      return absl::UnavailableError(absl::StrCat(what, "another process holds it; try again"));
    default:
      return absl::InternalError(absl::StrCat(what, std::strerror(error)));
  }
}

absl::StatusOr<Ioctl> OpenDevice(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return OpenError(path, errno);
  auto descriptor = std::make_shared<base::Descriptor>(fd);
  struct stat info {};
  if (fstat(fd, &info) != 0) return OpenError(path, errno);
  if (!S_ISCHR(info.st_mode)) {
    return absl::NotFoundError(absl::StrCat(path, ": is no character device"));
  }
  return Ioctl([descriptor](unsigned long request, void* argument) {
    return ioctl(descriptor->get(), request, argument) < 0 ? errno : 0;
  });
}

}  // namespace caravan::attester
