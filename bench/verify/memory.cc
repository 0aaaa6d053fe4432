// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <fstream>

#include "absl/base/config.h"

#ifdef ABSL_HAVE_ADDRESS_SANITIZER
// As in sanitizer/allocator_interface.h, which GCC's packages leave out.
extern "C" size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace caravan::bench {

size_t AllocatedBytes() {
#ifdef ABSL_HAVE_ADDRESS_SANITIZER
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}

size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0, resident = 0;
  if (!(statm >> total >> resident)) return 0;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace caravan::bench
