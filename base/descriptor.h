// SPDX-License-Identifier: Apache-2.0
//
// A file descriptor with an owner.
#ifndef CARAVAN_BASE_DESCRIPTOR_H_
#define CARAVAN_BASE_DESCRIPTOR_H_

#include <utility>

namespace caravan::base {

// Closes on destruction; -1 is none. Move-only.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives the descriptor away: the caller owns it.
  int Release() { return std::exchange(fd_, -1); }
  // Closes it now. errno stays as it is.
  void Reset();
  // Closes it now: 0, or the error number, for files whose last bytes may fail here.
  int Close();

 private:
  int fd_ = -1;
};

}  // namespace caravan::base

#endif  // CARAVAN_BASE_DESCRIPTOR_H_
