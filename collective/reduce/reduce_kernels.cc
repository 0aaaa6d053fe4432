// SPDX-License-Identifier: Apache-2.0
#include "collective/reduce/reduce_kernels.h"

#include <cpuid.h>

#include <cstdint>

#include "collective/reduce/half_codecs.h"
#include "collective/reduce/reduce_loops.h"

namespace caravan::collective {
namespace {

// One set of entry points for each instruction set: the attribute must stand on the functions
// themselves, hence the macro.
#define CARAVAN_KERNELS(NAME, TARGET, FLOAT16_CODEC)                                       \
  struct NAME {                                                                            \
    using Float16 = FLOAT16_CODEC;                                                         \
    template <typename T, typename Op>                                                     \
    TARGET static void Reduce(const void* a, const void* b, void* out, size_t count) {     \
      ReduceLoop<T, Op>(a, b, out, count);                                                 \
    }                                                                                      \
    template <typename Codec, typename Op>                                                 \
    TARGET static void ReduceHalf(const void* a, const void* b, void* out, size_t count) { \
      ReduceHalves<Codec, Op>(a, b, out, count);                                           \
    }                                                                                      \
    template <typename T>                                                                  \
    TARGET static void Average(const void* in, void* out, size_t count, int ranks) {       \
      AverageLoop<T>(in, out, count, ranks);                                               \
    }                                                                                      \
    template <typename Codec>                                                              \
    TARGET static void AverageHalf(const void* in, void* out, size_t count, int ranks) {   \
      AverageHalves<Codec>(in, out, count, ranks);                                         \
    }                                                                                      \
  }

#define CARAVAN_BASELINE
CARAVAN_KERNELS(Baseline, CARAVAN_BASELINE, Float16Codec);
CARAVAN_KERNELS(Avx2, CARAVAN_AVX2, Float16CodecAvx2);
CARAVAN_KERNELS(Avx512, CARAVAN_AVX512, Float16CodecAvx512);

template <typename Set, typename Op>
ReduceKernel KernelOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return &Set::template ReduceHalf<typename Set::Float16, Op>;
    case DataType::kBfloat16:
      return &Set::template ReduceHalf<Bfloat16Codec, Op>;
    case DataType::kFloat32:
      return &Set::template Reduce<float, Op>;
    case DataType::kFloat64:
      return &Set::template Reduce<double, Op>;
    case DataType::kInt32:
      return &Set::template Reduce<int32_t, Op>;
    case DataType::kInt64:
      return &Set::template Reduce<int64_t, Op>;
    case DataType::kInt8:
      return &Set::template Reduce<int8_t, Op>;
    case DataType::kUint8:
      return &Set::template Reduce<uint8_t, Op>;
    case DataType::kInt16:
      return &Set::template Reduce<int16_t, Op>;
    case DataType::kUint16:
      return &Set::template Reduce<uint16_t, Op>;
    case DataType::kUint32:
      return &Set::template Reduce<uint32_t, Op>;
    case DataType::kUint64:
      return &Set::template Reduce<uint64_t, Op>;
  }
  return nullptr;
}

template <typename Set>
ReduceKernel KernelOf(DataType type, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return KernelOf<Set, SumOf>(type);
    case ReduceOp::kProd:
      return KernelOf<Set, ProductOf>(type);
    case ReduceOp::kMin:
      return KernelOf<Set, MinOf>(type);
    case ReduceOp::kMax:
      return KernelOf<Set, MaxOf>(type);
  }
  return nullptr;
}

template <typename Set>
AverageKernel AverageOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return &Set::template AverageHalf<typename Set::Float16>;
    case DataType::kBfloat16:
      return &Set::template AverageHalf<Bfloat16Codec>;
    case DataType::kFloat32:
      return &Set::template Average<float>;
    case DataType::kFloat64:
      return &Set::template Average<double>;
    case DataType::kInt32:
      return &Set::template Average<int32_t>;
    case DataType::kInt64:
      return &Set::template Average<int64_t>;
    case DataType::kInt8:
      return &Set::template Average<int8_t>;
    case DataType::kUint8:
      return &Set::template Average<uint8_t>;
    case DataType::kInt16:
      return &Set::template Average<int16_t>;
    case DataType::kUint16:
      return &Set::template Average<uint16_t>;
    case DataType::kUint32:
      return &Set::template Average<uint32_t>;
    case DataType::kUint64:
      return &Set::template Average<uint64_t>;
  }
  return nullptr;
}

// Clang 14's __builtin_cpu_supports does not know F16C.
bool HasF16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

bool Supported(InstructionSet set) {
  switch (set) {
    case InstructionSet::kBaseline:
      return true;
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") && HasF16c();
    case InstructionSet::kAvx512:
      return Supported(InstructionSet::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  }
  return false;
}

InstructionSet BestInstructionSet() {
  for (const InstructionSet set : {InstructionSet::kAvx512, InstructionSet::kAvx2}) {
    if (Supported(set)) return set;
  }
  return InstructionSet::kBaseline;
}

ReduceKernel ReduceKernelFor(InstructionSet set, DataType type, ReduceOp op) {
  switch (set) {
    case InstructionSet::kBaseline:
      return KernelOf<Baseline>(type, op);
    case InstructionSet::kAvx2:
      return KernelOf<Avx2>(type, op);
    case InstructionSet::kAvx512:
      return KernelOf<Avx512>(type, op);
  }
  return nullptr;
}

AverageKernel AverageKernelFor(InstructionSet set, DataType type) {
  switch (set) {
    case InstructionSet::kBaseline:
      return AverageOf<Baseline>(type);
    case InstructionSet::kAvx2:
      return AverageOf<Avx2>(type);
    case InstructionSet::kAvx512:
      return AverageOf<Avx512>(type);
  }
  return nullptr;
}

}  // namespace caravan::collective
