// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of every instruction set against a scalar that is written another way.
#include "collective/reduce/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/reduce/reduce_kernels.h"

namespace caravan::collective {
namespace {

constexpr DataType kTypes[] = {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat32,
                               DataType::kFloat64, DataType::kInt32,    DataType::kInt64,
                               DataType::kInt8,    DataType::kUint8,    DataType::kInt16,
                               DataType::kUint16,  DataType::kUint32,   DataType::kUint64};
constexpr ReduceOp kReductions[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax,
                                    ReduceOp::kAvg};
constexpr InstructionSet kSets[] = {InstructionSet::kBaseline, InstructionSet::kAvx2,
                                    InstructionSet::kAvx512};

// The value of a small binary float, from its definition.
double Decode(uint64_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction =
      std::ldexp(static_cast<double>(bits & ((uint64_t{1} << fraction_bits) - 1)), -fraction_bits);
  const double sign = (bits >> (exponent_bits + fraction_bits)) & 1 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, exponent - bias);
}

// Nearest, ties to even; the value is exact in double.
uint16_t Encode(double value, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const int top = ((1 << exponent_bits) - 1) << fraction_bits;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | top | 1 << (fraction_bits - 1));
  if (std::isinf(value)) return static_cast<uint16_t>(sign | top);
  const double magnitude = std::fabs(value);
  int exponent = magnitude == 0 ? 1 - bias : std::max(std::ilogb(magnitude), 1 - bias);
  const double scaled = std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent));
  // The hidden bit adds one to the exponent field, and so does a carry.
  const double field = scaled + std::ldexp(exponent + bias - 1, fraction_bits);
  return static_cast<uint16_t>(sign | static_cast<int>(std::min<double>(field, top)));
}

template <typename T>
T Load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

double NaiveFloat(ReduceOp op, double a, double b) {
  if (op == ReduceOp::kMin || op == ReduceOp::kMax) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
    // Zeros of either sign are equal; the right one stays.
    return (op == ReduceOp::kMin ? a < b : a > b) ? a : b;
  }
  return op == ReduceOp::kProd ? a * b : a + b;
}

// Sums and products wrap in 64 bits; the low bytes are the narrower type's result too.
template <typename T>
void NaiveInt(ReduceOp op, const uint8_t* a, const uint8_t* b, uint8_t* out) {
  const T left = Load<T>(a), right = Load<T>(b);
  const uint64_t x = static_cast<uint64_t>(left), y = static_cast<uint64_t>(right);
  const uint64_t wide = op == ReduceOp::kProd ? x * y : x + y;
  T value = static_cast<T>(wide);
  if (op == ReduceOp::kMin) value = left < right ? left : right;
  if (op == ReduceOp::kMax) value = left < right ? right : left;
  std::memcpy(out, &value, sizeof(T));
}

// Toward zero, in a type that holds every value and every number of ranks.
template <typename T>
void NaiveIntAverage(const uint8_t* in, int ranks, uint8_t* out) {
  const __int128 wide = static_cast<__int128>(Load<T>(in)) / ranks;
  const T value = static_cast<T>(wide);
  std::memcpy(out, &value, sizeof(T));
}

// 16-bit types are reduced in f32, so the naive result passes through float.
void Naive(DataType type, ReduceOp op, const uint8_t* a, const uint8_t* b, uint8_t* out) {
  switch (type) {
    case DataType::kFloat16:
    case DataType::kBfloat16: {
      const int e = type == DataType::kFloat16 ? 5 : 8, f = 15 - e;
      const float wide = static_cast<float>(
          NaiveFloat(op, Decode(Load<uint16_t>(a), e, f), Decode(Load<uint16_t>(b), e, f)));
      const uint16_t bits = Encode(wide, e, f);
      std::memcpy(out, &bits, 2);
      break;
    }
    case DataType::kFloat32: {
      const float value = static_cast<float>(NaiveFloat(op, Load<float>(a), Load<float>(b)));
      std::memcpy(out, &value, 4);
      break;
    }
    case DataType::kFloat64: {
      const double value = NaiveFloat(op, Load<double>(a), Load<double>(b));
      std::memcpy(out, &value, 8);
      break;
    }
    case DataType::kInt32:
      return NaiveInt<int32_t>(op, a, b, out);
    case DataType::kInt64:
      return NaiveInt<int64_t>(op, a, b, out);
    case DataType::kInt8:
      return NaiveInt<int8_t>(op, a, b, out);
    case DataType::kUint8:
      return NaiveInt<uint8_t>(op, a, b, out);
    case DataType::kInt16:
      return NaiveInt<int16_t>(op, a, b, out);
    case DataType::kUint16:
      return NaiveInt<uint16_t>(op, a, b, out);
    case DataType::kUint32:
      return NaiveInt<uint32_t>(op, a, b, out);
    case DataType::kUint64:
      return NaiveInt<uint64_t>(op, a, b, out);
  }
}

