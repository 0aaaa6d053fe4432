// SPDX-License-Identifier: Apache-2.0
//
// How much memory this process holds.
#ifndef CARAVAN_BENCH_VERIFY_MEMORY_H_
#define CARAVAN_BENCH_VERIFY_MEMORY_H_

#include <cstddef>

namespace caravan::bench {

// Bytes allocated and not freed; what the allocator keeps for the next caller counts little. Under
// AddressSanitizer its allocator says.
size_t AllocatedBytes();

// Bytes of the process in memory; 0 where /proc does not say.
size_t ResidentBytes();

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_VERIFY_MEMORY_H_
