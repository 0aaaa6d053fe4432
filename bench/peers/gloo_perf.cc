// SPDX-License-Identifier: Apache-2.0
//
// Gloo's allreduce over plain TCP, measured as ours is: the faster of its algorithms at each size.
#include <gloo/allreduce.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/harness/runner.h"
#include "bench/harness/values.h"

namespace caravan::bench {
namespace {

// The last spins on its sockets (Gloo's sync mode): one connection pair a thread, no loop thread.
constexpr std::array<const char*, 3> kVariants = {"gloo-ring", "gloo-bcube", "gloo-ring-busy-poll"};
constexpr int kRing = 0;
constexpr int kBusyPoll = 2;

class GlooRank : public Rank {
 public:
  GlooRank(const Settings& settings, int rank, const std::string& store_path)
      : settings_(settings), rank_(rank), data_(settings.max_bytes / sizeof(float) + 1) {
    gloo::rendezvous::FileStore store(store_path);
    gloo::transport::tcp::attr attr;
    attr.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(attr);
    shared_ = Connect(store, "shared", device);
    busy_ = Connect(store, "busy", device);
    for (int peer = 0; peer < settings.ranks; ++peer) {
      if (peer != rank) busy_->getPair(peer)->setSync(true, true);
    }
  }

  uint64_t Count(uint64_t bytes) const override { return bytes / sizeof(float); }
  uint64_t Bytes(uint64_t count) const override { return count * sizeof(float); }
  double BusFactor() const override { return 2.0 * (settings_.ranks - 1) / settings_.ranks; }
  std::string Suite(int variant) const override { return kVariants[variant]; }

  absl::Status Prepare(int variant, uint64_t count) override {
    if (variant == kBusyPoll && busy_count_ != count) {
      busy_ring_ = std::make_unique<gloo::AllreduceRingChunked<float>>(
          busy_, std::vector<float*>{data_.data()}, static_cast<int>(count));
      busy_count_ = count;
    }
    return absl::OkStatus();
  }

  void Fill(int, uint64_t count) override {
    FillInput("float", "sum", rank_, 0, count, bytes());
  }

  absl::Status Run(int variant, uint64_t count) override {
    try {
      if (variant == kBusyPoll) {
        busy_ring_->run();
      } else {
        gloo::AllreduceOptions options(shared_);
        options.setOutput(data_.data(), count);
        options.setAlgorithm(variant == kRing ? gloo::AllreduceOptions::Algorithm::RING
                                              : gloo::AllreduceOptions::Algorithm::BCUBE);
        options.setReduceFunction(
            static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
        gloo::allreduce(options);
      }
    } catch (const std::exception& e) {
      return absl::InternalError(absl::StrCat("gloo: ", e.what()));
    }
    return absl::OkStatus();
  }

  uint64_t CountWrong(int, uint64_t count) override {
    return CountWrongReduction("float", "sum", settings_.ranks, 0, count, bytes());
  }

 private:
  std::shared_ptr<gloo::rendezvous::Context> Connect(
      gloo::rendezvous::FileStore& store, const char* name,
      std::shared_ptr<gloo::transport::Device>& device) {
    gloo::rendezvous::PrefixStore prefixed(name, store);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank_, settings_.ranks);
    context->connectFullMesh(prefixed, device);
    return context;
  }
  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(data_.data()); }

  const Settings settings_;
  const int rank_;
  std::vector<float> data_;
  std::shared_ptr<gloo::rendezvous::Context> shared_;
  std::shared_ptr<gloo::rendezvous::Context> busy_;
  std::unique_ptr<gloo::AllreduceRingChunked<float>> busy_ring_;
  uint64_t busy_count_ = 0;
};

absl::Status Main(int argc, char** argv) {
  const absl::StatusOr<Settings> settings =
      ParseSettings(argc, argv, {{"--algorithm", "fastest"}});
  if (!settings.ok()) return settings.status();
  if (settings->type != "float" || settings->redop != "sum") {
    return absl::InvalidArgumentError("flags -d and -o: this peer measures float sums only");
  }
  const std::string algorithm = settings->extra.at("--algorithm");
  if (algorithm != "fastest" && algorithm != "all") {
    return absl::InvalidArgumentError("flag --algorithm: must be fastest (of ring and bcube) or all");
  }
  std::string folder = (std::filesystem::temp_directory_path() / "gloo_perf.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return absl::ErrnoToStatus(errno, "cannot make " + folder);
  Benchmark benchmark;
  benchmark.fastest_only = algorithm == "fastest";
  benchmark.variants = benchmark.fastest_only ? kBusyPoll : kVariants.size();
  benchmark.make_rank = [&](int rank) -> absl::StatusOr<std::unique_ptr<Rank>> {
    try {
      return std::make_unique<GlooRank>(*settings, rank, folder);
    } catch (const std::exception& e) {
      return absl::UnavailableError(absl::StrCat("gloo: cannot connect: ", e.what()));
    }
  };
  const absl::Status status = RunBenchmark(*settings, benchmark);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return status;
}

}  // namespace
}  // namespace caravan::bench

int main(int argc, char** argv) {
  return caravan::bench::ExitCode(caravan::bench::Main(argc, argv), argv[0]);
}
