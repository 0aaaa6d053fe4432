// SPDX-License-Identifier: Apache-2.0
//
// Memory of the daemon, mapped into this process.
#ifndef CARAVAN_CLIENT_MAPPING_H_
#define CARAVAN_CLIENT_MAPPING_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "base/descriptor.h"

namespace caravan::client {

// A memfd mapped read-write and shared. Unmapped on destruction.
class Mapping {
 public:
  // Maps the first `size` bytes of `fd`. Internal when the descriptor is not sealed against
  // shrinking, or holds less than `size`: such memory could be pulled away while it is in use.
  // ResourceExhausted when the address space is used up.
  static absl::StatusOr<std::unique_ptr<Mapping>> Map(const base::Descriptor& fd, uint64_t size);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  Mapping(uint8_t* data, uint64_t size) : data_(data), size_(size) {}
  uint8_t* data_;
  uint64_t size_;
};

}  // namespace caravan::client

#endif  // CARAVAN_CLIENT_MAPPING_H_
