// SPDX-License-Identifier: Apache-2.0
//
// caravand with the plaintext engine: the same daemon, other ciphers. For benchmarks, and as the
// counter-proof of the demo's packet capture. It is not installed and not released.
#include "bench/plaintext/copied_records.h"
#include "daemon/daemon.h"

int main(int argc, char** argv) {
  const auto ciphers = caravan::bench::CopiedRecords();
  return caravan::RunDaemon(argc, argv, {.ciphers = *ciphers});
}
