// SPDX-License-Identifier: Apache-2.0
//
// The sequence numbers of a communicator: one count for collectives, one for each direction of each
// pair.
#ifndef CARAVAN_DAEMON_ENGINE_SEQUENCES_H_
#define CARAVAN_DAEMON_ENGINE_SEQUENCES_H_

#include <cstdint>
#include <vector>

#include "collective/types.h"

namespace caravan::engine {

class Sequences {
 public:
  explicit Sequences(uint16_t size) : send_(size, 0), receive_(size, 0) {}

  static bool IsCollective(const collective::OperationSpec& spec) {
    return spec.op != collective::Operation::kSend && spec.op != collective::Operation::kRecv;
  }
  // The number of the next operation of this kind; the one after it gets the next.
  uint64_t Take(const collective::OperationSpec& spec) {
    if (IsCollective(spec)) return collective_++;
    const bool sends = spec.op == collective::Operation::kSend;
    return (sends ? send_ : receive_)[spec.peer]++;
  }
  uint64_t next_collective() const { return collective_; }
  uint64_t next_receive(uint16_t source) const { return receive_[source]; }

 private:
  uint64_t collective_ = 0;
  std::vector<uint64_t> send_;     // by destination
  std::vector<uint64_t> receive_;  // by source
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_SEQUENCES_H_
