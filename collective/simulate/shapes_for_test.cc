// SPDX-License-Identifier: Apache-2.0
#include "collective/simulate/shapes_for_test.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "collective/cost/selector.h"

namespace caravan::collective {
namespace {

constexpr int kOperations = static_cast<int>(Operation::kAllToAllV);

// One row a rank: what it sends to each.
std::vector<std::vector<uint64_t>> MadeUpCounts(uint64_t count, int size, uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t most = 2 * count / static_cast<uint64_t>(size) + 1;
  std::vector<std::vector<uint64_t>> rows(static_cast<size_t>(size));
  for (std::vector<uint64_t>& row : rows) {
    for (int to = 0; to < size; ++to) {
      row.push_back(random() % 4 == 0 || count == 0 ? 0 : random() % most);
    }
  }
  return rows;
}

}  // namespace

std::vector<ShapeForTest> AllShapesForTest() {
  std::vector<ShapeForTest> shapes;
  for (int op = 1; op <= kOperations; ++op) {
    const Operation operation = static_cast<Operation>(op);
    if (operation == Operation::kSend || operation == Operation::kRecv) continue;
    for (const Algorithm algorithm : AlgorithmsFor(operation)) {
      shapes.push_back({operation, algorithm});
    }
  }
  return shapes;
}

std::string NameForTest(const ShapeForTest& shape) {
  std::string name = std::string(Name(shape.op)) + "_" + std::string(Name(shape.algorithm));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<OperationSpec> ViewsForTest(const OperationSpec& spec, int size, uint64_t seed) {
  std::vector<OperationSpec> views(static_cast<size_t>(size), spec);
  if (!HasCounts(spec.op)) return views;
  const std::vector<std::vector<uint64_t>> rows = MadeUpCounts(spec.count, size, seed);
  for (size_t r = 0; r < views.size(); ++r) {
    OperationSpec& view = views[r];
    view.counts = spec.op == Operation::kAllGatherV ? rows.front() : rows[r];
    view.count = std::accumulate(view.counts.begin(), view.counts.end(), uint64_t{0});
    if (spec.op != Operation::kAllToAllV) continue;
    for (const std::vector<uint64_t>& row : rows) view.receive_counts.push_back(row[r]);
  }
  return views;
}

uint64_t CountForTest(Operation op, DataType type, int size, uint64_t block_bytes) {
  if (op == Operation::kBarrier) return 0;
  return block_bytes * (CountsBlocks(op) ? 1 : static_cast<uint64_t>(size)) / SizeOf(type);
}

}  // namespace caravan::collective
