// SPDX-License-Identifier: Apache-2.0
//
// What a collective should give, computed without plans. Floats are reduced in the order that the
// algorithm promises, so results compare bit for bit.
#ifndef CARAVAN_COLLECTIVE_SIMULATE_REFERENCE_H_
#define CARAVAN_COLLECTIVE_SIMULATE_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "collective/types.h"

namespace caravan::collective {

using Bytes = std::vector<uint8_t>;

// `bytes` of numbers of `type`: small enough that no float overflows, whole range for integers.
Bytes RandomNumbersForTest(DataType type, uint64_t bytes, uint64_t seed);

// `specs[r]` is rank r's view (Send, Recv and AllToAllV differ), `inputs[r]` its input. Returns
// the outputs.
std::vector<Bytes> ExpectedOutputsForTest(const std::vector<OperationSpec>& specs,
                                          const std::vector<Bytes>& inputs);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_SIMULATE_REFERENCE_H_
