// SPDX-License-Identifier: Apache-2.0
//
// Send and Recv: the two ends of one transfer under the pair's key.
#include "collective/algorithms/halves.h"

namespace caravan::collective {

void SendRecv(PlanBuilder& builder) {
  const Blocks vector = Blocks::Uniform(builder.spec(), 1);
  const bool sends = builder.spec().op == Operation::kSend;
  const uint16_t own = builder.Neighbour(0);
  const uint16_t peer = builder.spec().peer;
  for (uint32_t c = 0; c < vector.max_chunks(); ++c) {
    const RecordName record = {sends ? own : peer,  sends ? peer : own, 0, c,
                               vector.max_chunks(), vector.Bytes(0, c)};
    const uint64_t offset = vector.Offset(0, c);
    if (sends) {
      builder.Seal(record, {Place::kInput, offset}, {&peer, 1});
    } else {
      builder.Open(record, peer, {Place::kOutput, offset});
    }
  }
}

}  // namespace caravan::collective
