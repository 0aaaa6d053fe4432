// SPDX-License-Identifier: Apache-2.0
//
// Every collective by every algorithm, for tests that hold for all of them.
#ifndef CARAVAN_COLLECTIVE_SIMULATE_SHAPES_FOR_TEST_H_
#define CARAVAN_COLLECTIVE_SIMULATE_SHAPES_FOR_TEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collective/types.h"

namespace caravan::collective {

struct ShapeForTest {
  Operation op;
  Algorithm algorithm;
};

// All but Send and Recv, which two ranks alone take part in.
std::vector<ShapeForTest> AllShapesForTest();
std::string NameForTest(const ShapeForTest& shape);  // "allreduce_ring_forward"

// `spec` as each of `size` ranks sees it. Where counts differ by rank they are made up from `seed`
// so that a rank has about `spec.count` elements in all, some blocks none.
std::vector<OperationSpec> ViewsForTest(const OperationSpec& spec, int size, uint64_t seed);

// A count that gives blocks of about `block_bytes`, one a rank, whatever the operation counts.
uint64_t CountForTest(Operation op, DataType type, int size, uint64_t block_bytes);

}  // namespace caravan::collective

#endif  // CARAVAN_COLLECTIVE_SIMULATE_SHAPES_FOR_TEST_H_