void NaiveIntegerAverage(DataType type, const uint8_t* in, int ranks, uint8_t* out) {
  switch (type) {
    case DataType::kInt32:
      return NaiveIntAverage<int32_t>(in, ranks, out);
    case DataType::kInt64:
      return NaiveIntAverage<int64_t>(in, ranks, out);
    case DataType::kInt8:
      return NaiveIntAverage<int8_t>(in, ranks, out);
    case DataType::kUint8:
      return NaiveIntAverage<uint8_t>(in, ranks, out);
    case DataType::kInt16:
      return NaiveIntAverage<int16_t>(in, ranks, out);
    case DataType::kUint16:
      return NaiveIntAverage<uint16_t>(in, ranks, out);
    case DataType::kUint32:
      return NaiveIntAverage<uint32_t>(in, ranks, out);
    case DataType::kUint64:
      return NaiveIntAverage<uint64_t>(in, ranks, out);
    default:
      FAIL() << "not an integer";
  }
}

bool IsNaN(DataType type, const uint8_t* value) {
  switch (type) {
    case DataType::kFloat16:
      return std::isnan(Decode(Load<uint16_t>(value), 5, 10));
    case DataType::kBfloat16:
      return std::isnan(Decode(Load<uint16_t>(value), 8, 7));
    case DataType::kFloat32:
      return std::isnan(Load<float>(value));
    case DataType::kFloat64:
      return std::isnan(Load<double>(value));
    default:
      return false;
  }
}

// Random bit patterns: subnormals, infinities and NaNs among them; some equal pairs.
std::vector<uint8_t> RandomBits(size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> out(bytes);
  for (uint8_t& byte : out) {
    const uint64_t bits = random();
    byte = (bits >> 8) % 8 == 0 ? 0 : (bits >> 8) % 8 == 1 ? 0xFF : static_cast<uint8_t>(bits);
  }
  return out;
}

void ExpectSame(DataType type, const std::vector<uint8_t>& expected, const uint8_t* actual) {
  const size_t width = SizeOf(type);
  for (size_t i = 0; i < expected.size(); i += width) {
    if (IsNaN(type, expected.data() + i)) {
      ASSERT_TRUE(IsNaN(type, actual + i)) << "element " << i / width << " is not a NaN";
    } else {
      ASSERT_EQ(std::memcmp(expected.data() + i, actual + i, width), 0) << "element " << i / width;
    }
  }
}

class EverySet : public testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (!Supported(GetParam())) GTEST_SKIP() << "this CPU lacks the instruction set";
  }
};

