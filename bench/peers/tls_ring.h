// SPDX-License-Identifier: Apache-2.0
//
// A ring allreduce with a TLS 1.3 connection per hop: what "just use TLS" gives. Every byte is
// sealed and opened at each of 2(p-1) hops.
#ifndef CARAVAN_BENCH_PEERS_TLS_RING_H_
#define CARAVAN_BENCH_PEERS_TLS_RING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace caravan::bench {

class TlsSocket;

// Not thread-safe.
class TlsRing {
 public:
  // Connects rank to its neighbours. `listeners[r]` is rank r's listening socket and `ports[r]`
  // its port on 127.0.0.1; both are made before the ranks part.
  static absl::StatusOr<std::unique_ptr<TlsRing>> Connect(int rank,
                                                          const std::vector<int>& listeners,
                                                          const std::vector<uint16_t>& ports);
  ~TlsRing();

  // data[i] = sum over all ranks, in place. Both directions always progress: no size deadlocks.
  absl::Status AllReduce(float* data, size_t count);

 private:
  // One of the 2(p-1) hops: which elements leave and which arrive.
  struct Hop {
    size_t send_first, send_count, recv_first, recv_count;
    bool reduce;
  };
  struct Cursor {
    size_t hop = 0;
    size_t done = 0;  // bytes of this hop
  };

  TlsRing(int rank, int size);
  std::vector<Hop> PlanHops(size_t count) const;
  // Each moves what the socket takes now; true where it moved something.
  absl::StatusOr<bool> SendSome(const std::vector<Hop>& hops, const uint8_t* data);
  absl::StatusOr<bool> ReceiveSome(const std::vector<Hop>& hops, float* data);

  const int rank_;
  const int size_;
  std::unique_ptr<TlsSocket> next_;      // we send to it
  std::unique_ptr<TlsSocket> previous_;  // we receive from it
  Cursor sent_;
  Cursor received_;
  std::vector<uint8_t> scratch_;
  size_t scratch_used_ = 0;  // bytes of a partial element carried over
};

// Listening sockets on 127.0.0.1, one a rank, with the ports that the kernel chose.
absl::Status ListenAll(int ranks, std::vector<int>* listeners, std::vector<uint16_t>* ports);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_PEERS_TLS_RING_H_
