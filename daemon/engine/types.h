// SPDX-License-Identifier: Apache-2.0
//
// What an engine is given and what it tells: a communicator's configuration, faults, waits,
// figures.
#ifndef CARAVAN_DAEMON_ENGINE_TYPES_H_
#define CARAVAN_DAEMON_ENGINE_TYPES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collective/cost/selector.h"
#include "collective/plan/plan.h"
#include "crypto/key_tree.h"
#include "crypto/record.h"
#include "crypto/secret_bytes.h"
#include "daemon/engine/shared_memory.h"
#include "daemon/transport/data_connection.h"

namespace caravan::engine {

// What went wrong first at this rank. The engine stops the group and reports; it does not decide:
// the service agrees on one reason among the ranks and calls Fail().
struct Fault {
  absl::StatusCode code = absl::StatusCode::kInternal;
  uint16_t rank = 0;  // who reports
  uint16_t peer = 0;  // who is blamed; own rank for an application's fault
  uint64_t sequence = 0;
  uint16_t phase = 0;
  uint32_t chunk = 0;
  uint64_t bytes_done = 0;
  bool mismatch = false;  // the peer's record belongs to another operation than ours
  std::string message;    // whole sentence: names rank, peer, sequence, phase, chunk, bytes
  // DEADLINE: the members waited for, the blamed one first, and for how long. They may be waiting
  // themselves. Empty where it waits for none.
  std::vector<uint16_t> waits_for;
  absl::Duration waited;
};

// What holds up a member's oldest operation.
struct Wait {
  bool waits = false;  // false: nothing is outstanding
  // The members waited for, the own rank where there is none; empty while it moves.
  std::vector<uint16_t> peers;
  uint64_t sequence = 0;
  absl::Duration idle;    // without progress; since the last operation, or since it stands
  std::string operation;  // "allreduce(f32 × 1024, sum)", or which local rank has yet to call it
};

struct Peer {
  uint16_t rank = 0;
  std::string name;                              // for messages
  crypto::SecretBytes pair_parent_out;           // us → peer
  crypto::SecretBytes pair_parent_in;            // peer → us
  crypto::SecretBytes sender_parent;             // the peer's
  std::vector<transport::DataConnection> lanes;  // index = lane
};

// One of a node's own ranks: its application's ring and memory.
struct LocalRank {
  std::shared_ptr<SharedMemory> ring;  // holds a v1::SharedRing
  std::shared_ptr<BufferTable> buffers;
  int wake_fd = -1;  // eventfd that the application writes; a dup, owned
  // Set, and the eventfd written, when the rank leaves while others of the node stay; null: never.
  std::shared_ptr<const std::atomic<bool>> left = nullptr;
};

// One member's part of one epoch. Members are nodes; where several ranks share each (`local`), rank
// and size count nodes, here and wherever records and peers are named.
struct GroupConfig {
  crypto::EpochId epoch{};
  std::string name;
  uint16_t rank = 0;
  uint16_t size = 1;
  crypto::Suite suite = crypto::Suite::kAes256Gcm;
  int chunk_log2 = 17;
  absl::Duration deadline = absl::Seconds(30);  // an operation without progress for this long
  collective::SelectorTable selector;
  crypto::SecretBytes sender_parent;  // ours
  std::vector<Peer> peers;            // every other member
  std::vector<LocalRank> local;       // this node's ranks in their order, as many on every node
  // Called once, on the communicator's reactor, at the first local fault. Must not block, nor call
  // Remove() or List(); Fail() is fine.
  std::function<void(Fault)> on_fault;
};

struct GroupStatus {
  std::string name;
  crypto::EpochId epoch{};
  uint16_t rank = 0;   // the first of this node's
  uint16_t size = 0;   // ranks
  uint16_t local = 1;  // of them on this node
  std::string suite;   // "AES_256_GCM/ipsec-mb"
  uint32_t lanes = 0;  // a peer
  collective::SelectorTable selector;
  uint64_t operations = 0;        // completed
  collective::Counters expected;  // by the plans
  collective::Counters counted;   // in the AEAD and socket calls
  uint64_t tag_failures = 0;
  uint64_t memory_bytes = 0;  // wire buffers, forward slots, scratch
  absl::Status failure;       // OK while alive
};

// Called on the communicator's reactor before each seal and open: own rank, sequence, step. A test
// stops or kills somebody there. Communicators on several reactors call it at the same time.
using StepHook = std::function<void(uint16_t, uint64_t, const collective::Step&)>;

struct EngineOptions {
  crypto::RecordCipherFactory* ciphers = nullptr;  // outlives the engine; thread-safe
  int reactors = 0;                                // threads, 1 to 64; 0: Engine::DefaultReactors()
  absl::Duration spin = absl::Microseconds(50);    // before sleeping
  // Over the outstanding operations of a communicator, before another one is planned; a single
  // operation may be larger. A step takes some 120 bytes.
  uint64_t max_outstanding_steps = 1 << 22;
  StepHook step_hook;  // tests alone set one
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_TYPES_H_