TEST_P(EverySet, ReducesLikeTheNaiveScalar) {
  uint64_t seed = 1;
  for (const DataType type : kTypes) {
    for (const ReduceOp op : kReductions) {
      for (const size_t count : {1, 2, 7, 16, 33, 127, 128, 129, 1000, 4099}) {
        for (const size_t misalignment : {0, 1, 3}) {
          SCOPED_TRACE(absl::StrCat(Name(type).data(), " ", Name(op).data(), " × ", count, " at +",
                                    misalignment));
          const size_t bytes = count * SizeOf(type);
          const std::vector<uint8_t> a = RandomBits(bytes + misalignment, seed++);
          std::vector<uint8_t> b = RandomBits(bytes + 2 * misalignment, seed++);
          const uint8_t* left = a.data() + misalignment;
          uint8_t* right = b.data() + 2 * misalignment;
          std::vector<uint8_t> expected(bytes);
          for (size_t i = 0; i < bytes; i += SizeOf(type)) {
            Naive(type, op, left + i, right + i, expected.data() + i);
          }
          const ReduceKernel kernel = ReduceKernelFor(GetParam(), type, op);
          std::vector<uint8_t> out(bytes + 1, 0x5A);
          kernel(left, right, out.data(), count);
          ExpectSame(type, expected, out.data());
          EXPECT_EQ(out[bytes], 0x5A) << "wrote past the end";
          std::vector<uint8_t> in_place = a;
          kernel(in_place.data() + misalignment, right, in_place.data() + misalignment, count);
          ExpectSame(type, expected, in_place.data() + misalignment);
          kernel(left, right, right, count);
          ExpectSame(type, expected, right);
        }
      }
    }
  }
}

TEST_P(EverySet, AveragesLikeTheNaiveScalar) {
  for (const DataType type : kTypes) {
    for (const int ranks : {1, 2, 3, 7, 65534}) {
      SCOPED_TRACE(absl::StrCat(Name(type).data(), " / ", ranks));
      const size_t count = 333;
      const size_t bytes = count * SizeOf(type);
      std::vector<uint8_t> in = RandomBits(bytes, 9);
      std::vector<uint8_t> expected(bytes);
      for (size_t i = 0; i < bytes; i += SizeOf(type)) {
        const uint8_t* from = in.data() + i;
        uint8_t* to = expected.data() + i;
        if (type == DataType::kFloat16 || type == DataType::kBfloat16) {
          const int e = type == DataType::kFloat16 ? 5 : 8;
          const float value = static_cast<float>(Decode(Load<uint16_t>(from), e, 15 - e));
          const uint16_t bits = Encode(value / static_cast<float>(ranks), e, 15 - e);
          std::memcpy(to, &bits, 2);
        } else if (type == DataType::kFloat32) {
          const float value = Load<float>(from) / static_cast<float>(ranks);
          std::memcpy(to, &value, 4);
        } else if (type == DataType::kFloat64) {
          const double value = Load<double>(from) / ranks;
          std::memcpy(to, &value, 8);
        } else {
          NaiveIntegerAverage(type, from, ranks, to);
        }
      }
      AverageKernelFor(GetParam(), type)(in.data(), in.data(), count, ranks);
      ExpectSame(type, expected, in.data());
    }
  }
}

// Widening then narrowing by 1 must give back each of the 65,536 patterns, NaNs aside.
TEST_P(EverySet, KeepsEveryHalfPattern) {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    std::vector<uint16_t> all(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    std::vector<uint16_t> out(all.size());
    AverageKernelFor(GetParam(), type)(all.data(), out.data(), all.size(), 1);
    std::vector<uint8_t> expected(2 * all.size());
    std::memcpy(expected.data(), all.data(), expected.size());
    ExpectSame(type, expected, reinterpret_cast<const uint8_t*>(out.data()));
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EverySet, testing::ValuesIn(kSets), [](const auto& info) {
  return info.param == InstructionSet::kBaseline ? "baseline"
         : info.param == InstructionSet::kAvx2   ? "avx2"
                                                 : "avx512";
});

TEST(Reduce, TakesNothingAtAll) {
  Reduce(DataType::kFloat32, ReduceOp::kSum, nullptr, nullptr, nullptr, 0);
  Average(DataType::kFloat32, nullptr, nullptr, 0, 3);
}

TEST(Reduce, WrapsIntegersAndAveragesTowardZero) {
  const int32_t a[] = {INT32_MAX, INT32_MIN, -7};
  const int32_t b[] = {1, -1, 0};
  int32_t out[3];
  Reduce(DataType::kInt32, ReduceOp::kAvg, a, b, out, 3);
  EXPECT_EQ(out[0], INT32_MIN);
  EXPECT_EQ(out[1], INT32_MAX);
  Average(DataType::kInt32, out, out, 3, 2);
  EXPECT_EQ(out[2], -3);
}

}  // namespace
}  // namespace caravan::collective
