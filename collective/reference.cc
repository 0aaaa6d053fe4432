// SPDX-License-Identifier: Apache-2.0
#include "collective/reference.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "collective/partition.h"
#include "collective/reduce.h"

namespace caravan::collective {
namespace {

// Block `block` of everyone's input, reduced as its owner receives it.
Bytes ReducedBlock(const OperationSpec& spec, const std::vector<Bytes>& inputs,
                   const Blocks& blocks, int block) {
  const int ranks = static_cast<int>(inputs.size());
  const size_t bytes = blocks.bytes(block);
  const size_t count = bytes / SizeOf(spec.dtype);
  const size_t offset = bytes == 0 ? 0 : blocks.Offset(block, 0);
  const auto contribution = [&](int rank) { return inputs[rank % ranks].data() + offset; };
  // Direct: own, then the ranks after. Ring: the rank after the owner first, the owner last, each
  // adding what arrives to its own.
  const bool ring = spec.algorithm != Algorithm::kDirect;
  const int first = ring ? block + 1 : block;
  Bytes sum(contribution(first), contribution(first) + bytes);
  for (int k = 1; k < ranks; ++k) {
    const void* const own = contribution(first + k);
    Reduce(spec.dtype, spec.reduce, ring ? own : sum.data(), ring ? sum.data() : own, sum.data(),
           count);
  }
  if (spec.reduce == ReduceOp::kAvg && ranks > 1) {
    Average(spec.dtype, sum.data(), sum.data(), count, ranks);
  }
  return sum;
}

}  // namespace

Bytes RandomNumbersForTest(DataType type, uint64_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes out(bytes);
  const size_t width = SizeOf(type);
  for (size_t i = 0; i + width <= bytes; i += width) {
    const uint64_t bits = random();
    uint64_t value = bits;
    // Between 0.5 and 2, either sign, with a random fraction.
    if (type == DataType::kFloat16) value = (bits & 0x83FF) | ((bits >> 20) % 2 + 14) << 10;
    if (type == DataType::kBfloat16) value = (bits & 0x807F) | ((bits >> 20) % 2 + 126) << 7;
    if (type == DataType::kFloat32) value = (bits & 0x807FFFFF) | ((bits >> 32) % 2 + 126) << 23;
    if (type == DataType::kFloat64) {
      value = (bits & 0x800FFFFFFFFFFFFF) | (1022 + (bits >> 55) % 2) << 52;
    }
    std::memcpy(out.data() + i, &value, width);
  }
  return out;
}

std::vector<Bytes> ExpectedOutputsForTest(const std::vector<OperationSpec>& specs,
                                          const std::vector<Bytes>& inputs) {
  const OperationSpec& spec = specs.front();
  const int ranks = static_cast<int>(inputs.size());
  std::vector<Bytes> outputs(inputs.size());
  Bytes whole;
  switch (spec.op) {
    case Operation::kAllReduce: {
      const Blocks blocks = Blocks::Balanced(spec, ranks);
      for (int b = 0; b < ranks; ++b) {
        const Bytes block = ReducedBlock(spec, inputs, blocks, b);
        whole.insert(whole.end(), block.begin(), block.end());
      }
      std::fill(outputs.begin(), outputs.end(), whole);
      break;
    }
    case Operation::kReduceScatter: {
      const Blocks blocks = Blocks::Uniform(spec, ranks);
      for (int b = 0; b < ranks; ++b) outputs[b] = ReducedBlock(spec, inputs, blocks, b);
      break;
    }
    case Operation::kAllGather:
      for (const Bytes& input : inputs) whole.insert(whole.end(), input.begin(), input.end());
      std::fill(outputs.begin(), outputs.end(), whole);
      break;
    case Operation::kBroadcast:
      std::fill(outputs.begin(), outputs.end(), inputs[spec.root]);
      break;
    case Operation::kSend:
    case Operation::kRecv:
      for (int r = 0; r < ranks; ++r) {
        if (specs[r].op == Operation::kRecv) outputs[r] = inputs[specs[r].peer];
      }
      break;
    case Operation::kBarrier:
      break;
  }
  return outputs;
}

}  // namespace caravan::collective
