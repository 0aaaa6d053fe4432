// SPDX-License-Identifier: Apache-2.0
//
// 16-bit floats to f32 and back, a block at a time. Narrowing rounds to nearest-even and keeps a
// NaN a (quiet) NaN. Internal to this folder.
#ifndef CARAVAN_COLLECTIVE_REDUCE_HALF_CODECS_H_
#define CARAVAN_COLLECTIVE_REDUCE_HALF_CODECS_H_

#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace caravan::collective {

inline constexpr size_t kHalfBlock = 128;

#define CARAVAN_INLINE inline __attribute__((always_inline))

struct Bfloat16Codec {
  static CARAVAN_INLINE void Widen(const uint16_t* in, float* out) {
    for (size_t i = 0; i < kHalfBlock; ++i) {
      out[i] = std::bit_cast<float>(static_cast<uint32_t>(in[i]) << 16);
    }
  }

  static CARAVAN_INLINE void Narrow(const float* in, uint16_t* out) {
    for (size_t i = 0; i < kHalfBlock; ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(in[i]);
      const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
      const uint32_t quiet = (bits >> 16) | 0x40;
      out[i] = static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : rounded);
    }
  }
};

// In plain integer and f32 arithmetic, for CPUs without F16C.
struct Float16Codec {
  static void Widen(const uint16_t* in, float* out) {
    for (size_t i = 0; i < kHalfBlock; ++i) out[i] = WidenOne(in[i]);
  }
  static void Narrow(const float* in, uint16_t* out) {
    for (size_t i = 0; i < kHalfBlock; ++i) out[i] = NarrowOne(in[i]);
  }

  static float WidenOne(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
    const uint32_t magnitude = half & 0x7FFF;
    uint32_t bits;
    if (magnitude >= 0x7C00) {  // infinity and NaN, which becomes quiet
      bits = 0x7F800000 | (magnitude & 0x3FF) << 13 | (magnitude > 0x7C00 ? 0x400000 : 0);
    } else if (magnitude >= 0x400) {
      bits = (magnitude << 13) + ((127u - 15u) << 23);
    } else {  // subnormal: a count of 2^-24
      bits = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
    }
    return std::bit_cast<float>(sign | bits);
  }

  static uint16_t NarrowOne(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000;
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    uint32_t half;
    if (magnitude > 0x7F800000) {
      half = 0x7E00 | ((magnitude >> 13) & 0x3FF);
    } else if (magnitude >= 0x47800000) {  // 2^16 and above
      half = 0x7C00;
    } else if (magnitude >= 0x38800000) {  // normal; the carry out of 65520 makes infinity
      half = (magnitude - ((127u - 15u) << 23) + 0xFFF + ((magnitude >> 13) & 1)) >> 13;
    } else {  // subnormal: adding 0.5 lets the f32 adder round at 2^-24
      half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000;
    }
    return static_cast<uint16_t>(sign | half);
  }
};

#define CARAVAN_AVX2 __attribute__((target("avx2,f16c")))
#define CARAVAN_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,f16c")))

struct Float16CodecAvx2 {
  CARAVAN_AVX2 static void Widen(const uint16_t* in, float* out) {
    for (size_t i = 0; i < kHalfBlock; i += 8) {
      const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(half));
    }
  }
  CARAVAN_AVX2 static void Narrow(const float* in, uint16_t* out) {
    for (size_t i = 0; i < kHalfBlock; i += 8) {
      const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), half);
    }
  }
};

// The masked forms with every lane on: GCC 12 warns about the plain ones' own headers.
struct Float16CodecAvx512 {
  CARAVAN_AVX512 static void Widen(const uint16_t* in, float* out) {
    for (size_t i = 0; i < kHalfBlock; i += 16) {
      const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
      _mm512_storeu_ps(out + i, _mm512_maskz_cvtph_ps(0xFFFF, half));
    }
  }
  CARAVAN_AVX512 static void Narrow(const float* in, uint16_t* out) {
    for (size_t i = 0; i < kHalfBlock; i += 16) {
      const __m256i half =
          _mm512_maskz_cvtps_ph(0xFFFF, _mm512_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), half);
    }
  }
};

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_REDUCE_HALF_CODECS_H_
