// SPDX-License-Identifier: Apache-2.0
//
// Element-wise reductions over raw memory, vectorised for this CPU.
#ifndef CARAVAN_COLLECTIVE_REDUCE_REDUCE_H_
#define CARAVAN_COLLECTIVE_REDUCE_REDUCE_H_

#include <cstddef>
#include <cstdint>

#include "collective/types.h"

namespace caravan::collective {

// out[i] = a[i] ⊕ b[i] for `count` elements. Any two of the pointers may be equal; otherwise the
// ranges must not overlap. No alignment is needed. f16 and bf16 are widened to f32, reduced there
// and rounded to nearest-even once per call. Integers wrap. min and max of a NaN give NaN;
// of two equal values they give b (zeros of either sign are equal).
// kAvg sums; finish with Average().
void Reduce(DataType type, ReduceOp op, const void* a, const void* b, void* out, size_t count);

// out[i] = in[i] / ranks. Integers round toward zero.
void Average(DataType type, const void* in, void* out, size_t count, int ranks);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_REDUCE_REDUCE_H_
