// SPDX-License-Identifier: Apache-2.0
//
// Each algorithm's work in closed form, as its file's steps have it.
#include <algorithm>
#include <bit>
#include <cmath>

#include "collective/cost/cost.h"

namespace caravan::collective {
namespace {

// One operation's quantities, in the names of the comments: m bytes in p blocks of b.
struct Sizes {
  double m;
  double b;
  double others;  // p − 1
  double chunk;
  double vector_records;  // of m
  double block_records;   // of b
};

double Records(double bytes, double chunk) { return std::max(1.0, std::ceil(bytes / chunk)); }

// `bytes` in `records`, each way as often as said.
Effort Seals(double bytes, double records) { return {.sealed = bytes, .records_sealed = records}; }
Effort Sends(double bytes, double records) { return {.sent = bytes, .records_sent = records}; }
// Received and opened; then copied, or reduced, into place.
Effort Opens(double bytes, double records) {
  return {.opened = bytes, .received = bytes, .records_opened = records};
}
Effort Copies(double bytes) { return {.copied = bytes}; }
Effort Reduces(double bytes) { return {.reduced = bytes}; }
// What forwarding takes, per record, of what is sent on as it came.
Effort Forwards(double records) { return {.records_forwarded = records}; }
Effort Keys(double keys) { return {.keys = keys}; }
Effort Messages(double messages) { return {.messages = messages}; }

Effort Sum(std::initializer_list<Effort> parts) {
  Effort sum;
  for (const Effort& part : parts) sum += part;
  return sum;
}

// Every rank seals something for each other, and opens as much.
Effort Exchange(const Sizes& s) {
  const double bytes = s.others * s.b;
  const double records = s.others * s.block_records;
  return Sum({Seals(bytes, records), Sends(bytes, records), Opens(bytes, records),
              Keys(2 * s.others), Messages(2 * s.others)});
}

// A block to every rank, sealed once.
Effort GatherHalf(const Sizes& s) {
  const double bytes = s.others * s.b;
  const double records = s.others * s.block_records;
  return Sum({Seals(s.b, s.block_records), Sends(bytes, records), Opens(bytes, records),
              Copies(bytes), Keys(1 + s.others), Messages(2 * s.others)});
}

// Messages of one rank, sent and got, in algorithms of ⌈log2 p⌉ rounds, each with a peer of its
// own: in round k goes what the rank had itself, at once, and what it got in each round before, as
// it comes. No more than there are records.
Effort DoublingMessages(int size, double records) {
  const double rounds = RoundsOfDoubling(size);
  return Messages(2 * std::min(rounds * (rounds + 1) / 2, records));
}

// A block round a ring, sealed again at each hop. Two keys: to the next, from the one before.
Effort RingHalf(const Sizes& s) {
  Effort effort = Exchange(s);
  effort.keys = 2;
  return effort;
}

// All blocks but the own one and the one that ends here.
Effort RingForwards(const Sizes& s) { return Forwards((s.others - 1) * s.block_records); }

std::vector<Role> AllReduce(Algorithm algorithm, const Sizes& s, double p) {
  const Effort reduces = Reduces(s.others * s.b);
  switch (algorithm) {
    case Algorithm::kDirect:
      return {{Sum({Exchange(s), reduces, GatherHalf(s)}), p}};
    case Algorithm::kRing:
      return {{Sum({RingHalf(s), reduces, RingHalf(s), Copies(s.others * s.b)}), p}};
    case Algorithm::kRingForward:
      return {{Sum({RingHalf(s), reduces, GatherHalf(s), RingForwards(s)}), p}};
    default:
      break;
  }
  // One-shot. Rank 0 sums into its output from the start; the others sum what comes before their
  // own in scratch.
  const double bytes = s.others * s.m;
  const double records = s.others * s.vector_records;
  const Effort all =
      Sum({Seals(s.m, s.vector_records), Sends(bytes, records), Opens(bytes, records),
           Reduces(bytes), Keys(1 + s.others), Messages(2 * s.others)});
  return {{Sum({all, Copies(2 * s.m)}), s.others}, {all, 1}};
}

Effort AllGather(Algorithm algorithm, const Sizes& s, int size) {
  Effort effort = Sum({GatherHalf(s), Copies(s.b)});
  if (algorithm == Algorithm::kRingForward) effort += RingForwards(s);
  if (algorithm == Algorithm::kDoublingForward) {
    // The own block goes out in each round, the others' in what is left.
    effort.records_forwarded = (s.others - RoundsOfDoubling(size)) * s.block_records;
    effort.messages = DoublingMessages(size, s.others).messages;
  }
  return effort;
}

std::vector<Role> Broadcast(Algorithm algorithm, const Sizes& s, double p) {
  const double n = s.vector_records;
  const Effort root = Sum({Seals(s.m, n), Copies(s.m), Keys(1)});
  const Effort reader = Sum({Opens(s.m, n), Copies(s.m), Keys(1), Messages(1)});
  const auto sends = [&](double times) {
    return Sum({Sends(times * s.m, times * n), Messages(times)});
  };
  if (algorithm == Algorithm::kDirect) {
    return {{Sum({root, sends(s.others)}), 1}, {reader, s.others}};
  }
  const auto passes = [&](double times) {
    return Sum({reader, sends(times), Forwards(times * n)});
  };
  if (algorithm == Algorithm::kChainForward) {
    return {{Sum({root, sends(1)}), 1}, {passes(1), s.others - 1}, {reader, 1}};
  }
  // Binomial: the root hands it to ⌈log2 p⌉ ranks, the first of them to one fewer than its subtree
  // would have; the others share what is left.
  const int size = static_cast<int>(p);
  const double root_sends = RoundsOfDoubling(size);
  const double first_sends = size < 3 ? 0.0 : RoundsOfDoubling(size - 1) - 1.0;
  const double rest = s.others - 1;
  const double rest_sends = rest > 0 ? (s.others - root_sends - first_sends) / rest : 0;
  return {
      {Sum({root, sends(root_sends)}), 1}, {passes(first_sends), 1}, {passes(rest_sends), rest}};
}

std::vector<Role> Reduce(Algorithm algorithm, const Sizes& s) {
  const double n = s.vector_records;
  const Effort leaf = Sum({Seals(s.m, n), Sends(s.m, n), Keys(1), Messages(1)});
  if (algorithm == Algorithm::kDirect) {
    return {{Sum({Opens(s.others * s.m, s.others * n), Reduces(s.others * s.m), Keys(s.others),
                  Messages(s.others)}),
             1},
            {leaf, s.others}};
  }
  const Effort root = Sum({Opens(s.m, n), Reduces(s.m), Keys(1), Messages(1)});
  return {{leaf, 1}, {Sum({leaf, root}), s.others - 1}, {root, 1}};
}

// Gather, or scatter the other way round.
std::vector<Role> ToOrFromRoot(Operation op, const Sizes& s) {
  const double bytes = s.others * s.b;
  const double records = s.others * s.block_records;
  if (op == Operation::kGather) {
    return {{Sum({Opens(bytes, records), Copies(s.m), Keys(s.others), Messages(s.others)}), 1},
            {Sum({Seals(s.b, s.block_records), Sends(s.b, s.block_records), Keys(1), Messages(1)}),
             s.others}};
  }
  return {{Sum({Seals(bytes, records), Sends(bytes, records), Copies(s.b), Keys(s.others),
                Messages(s.others)}),
           1},
          {Sum({Opens(s.b, s.block_records), Copies(s.b), Keys(1), Messages(1)}), s.others}};
}

Effort AllToAll(Algorithm algorithm, const Sizes& s, int size) {
  Effort effort = Sum({Exchange(s), Copies(s.m)});
  if (algorithm != Algorithm::kBruckForward) return effort;
  double hops = 0;
  for (int distance = 1; distance < size; ++distance) {
    hops += std::popcount(static_cast<unsigned>(distance));
  }
  effort.sent = effort.received = hops * s.b;
  effort.records_sent = hops * s.block_records;
  effort.messages = DoublingMessages(size, hops).messages;
  effort.records_forwarded = (hops - s.others) * s.block_records;
  return effort;
}

// What the ranks do to the first record that are not the busiest one.
Effort FirstRecord(Operation op, Algorithm algorithm, const Sizes& s, const Cost& path) {
  const double bytes = std::min(HasRoot(op) && CountsBlocks(op) ? s.b : s.m, s.chunk);
  const Effort pass = Sum({Sends(bytes, 1), Effort{.received = bytes}, Forwards(1), Messages(2)});
  switch (op) {
    case Operation::kBroadcast:
      // Passed on at each hop but the last, where it is opened.
      return Sum(
          {pass * (path.rounds - 1.0), Opens(bytes, 1), Copies(bytes), Keys(1), Messages(1)});
    case Operation::kReduce: {
      const Effort seal = Sum({Seals(bytes, 1), Sends(bytes, 1), Keys(1), Messages(1)});
      if (algorithm != Algorithm::kRing) return seal;
      const Effort hop = Sum({seal, Opens(bytes, 1), Reduces(bytes), Keys(1), Messages(1)});
      return Sum({seal, hop * (path.rounds - 1.0)});
    }
    case Operation::kGather:
    case Operation::kSend:
    case Operation::kRecv:
      return Sum({Seals(bytes, 1), Sends(bytes, 1), Keys(1), Messages(1)});
    case Operation::kScatter:
      return Sum({Opens(bytes, 1), Copies(bytes), Keys(1), Messages(1)});
    default:
      return {};
  }
}

}  // namespace

Effort& Effort::operator+=(const Effort& other) {
  sealed += other.sealed;
  opened += other.opened;
  sent += other.sent;
  received += other.received;
  reduced += other.reduced;
  copied += other.copied;
  records_sealed += other.records_sealed;
  records_opened += other.records_opened;
  records_sent += other.records_sent;
  records_forwarded += other.records_forwarded;
  keys += other.keys;
  messages += other.messages;
  return *this;
}

Effort Effort::operator*(double times) const {
  return {sealed * times,         opened * times,
          sent * times,           received * times,
          reduced * times,        copied * times,
          records_sealed * times, records_opened * times,
          records_sent * times,   records_forwarded * times,
          keys * times,           messages * times};
}

Load LoadOf(Operation op, Algorithm algorithm, uint64_t bytes, int size, int chunk_log2) {
  Load load;
  if (size < 2) return load;
  const double p = size;
  const double chunk = std::ldexp(1.0, chunk_log2);
  const double m = static_cast<double>(bytes);
  const Sizes s = {m, m / p, p - 1, chunk, Records(m, chunk), Records(m / p, chunk)};
  load.path = CostOf(op, algorithm, size);
  switch (op) {
    case Operation::kAllReduce:
      load.roles = AllReduce(algorithm, s, p);
      break;
    case Operation::kAllGather:
    case Operation::kAllGatherV:
      load.roles = {{AllGather(algorithm, s, size), p}};
      break;
    case Operation::kReduceScatter:
      load.roles = {{Sum({algorithm == Algorithm::kRing ? RingHalf(s) : Exchange(s),
                          Reduces(s.others * s.b)}),
                     p}};
      break;
    case Operation::kBroadcast:
      load.roles = Broadcast(algorithm, s, p);
      break;
    case Operation::kReduce:
      load.roles = Reduce(algorithm, s);
      break;
    case Operation::kGather:
    case Operation::kScatter:
      load.roles = ToOrFromRoot(op, s);
      break;
    case Operation::kAllToAll:
    case Operation::kAllToAllV:
      load.roles = {{AllToAll(algorithm, s, size), p}};
      break;
    case Operation::kSend:
    case Operation::kRecv:
      load.roles = {
          {Sum({Seals(m, s.vector_records), Sends(m, s.vector_records), Keys(1), Messages(1)}), 1},
          {Sum({Opens(m, s.vector_records), Copies(m), Keys(1), Messages(1)}), 1}};
      break;
    case Operation::kBarrier:
      load.roles = {{Exchange(s), p}};
      break;
  }
  load.first_record = FirstRecord(op, algorithm, s, load.path);
  return load;
}

}  // namespace caravan::collective
