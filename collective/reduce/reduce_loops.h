// SPDX-License-Identifier: Apache-2.0
//
// The loops behind every kernel. They are inlined into functions that name an instruction set,
// and the compiler vectorises them there. Internal to this folder.
#ifndef CARAVAN_COLLECTIVE_REDUCE_REDUCE_LOOPS_H_
#define CARAVAN_COLLECTIVE_REDUCE_REDUCE_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "collective/reduce/half_codecs.h"

// The output is one of the inputs or apart from both, so no iteration reads what another wrote.
#if defined(__clang__)
#define CARAVAN_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define CARAVAN_VECTORISE _Pragma("GCC ivdep")
#endif

namespace caravan::collective {

// A T at any address, of any effective type.
template <typename T>
struct Loose {
  typedef T Type __attribute__((aligned(1), may_alias));
};
template <typename T>
using Unaligned = typename Loose<T>::Type;

// What arithmetic of T is done in: narrow types would be promoted to int, whose products overflow.
template <typename T>
using Wrapping =
    std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;

// Integers wrap, as unsigned arithmetic does.
struct SumOf {
  template <typename T>
  static CARAVAN_INLINE T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using U = Wrapping<T>;
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};

struct ProductOf {
  template <typename T>
  static CARAVAN_INLINE T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using U = Wrapping<T>;
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    } else {
      return a * b;
    }
  }
};

// A NaN on the left is kept by the second test, one on the right by the failing comparison.
struct MinOf {
  template <typename T>
  static CARAVAN_INLINE T Apply(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};

struct MaxOf {
  template <typename T>
  static CARAVAN_INLINE T Apply(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};

template <typename T, typename Op>
CARAVAN_INLINE void ReduceLoop(const void* a, const void* b, void* out, size_t count) {
  const auto* left = static_cast<const Unaligned<T>*>(a);
  const auto* right = static_cast<const Unaligned<T>*>(b);
  auto* result = static_cast<Unaligned<T>*>(out);
  CARAVAN_VECTORISE
  for (size_t i = 0; i < count; ++i) result[i] = Op::template Apply<T>(left[i], right[i]);
}

template <typename T>
CARAVAN_INLINE void AverageLoop(const void* in, void* out, size_t count, int ranks) {
  const auto* values = static_cast<const Unaligned<T>*>(in);
  auto* result = static_cast<Unaligned<T>*>(out);
  // Narrow integers are divided as int: the number of ranks does not fit them.
  using Wide = std::conditional_t<(sizeof(T) < sizeof(int)), int, T>;
  const Wide divisor = static_cast<Wide>(ranks);
  CARAVAN_VECTORISE
  for (size_t i = 0; i < count; ++i) result[i] = static_cast<T>(values[i] / divisor);
}

// 16-bit floats go through f32 blocks that stay in the first-level cache. A last, short block is
// padded with zeros, so that the codecs know one length only.
template <typename Codec, typename Op>
CARAVAN_INLINE void ReduceHalves(const void* a, const void* b, void* out, size_t count) {
  uint16_t left[kHalfBlock] = {};
  uint16_t right[kHalfBlock] = {};
  float wide_left[kHalfBlock];
  float wide_right[kHalfBlock];
  for (size_t done = 0; done < count; done += kHalfBlock) {
    const size_t bytes = 2 * (count - done < kHalfBlock ? count - done : kHalfBlock);
    std::memcpy(left, static_cast<const char*>(a) + 2 * done, bytes);
    std::memcpy(right, static_cast<const char*>(b) + 2 * done, bytes);
    Codec::Widen(left, wide_left);
    Codec::Widen(right, wide_right);
    ReduceLoop<float, Op>(wide_left, wide_right, wide_left, kHalfBlock);
    Codec::Narrow(wide_left, left);
    std::memcpy(static_cast<char*>(out) + 2 * done, left, bytes);
  }
}

template <typename Codec>
CARAVAN_INLINE void AverageHalves(const void* in, void* out, size_t count, int ranks) {
  uint16_t narrow[kHalfBlock] = {};
  float wide[kHalfBlock];
  for (size_t done = 0; done < count; done += kHalfBlock) {
    const size_t bytes = 2 * (count - done < kHalfBlock ? count - done : kHalfBlock);
    std::memcpy(narrow, static_cast<const char*>(in) + 2 * done, bytes);
    Codec::Widen(narrow, wide);
    AverageLoop<float>(wide, wide, kHalfBlock, ranks);
    Codec::Narrow(wide, narrow);
    std::memcpy(static_cast<char*>(out) + 2 * done, narrow, bytes);
  }
}

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_REDUCE_REDUCE_LOOPS_H_
