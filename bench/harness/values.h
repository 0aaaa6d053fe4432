// SPDX-License-Identifier: Apache-2.0
//
// The numbers that benchmarks reduce: small integers, exact in every element type and order of
// reduction, so that a result can be compared bit for bit.
#ifndef CARAVAN_BENCH_HARNESS_VALUES_H_
#define CARAVAN_BENCH_HARNESS_VALUES_H_

#include <cstdint>
#include <string>

namespace caravan::bench {

// Bytes of one element of a type that ParseSettings() admits.
uint64_t ElementSize(const std::string& type);

// Element `index` of rank `rank`'s input. Reductions of up to 8 ranks stay exact in bfloat16;
// prod keeps to ones and twos.
int InputValue(const std::string& redop, int rank, uint64_t index);

// Writes InputValue() of elements first … first + count - 1.
void FillInput(const std::string& type, const std::string& redop, int rank, uint64_t first,
               uint64_t count, uint8_t* out);

// How many of `count` elements differ from the reduction of all ranks' inputs.
uint64_t CountWrongReduction(const std::string& type, const std::string& redop, int ranks,
                             uint64_t first, uint64_t count, const uint8_t* data);

// How many differ from rank `rank`'s input.
uint64_t CountWrongCopy(const std::string& type, const std::string& redop, int rank,
                        uint64_t first, uint64_t count, const uint8_t* data);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_HARNESS_VALUES_H_
