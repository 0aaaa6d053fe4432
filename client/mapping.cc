// SPDX-License-Identifier: Apache-2.0
#include "client/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace caravan::client {

absl::StatusOr<std::unique_ptr<Mapping>> Mapping::Map(const base::Descriptor& fd, uint64_t size) {
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return absl::InternalError("the daemon's memory is not sealed against shrinking");
  }
  struct stat info;
  if (fstat(fd.get(), &info) != 0 || info.st_size < 0 ||
      static_cast<uint64_t>(info.st_size) < size) {
    return absl::InternalError(
        absl::StrCat("the daemon's memory holds less than the ", size, " bytes that it announced"));
  }
  if (size == 0) return absl::InternalError("the daemon announced memory of 0 bytes");
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("mapping ", size, " bytes of the daemon's memory: ", strerror(errno)));
  }
  // Who touches memory first decides its page size: the daemon asks for huge pages too.
  madvise(at, size, MADV_HUGEPAGE);
  return std::unique_ptr<Mapping>(new Mapping(static_cast<uint8_t*>(at), size));
}

Mapping::~Mapping() { munmap(data_, size_); }

}  // namespace caravan::client
