// SPDX-License-Identifier: Apache-2.0
//
// For tests: the members of one communicator without an engine: each one's state, one lane between
// every two over real sockets, made-up keys. The test moves them.
#ifndef CARAVAN_DAEMON_ENGINE_GROUP_TESTING_H_
#define CARAVAN_DAEMON_ENGINE_GROUP_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/types.h"
#include "daemon/engine/group_state.h"
#include "daemon/engine/shared_memory.h"

namespace caravan::engine {

class GroupsForTest {
 public:
  // `socket_buffer`: bytes of the sockets' buffers, 0: the kernel's choice.
  explicit GroupsForTest(int size, int socket_buffer = 0);

  GroupState& state(int rank) { return *states_[rank]; }
  Lane& lane(int rank, int peer);
  // Closes the rank's end of all of its lanes.
  void Leave(int rank) { states_[rank]->CloseLanes(); }

  // An operation of `rank` that may run at once; its input is 1, 2, 3 … in bytes, its output zeros.
  Operation& Begin(int rank, const collective::OperationSpec& spec);
  std::vector<uint8_t> InputOf(const Operation& operation) const;
  std::vector<uint8_t> OutputOf(const Operation& operation) const;

  // What `from` put into its lane to `to`, taken out of the socket.
  std::string Drain(int from, int to);
  // As if `from` had sent it to `to`. All of it must fit into the socket.
  void Inject(int from, int to, const std::string& bytes);

 private:
  std::unique_ptr<crypto::RecordCipherFactory> ciphers_;
  std::vector<std::unique_ptr<GroupState>> states_;
};

// Elements are floats, the algorithm is chosen already, chunks are of 16 KiB.
collective::OperationSpec SpecForTest(collective::Operation op, uint64_t count,
                                      collective::Algorithm algorithm);

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_GROUP_TESTING_H_
