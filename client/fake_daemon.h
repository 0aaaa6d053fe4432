// SPDX-License-Identifier: Apache-2.0
//
// A daemon in the test's own process: real sockets, real shared memory, no peers. It copies an
// operation's input to its output, as a communicator of one rank would.
#ifndef CARAVAN_CLIENT_FAKE_DAEMON_H_
#define CARAVAN_CLIENT_FAKE_DAEMON_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/caravan/v1/memory_socket.h"
#include "proto/caravan/v1/shared_ring.h"

namespace caravan::client {

class FakeDaemon {
 public:
  struct Options {
    // Changes the answer to hello, or any other, before it is sent.
    std::function<void(v1::MemoryRequestKind, v1::MemoryReply&)> edit_reply;
    // Changes a fresh ring before the application sees it.
    std::function<void(v1::SharedRing&)> edit_ring;
    // Runs on the ring's thread in place of a completion. Returns the code to complete with.
    std::function<uint32_t(v1::SharedRing&, const v1::SubmitEntry&)> on_operation;
    bool send_descriptor = true;
    bool seal = true;
    bool answer_hello = true;
    bool refuse = false;  // answers and closes without reading, as for a foreign user
    bool answer_abort = true;
    absl::Status create_status;  // what CreateCommunicator answers
    uint64_t max_bytes = 1 << 26;
  };
  // Listens in a folder of its own.
  static std::unique_ptr<FakeDaemon> Start(Options options);
  virtual ~FakeDaemon() = default;

  virtual const std::string& runtime_dir() const = 0;
  // Leaves operations in the rings until Release().
  virtual void Hold() = 0;
  virtual void Release() = 0;
  // Marks every ring as failed, then fails what is outstanding.
  virtual void FailRings(const absl::Status& reason) = 0;
  // Ends everything at once, as SIGKILL would: no completion, no answer.
  virtual void Die() = 0;
  virtual uint64_t buffers() const = 0;
  virtual uint64_t communicators() const = 0;
  virtual uint64_t applications() const = 0;
  virtual std::vector<std::string> abort_reasons() const = 0;
};

}  // namespace caravan::client

#endif  // CARAVAN_CLIENT_FAKE_DAEMON_H_
