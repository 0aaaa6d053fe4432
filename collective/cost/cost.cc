// SPDX-License-Identifier: Apache-2.0
#include "collective/cost/cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace caravan::collective {
namespace {

// A record that is sent on is taken in and put out, with a buffer of its own between: the fixed
// cost of two.
constexpr double kForwardRecords = 2;

}  // namespace

uint32_t RoundsOfDoubling(int size) {
  return size < 2 ? 0 : static_cast<uint32_t>(std::bit_width(static_cast<unsigned>(size - 1)));
}

Cost CostOf(Operation op, Algorithm algorithm, int size) {
  if (size < 2) return {};
  const uint32_t hops = static_cast<uint32_t>(size - 1);
  const bool both_halves = op == Operation::kAllReduce;
  switch (algorithm) {
    case Algorithm::kDirect:
      return both_halves ? Cost{2, 2} : Cost{1, 1};
    case Algorithm::kRing:
      return both_halves ? Cost{2 * hops, 2 * hops} : Cost{hops, hops};
    case Algorithm::kRingForward:
      return both_halves ? Cost{2 * hops, hops + 1} : Cost{hops, 1};
    case Algorithm::kChainForward:
      return {hops, 1};
    case Algorithm::kOneShot:
      return {1, 1};
    case Algorithm::kDoublingForward:
    case Algorithm::kBinomialForward:
    case Algorithm::kBruckForward:
      return {RoundsOfDoubling(size), 1};
    case Algorithm::kAuto:
      break;
  }
  return {};
}

const std::vector<NamedRate>& NamedRates() {
  static const auto* const rates = new std::vector<NamedRate>{
      {"seal_ns_per_byte", &Rates::seal_ns_per_byte, "sealing a byte"},
      {"open_ns_per_byte", &Rates::open_ns_per_byte, "opening a byte"},
      {"record_ns", &Rates::record_ns,
       "sealing or opening a record, whatever its size; half of sending one on"},
      {"key_ns", &Rates::key_ns, "deriving a key"},
      {"reduce_ns_per_byte", &Rates::reduce_ns_per_byte, "adding a byte of f32"},
      {"copy_ns_per_byte", &Rates::copy_ns_per_byte, "copying a byte"},
      {"wire_ns_per_byte", &Rates::wire_ns_per_byte, "sending and receiving a byte"},
      {"message_ns", &Rates::message_ns, "sending and receiving a short message"},
      {"latency_ns", &Rates::latency_ns, "one way between two ranks"},
      {"link_bytes_per_second", &Rates::link_bytes_per_second, "a node's link, each way"},
      {"cores", &Rates::cores, "cores of a node"},
      {"ranks_per_node", &Rates::ranks_per_node, "ranks on a node"},
  };
  return *rates;
}

absl::Status CheckRates(const Rates& rates) {
  constexpr double kLeast = 1e-6;
  constexpr double kMost = 1e15;
  for (const NamedRate& named : NamedRates()) {
    const double value = rates.*named.rate;
    if (value >= kLeast && value <= kMost) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(named.name, ": ", value, " is not between ", kLeast, " and ", kMost));
  }
  if (rates.cores < 1 || rates.ranks_per_node < 1) {
    return absl::InvalidArgumentError("cores, ranks_per_node: each is at least 1");
  }
  return absl::OkStatus();
}

double ProcessorNs(const Effort& effort, const Rates& rates) {
  return effort.sealed * rates.seal_ns_per_byte + effort.opened * rates.open_ns_per_byte +
         (effort.records_sealed + effort.records_opened +
          kForwardRecords * effort.records_forwarded) *
             rates.record_ns +
         effort.keys * rates.key_ns + effort.reduced * rates.reduce_ns_per_byte +
         effort.copied * rates.copy_ns_per_byte +
         (effort.sent + effort.received) / 2 * rates.wire_ns_per_byte +
         effort.messages / 2 * rates.message_ns;
}

Price PriceOf(const Load& load, const Rates& rates, int size) {
  Price price;
  if (size < 2) return price;
  const double ranks = size;
  const double on_node = std::min(rates.ranks_per_node, ranks);
  double busiest = 0;
  double all = 0;
  double most_bytes = 0;
  for (const Role& role : load.roles) {
    if (role.ranks <= 0) continue;
    const double ns = ProcessorNs(role.effort, rates);
    busiest = std::max(busiest, ns);
    all += ns * role.ranks;
    most_bytes = std::max({most_bytes, role.effort.sent, role.effort.received});
  }
  price.processor_ns = busiest;
  price.shared_ns = all * on_node / ranks / rates.cores;
  // What stays on a node crosses no link.
  const double across = (ranks - on_node) / (ranks - 1);
  price.link_ns = most_bytes * on_node * across / rates.link_bytes_per_second * 1e9;
  price.rounds_ns = load.path.rounds * rates.latency_ns;
  price.first_record_ns = ProcessorNs(load.first_record, rates);
  price.total_ns = price.first_record_ns +
                   std::max(price.rounds_ns + std::max(busiest, price.link_ns), price.shared_ns);
  return price;
}

Price PriceOf(Operation op, Algorithm algorithm, uint64_t bytes, int size, const Rates& rates,
              int chunk_log2) {
  return PriceOf(LoadOf(op, algorithm, bytes, size, chunk_log2), rates, size);
}

}  // namespace caravan::collective
