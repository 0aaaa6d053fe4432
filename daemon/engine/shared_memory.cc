// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace caravan::engine {

namespace {

uint64_t WholePages(uint64_t size) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SharedMemory>> SharedMemory::Create(const char* name,
                                                                   uint64_t size) {
  if (size == 0 || size > UINT64_MAX / 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared memory \"", name, "\" of ", size, " bytes: expected 1 to 2^63"));
  }
  const uint64_t mapped = WholePages(size);
  auto exhausted = [&](absl::string_view call) {
    return absl::ResourceExhaustedError(absl::StrCat("shared memory \"", name, "\" of ", size,
                                                     " bytes: ", call, ": ", std::strerror(errno)));
  };
  const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return exhausted("memfd_create");
  if (ftruncate(fd, static_cast<off_t>(mapped)) != 0) {
    auto status = exhausted("ftruncate");
    close(fd);
    return status;
  }
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    auto status = exhausted("sealing");
    close(fd);
    return status;
  }
  void* data = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    auto status = exhausted("mmap");
    close(fd);
    return status;
  }
  // Where the system allows it (shmem_enabled: advise), large buffers get huge pages: sealing a
  // vector that no cache holds waits for address translation. A refusal changes nothing else.
  madvise(data, mapped, MADV_HUGEPAGE);
  return std::shared_ptr<SharedMemory>(
      new SharedMemory(fd, static_cast<uint8_t*>(data), size, mapped));
}

SharedMemory::~SharedMemory() {
  munmap(data(), mapped_);
  close(fd_);
}

absl::StatusOr<uint32_t> BufferTable::Allocate(uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (buffers_.size() >= max_buffers_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this application has ", max_buffers_, " buffers, the most that it may have"));
  }
  if (size > max_bytes_ || WholePages(size) > max_bytes_ - bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a buffer of ", size, " bytes exceeds this application's share: ", max_bytes_ - bytes_,
        " of ", max_bytes_, " bytes are left"));
  }
  auto memory = SharedMemory::Create("caravan-buffer", size);
  if (!memory.ok()) return memory.status();
  while (next_ == 0 || buffers_.count(next_) != 0) ++next_;
  const uint32_t id = next_++;
  bytes_ += (*memory)->mapped();
  buffers_.emplace(id, std::move(*memory));
  return id;
}

absl::Status BufferTable::Free(uint32_t id) {
  std::shared_ptr<SharedMemory> memory;  // unmapped after the lock is released
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = buffers_.find(id);
  if (it == buffers_.end()) return absl::NotFoundError(absl::StrCat("no buffer ", id));
  memory = std::move(it->second);
  bytes_ -= memory->mapped();
  buffers_.erase(it);
  return absl::OkStatus();
}

std::shared_ptr<SharedMemory> BufferTable::Find(uint32_t id) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = buffers_.find(id);
  return it == buffers_.end() ? nullptr : it->second;
}

uint64_t BufferTable::bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace caravan::engine
