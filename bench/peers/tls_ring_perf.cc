// SPDX-License-Identifier: Apache-2.0
//
// The TLS 1.3 ring, measured as ours is.
#include <memory>
#include <vector>

#include "bench/harness/runner.h"
#include "bench/harness/values.h"
#include "bench/peers/tls_ring.h"

namespace caravan::bench {
namespace {

class TlsRank : public Rank {
 public:
  TlsRank(const Settings& settings, int rank, std::unique_ptr<TlsRing> ring)
      : settings_(settings),
        rank_(rank),
        ring_(std::move(ring)),
        data_(settings.max_bytes / sizeof(float) + 1) {}

  uint64_t Count(uint64_t bytes) const override { return bytes / sizeof(float); }
  uint64_t Bytes(uint64_t count) const override { return count * sizeof(float); }
  double BusFactor() const override { return 2.0 * (settings_.ranks - 1) / settings_.ranks; }
  std::string Suite(int) const override { return "TLS_AES_256_GCM"; }
  void Fill(int, uint64_t count) override {
    FillInput("float", "sum", rank_, 0, count, bytes());
  }
  absl::Status Run(int, uint64_t count) override { return ring_->AllReduce(data_.data(), count); }
  uint64_t CountWrong(int, uint64_t count) override {
    return CountWrongReduction("float", "sum", settings_.ranks, 0, count, bytes());
  }

 private:
  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(data_.data()); }

  const Settings settings_;
  const int rank_;
  std::unique_ptr<TlsRing> ring_;
  std::vector<float> data_;
};

absl::Status Main(int argc, char** argv) {
  const absl::StatusOr<Settings> settings = ParseSettings(argc, argv, {});
  if (!settings.ok()) return settings.status();
  if (settings->type != "float" || settings->redop != "sum") {
    return absl::InvalidArgumentError("flags -d and -o: this peer measures float sums only");
  }
  std::vector<int> listeners;
  std::vector<uint16_t> ports;
  const absl::Status listening = ListenAll(settings->ranks, &listeners, &ports);
  if (!listening.ok()) return listening;
  Benchmark benchmark;
  benchmark.make_rank = [&](int rank) -> absl::StatusOr<std::unique_ptr<Rank>> {
    absl::StatusOr<std::unique_ptr<TlsRing>> ring = TlsRing::Connect(rank, listeners, ports);
    if (!ring.ok()) return ring.status();
    return std::make_unique<TlsRank>(*settings, rank, *std::move(ring));
  };
  return RunBenchmark(*settings, benchmark);
}

}  // namespace
}  // namespace caravan::bench

int main(int argc, char** argv) {
  return caravan::bench::ExitCode(caravan::bench::Main(argc, argv), argv[0]);
}
