// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/tls_ring.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <tuple>
#include <vector>

namespace caravan::bench {
namespace {

class TlsRingSums : public testing::TestWithParam<std::tuple<int, size_t>> {};

TEST_P(TlsRingSums, EqualTheNaiveOnes) {
  const int ranks = std::get<0>(GetParam());
  const size_t count = std::get<1>(GetParam());
  std::vector<int> listeners;
  std::vector<uint16_t> ports;
  ASSERT_TRUE(ListenAll(ranks, &listeners, &ports).ok());
  std::vector<std::vector<float>> data(ranks);
  std::vector<absl::Status> statuses(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    for (size_t i = 0; i < count; ++i) data[rank].push_back((rank + 1.f) * (i % 13));
    threads.emplace_back([&, rank] {
      auto ring = TlsRing::Connect(rank, listeners, ports);
      statuses[rank] = ring.ok() ? (*ring)->AllReduce(data[rank].data(), count) : ring.status();
      // A second one, to see that nothing is left over from the first.
      if (statuses[rank].ok()) statuses[rank] = (*ring)->AllReduce(data[rank].data(), count);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int fd : listeners) close(fd);
  const float factor = ranks * (ranks + 1) / 2.f * ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    ASSERT_TRUE(statuses[rank].ok()) << statuses[rank];
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(data[rank][i], factor * (i % 13)) << rank << i;
  }
}

INSTANTIATE_TEST_SUITE_P(RanksAndSizes, TlsRingSums,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(0, 1, 7, 1000, 1 << 20)));

}  // namespace
}  // namespace caravan::bench
