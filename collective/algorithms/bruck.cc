// SPDX-License-Identifier: Apache-2.0
//
// All-to-all in ⌈log2 p⌉ rounds, for small blocks: a block for the rank d places on goes 2^k places
// in round k for each bit k of d, the lowest first. It is sealed once under the pair's own key, and
// the ranks between forward what they cannot open.
//
// Why it cannot lock up: as in doubling.cc. What came in round k is held in a slot of class k and
// goes on in a later round, over a lane that carries records of that round alone; what came in the
// last round is at its end.
#include <algorithm>
#include <bit>

#include "collective/algorithms/halves.h"
#include "collective/cost/cost.h"

namespace caravan::collective {
namespace {

int LowestBit(int distance) { return distance & -distance; }

int HighestBit(int distance) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(distance)));
}

class Bruck {
 public:
  explicit Bruck(PlanBuilder& builder)
      : builder_(builder), block_(Blocks::Uniform(builder.spec(), 1)), own_(builder.Neighbour(0)) {}

  void AddChunk(uint32_t c) {
    // What others wait for goes before what only starts here.
    for (int distance = 1; distance < builder_.size(); ++distance) AddRelays(c, distance);
    for (int distance = 1; distance < builder_.size(); ++distance) {
      const uint16_t destination = builder_.Neighbour(distance);
      const uint16_t next = builder_.Neighbour(LowestBit(distance));
      builder_.Seal(Record(own_, destination, c), At(Place::kInput, destination, c), {&next, 1});
    }
    builder_.Local(block_.Bytes(0, c), At(Place::kInput, own_, c), At(Place::kOutput, own_, c));
    for (int distance = 1; distance < builder_.size(); ++distance) {
      const uint16_t source = builder_.Neighbour(-distance);
      builder_.Open(Record(source, own_, c), builder_.Neighbour(-HighestBit(distance)),
                    At(Place::kOutput, source, c));
    }
  }

  uint32_t chunks() const { return block_.max_chunks(); }

 private:
  // Blocks for `distance` places on that pass through here, by how far they have come.
  void AddRelays(uint32_t c, int distance) {
    int gone = 0;
    for (int left = distance; left != LowestBit(left);) {
      const int hop = LowestBit(left);
      gone += hop;
      left -= hop;
      const uint16_t next = builder_.Neighbour(LowestBit(left));
      builder_.Relay(Record(builder_.Neighbour(-gone), builder_.Neighbour(left), c),
                     builder_.Neighbour(-hop), {&next, 1},
                     std::countr_zero(static_cast<unsigned>(hop)));
    }
  }

  RecordName Record(uint16_t source, uint16_t destination, uint32_t c) const {
    return {source, destination, 0, c, block_.max_chunks(), block_.Bytes(0, c)};
  }

  Region At(Place place, uint16_t block, uint32_t c) const {
    return {place, block * block_.bytes(0) + block_.OffsetInBlock(c)};
  }

  PlanBuilder& builder_;
  const Blocks block_;
  const uint16_t own_;
};

}  // namespace

void BruckForwardAllToAll(PlanBuilder& builder) {
  Bruck bruck(builder);
  for (uint32_t c = 0; c < bruck.chunks(); ++c) bruck.AddChunk(c);
  const uint32_t rounds = RoundsOfDoubling(builder.size());
  if (rounds > 1) builder.SetForwardSlots(kTreeSlots, rounds - 1);
}

}  // namespace caravan::collective
