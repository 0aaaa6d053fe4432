// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace caravan::base {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

void Descriptor::Reset() {
  const int error = errno;
  (void)Close();
  errno = error;
}

int Descriptor::Close() {
  const int fd = Release();
  return fd >= 0 && ::close(fd) != 0 ? errno : 0;
}

}  // namespace caravan::base
