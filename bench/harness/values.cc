// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <vector>

namespace caravan::bench {
namespace {

constexpr int kPeriod = 7;  // InputValue() repeats after this many elements

template <typename T>
void Store(T value, uint8_t* out) {
  std::memcpy(out, &value, sizeof(value));
}

// IEEE binary16 of a value that it holds exactly and that is 0 or normal.
uint16_t Half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits << 1) == 0) return 0;
  const uint32_t exponent = ((bits >> 23) & 0xFF) - 127 + 15;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3FF));
}

// `value` in `type`'s encoding. Integer types truncate, as their averages do.
void Encode(const std::string& type, double value, uint8_t* out) {
  if (type == "double") return Store(value, out);
  if (type == "float") return Store(static_cast<float>(value), out);
  if (type == "uint32") return Store(static_cast<uint32_t>(value), out);
  if (type == "uint64") return Store(static_cast<uint64_t>(value), out);
  if (type == "int32") return Store(static_cast<int32_t>(value), out);
  if (type == "int64") return Store(static_cast<int64_t>(value), out);
  if (type == "half") return Store(Half(static_cast<float>(value)), out);
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return Store(static_cast<uint16_t>(bits >> 16), out);
}

// One period of elements, encoded: elements are then copied or compared, not computed.
std::vector<uint8_t> EncodePeriod(const std::string& type,
                                  const std::function<double(uint64_t)>& value) {
  const uint64_t width = ElementSize(type);
  std::vector<uint8_t> period(kPeriod * width);
  for (int i = 0; i < kPeriod; ++i) Encode(type, value(i), &period[i * width]);
  return period;
}

uint64_t CountWrong(const std::vector<uint8_t>& period, uint64_t width, uint64_t first,
                    uint64_t count, const uint8_t* data) {
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint8_t* expected = &period[(first + i) % kPeriod * width];
    wrong += std::memcmp(data + i * width, expected, width) != 0;
  }
  return wrong;
}

double Reduced(const std::string& redop, int ranks, uint64_t index) {
  double result = InputValue(redop, 0, index);
  for (int rank = 1; rank < ranks; ++rank) {
    const double value = InputValue(redop, rank, index);
    if (redop == "prod")
      result *= value;
    else if (redop == "min")
      result = std::min(result, value);
    else if (redop == "max")
      result = std::max(result, value);
    else
      result += value;
  }
  return redop == "avg" ? result / ranks : result;
}

}  // namespace

uint64_t ElementSize(const std::string& type) {
  if (type == "double" || type == "int64" || type == "uint64") return 8;
  return type == "float" || type == "int32" || type == "uint32" ? 4 : 2;
}

int InputValue(const std::string& redop, int rank, uint64_t index) {
  const int step = static_cast<int>(index % kPeriod);
  if (redop == "prod") return 1 + ((step + rank) & 1);
  // Every rank has one value, so that the average is whole.
  if (redop == "avg") return step + 1;
  return (rank + 1) * (step + 1);
}

void FillInput(const std::string& type, const std::string& redop, int rank, uint64_t first,
               uint64_t count, uint8_t* out) {
  const uint64_t width = ElementSize(type);
  const std::vector<uint8_t> period =
      EncodePeriod(type, [&](uint64_t i) { return InputValue(redop, rank, i); });
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(out + i * width, &period[(first + i) % kPeriod * width], width);
  }
}

uint64_t CountWrongReduction(const std::string& type, const std::string& redop, int ranks,
                             uint64_t first, uint64_t count, const uint8_t* data) {
  const std::vector<uint8_t> period =
      EncodePeriod(type, [&](uint64_t i) { return Reduced(redop, ranks, i); });
  return CountWrong(period, ElementSize(type), first, count, data);
}

uint64_t CountWrongCopy(const std::string& type, const std::string& redop, int rank, uint64_t first,
                        uint64_t count, const uint8_t* data) {
  const std::vector<uint8_t> period =
      EncodePeriod(type, [&](uint64_t i) { return InputValue(redop, rank, i); });
  return CountWrong(period, ElementSize(type), first, count, data);
}

}  // namespace caravan::bench
