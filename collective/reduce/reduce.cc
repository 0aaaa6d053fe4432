// SPDX-License-Identifier: Apache-2.0
#include "collective/reduce/reduce.h"

#include "collective/reduce/reduce_kernels.h"

namespace caravan::collective {

void Reduce(DataType type, ReduceOp op, const void* a, const void* b, void* out, size_t count) {
  static const InstructionSet best = BestInstructionSet();
  const ReduceKernel kernel = ReduceKernelFor(best, type, op);
  if (kernel != nullptr && count > 0) kernel(a, b, out, count);
}

void Average(DataType type, const void* in, void* out, size_t count, int ranks) {
  static const InstructionSet best = BestInstructionSet();
  const AverageKernel kernel = AverageKernelFor(best, type);
  if (kernel != nullptr && count > 0) kernel(in, out, count, ranks);
}

}  // namespace caravan::collective
