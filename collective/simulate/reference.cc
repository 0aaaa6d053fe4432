// SPDX-License-Identifier: Apache-2.0
#include "collective/simulate/reference.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "collective/plan/partition.h"
#include "collective/reduce/reduce.h"

namespace caravan::collective {
namespace {

// Block `block` of everyone's input, reduced as `owner` receives it.
Bytes ReducedBlock(const OperationSpec& spec, const std::vector<Bytes>& inputs,
                   const Blocks& blocks, int block, int owner) {
  const int ranks = static_cast<int>(inputs.size());
  const size_t bytes = blocks.bytes(block);
  const size_t count = bytes / SizeOf(spec.dtype);
  const size_t offset = bytes == 0 ? 0 : blocks.Offset(block, 0);
  const auto contribution = [&](int rank) { return inputs[rank % ranks].data() + offset; };
  // Direct: own, then the ranks after. Ring: the rank after the owner first, the owner last, each
  // adding what arrives to its own. One-shot: in the order of ranks.
  const bool one_shot = spec.algorithm == Algorithm::kOneShot;
  const bool ring = spec.algorithm != Algorithm::kDirect && !one_shot;
  const int first = one_shot ? 0 : ring ? owner + 1 : owner;
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

// Block `block` of a vector of blocks of `bytes`.
Bytes Slice(const Bytes& vector, int block, uint64_t bytes) {
  const auto begin = vector.begin() + static_cast<ptrdiff_t>(block * bytes);
  return Bytes(begin, begin + static_cast<ptrdiff_t>(bytes));
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
        const Bytes block = ReducedBlock(spec, inputs, blocks, b, b);
        whole.insert(whole.end(), block.begin(), block.end());
      }
      std::fill(outputs.begin(), outputs.end(), whole);
      break;
    }
    case Operation::kReduceScatter: {
      const Blocks blocks = Blocks::Uniform(spec, ranks);
      for (int b = 0; b < ranks; ++b) outputs[b] = ReducedBlock(spec, inputs, blocks, b, b);
      break;
    }
    case Operation::kReduce:
      outputs[spec.root] = ReducedBlock(spec, inputs, Blocks::Uniform(spec, 1), 0, spec.root);
      break;
    case Operation::kGather:
      for (const Bytes& input : inputs) {
        outputs[spec.root].insert(outputs[spec.root].end(), input.begin(), input.end());
      }
      break;
    case Operation::kScatter:
      for (int r = 0; r < ranks; ++r) outputs[r] = Slice(inputs[spec.root], r, spec.bytes());
      break;
    case Operation::kAllToAll:
      for (int to = 0; to < ranks; ++to) {
        for (int from = 0; from < ranks; ++from) {
          const Bytes block = Slice(inputs[from], to, spec.bytes());
          outputs[to].insert(outputs[to].end(), block.begin(), block.end());
        }
      }
      break;
    case Operation::kAllToAllV:
      for (int to = 0; to < ranks; ++to) {
        for (int from = 0; from < ranks; ++from) {
          const std::vector<uint64_t>& counts = specs[from].counts;
          const uint64_t begin = std::accumulate(counts.begin(), counts.begin() + to, uint64_t{0});
          const auto at = inputs[from].begin() + begin * SizeOf(spec.dtype);
          outputs[to].insert(outputs[to].end(), at, at + counts[to] * SizeOf(spec.dtype));
        }
      }
      break;
    case Operation::kAllGather:
    case Operation::kAllGatherV:
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
