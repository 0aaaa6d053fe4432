// SPDX-License-Identifier: Apache-2.0
//
// What an algorithm costs: rounds and crypto depth, which no bandwidth buys back; the work of each
// rank in bytes and records; and, at the rates of a machine and a network, time.
//
// The time of an operation is that of the first record on its way through ranks that only pass it
// on, and then the longer of: one rank's rounds and its processor or link, whichever is busier; all
// work of a node's ranks on the processors that they share. Nothing is added to the latter for what
// a rank waits for, a core or a message: the others work meanwhile, and all their work is in it. It
// is a model: it knows no queue and no cache, and is there to tell algorithms apart.
#ifndef CARAVAN_COLLECTIVE_COST_COST_H_
#define CARAVAN_COLLECTIVE_COST_COST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "collective/types.h"

namespace caravan::collective {

struct Cost {
  uint32_t rounds = 0;        // records one after another on the longest path over all ranks
  uint32_t crypto_depth = 0;  // seal/open stages on it
};

// For `size` ranks (1 to 65534). One rank alone costs nothing.
Cost CostOf(Operation op, Algorithm algorithm, int size);

// ⌈log2 size⌉: the rounds of trees and of Bruck's algorithm.
uint32_t RoundsOfDoubling(int size);

// What a machine and its network take. The defaults are a server with AES-NI at 3 GHz and a network
// of 25 Gbit/s within one data centre; a daemon measures its own (daemon/engine/calibration.h).
struct Rates {
  double seal_ns_per_byte = 0.09;
  double open_ns_per_byte = 0.09;
  double record_ns = 400;           // to seal or to open one, or half of sending one on
  double key_ns = 1500;             // to derive a key and make its cipher
  double reduce_ns_per_byte = 0.1;  // f32 sums
  double copy_ns_per_byte = 0.06;
  double wire_ns_per_byte = 0.35;          // of the processors: half to send, half to receive
  double message_ns = 5000;                // of the processors: to send a short one and to get it
  double latency_ns = 12000;               // one way, from one rank's memory to the other's
  double link_bytes_per_second = 3.125e9;  // of a node, each way
  double cores = 8;                        // of a node, for daemons and applications together
  double ranks_per_node = 1;               // on each node, at most

  friend bool operator==(const Rates&, const Rates&) = default;
};

// InvalidArgument names a rate that is not positive, not finite or absurd.
absl::Status CheckRates(const Rates& rates);

// A rate by its name, for flags, messages and status replies: "seal_ns_per_byte", in declaration
// order.
struct NamedRate {
  const char* name;
  double Rates::*rate;
  const char* what;
};
const std::vector<NamedRate>& NamedRates();

// The work of one rank: payload bytes, records, keys.
struct Effort {
  double sealed = 0;
  double opened = 0;
  double sent = 0;  // to every target; forwarded records too
  double received = 0;
  double reduced = 0;
  double copied = 0;
  double records_sealed = 0;
  double records_opened = 0;
  double records_sent = 0;
  double records_forwarded = 0;  // of those sent: as they came
  double keys = 0;
  // Batches of records to or from one peer that go together: a system call each, at least. Only
  // LoadOf() counts them.
  double messages = 0;

  Effort& operator+=(const Effort& other);
  Effort operator*(double times) const;
  friend bool operator==(const Effort&, const Effort&) = default;
};

// Ranks that do alike.
struct Role {
  Effort effort;
  double ranks = 1;
};

// One operation by one algorithm over all ranks.
struct Load {
  std::vector<Role> roles;
  Cost path;
  // What other ranks than the busiest do to the first record, one after another, before it has
  // reached the last.
  Effort first_record;
};

// In closed form, for a vector of `bytes` in all (OperationSpec::WholeBytes) in blocks of one size.
Load LoadOf(Operation op, Algorithm algorithm, uint64_t bytes, int size, int chunk_log2 = 17);

// Nanoseconds of processor time.
double ProcessorNs(const Effort& effort, const Rates& rates);

struct Price {
  double total_ns = 0;
  double first_record_ns = 0;  // its way through other ranks
  double rounds_ns = 0;        // the rounds' latency
  double processor_ns = 0;     // of the busiest rank
  double link_ns = 0;
  double shared_ns = 0;  // of a node's processors, for all its ranks
};
// For `size` ranks.
Price PriceOf(const Load& load, const Rates& rates, int size);
// The price of an operation in closed form.
Price PriceOf(Operation op, Algorithm algorithm, uint64_t bytes, int size, const Rates& rates,
              int chunk_log2 = 17);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_COST_COST_H_
