// SPDX-License-Identifier: Apache-2.0
//
// The reduction kernels of each instruction set, so that tests can hold them against each other.
// Internal to this folder.
#ifndef CARAVAN_COLLECTIVE_REDUCE_REDUCE_KERNELS_H_
#define CARAVAN_COLLECTIVE_REDUCE_REDUCE_KERNELS_H_

#include <cstddef>

#include "collective/types.h"

namespace caravan::collective {

enum class InstructionSet { kBaseline, kAvx2, kAvx512 };

using ReduceKernel = void (*)(const void* a, const void* b, void* out, size_t count);
using AverageKernel = void (*)(const void* in, void* out, size_t count, int ranks);

// Whether this CPU and operating system can run the set.
bool Supported(InstructionSet set);
// The best supported one.
InstructionSet BestInstructionSet();

// Null when `type` or `op` is out of range.
ReduceKernel ReduceKernelFor(InstructionSet set, DataType type, ReduceOp op);
AverageKernel AverageKernelFor(InstructionSet set, DataType type);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_REDUCE_REDUCE_KERNELS_H_
