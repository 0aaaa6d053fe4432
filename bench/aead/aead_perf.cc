// SPDX-License-Identifier: Apache-2.0
//
// aead_perf: GB/s (10^9 bytes) at which one core seals and opens records, for each suite, engine
// and size. The engines take turns sample by sample, so that a slow moment of the machine falls on
// all of them; the ratio over OpenSSL is the median of the ratios of neighbouring samples. Seconds
// are those that the core gave to this process.
//
//   aead_perf [-n SAMPLES] [-J FILE]
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "crypto/aead.h"
#include "crypto/secret_bytes.h"

namespace caravan::bench {
namespace {

using crypto::Aead;
using crypto::Engine;
using crypto::Suite;

constexpr size_t kSizes[] = {1 << 10, 4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20};
constexpr double kSampleSeconds = 0.002;
constexpr size_t kAdSize = 48;  // a record's header

struct Contender {
  Engine engine;
  std::unique_ptr<Aead> aead;
  int repeats = 1;  // calls a sample
  std::vector<double> seal, open;
};

struct Row {
  Suite suite;
  Engine engine;
  size_t size;
  double seal, open, ratio;
  size_t samples;
};

void Require(const absl::Status& status) {
  if (status.ok()) return;
  absl::FPrintF(stderr, "aead_perf: %s\n", status.ToString());
  std::exit(1);
}

// The time that a core gave to this thread: what other processes took is not the AEAD's.
double CoreSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double Median(std::vector<double> values) {
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  return values[middle];
}

double MedianRatio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios(a.size());
  std::transform(a.begin(), a.end(), b.begin(), ratios.begin(), std::divides<>());
  return Median(std::move(ratios));
}

// One record's buffers, shared by the contenders so that all meet the same cache.
class Record {
 public:
  explicit Record(size_t size) : plaintext_(size, 0x5A), ciphertext_(size), opened_(size) {}

  double SealSeconds(Aead& aead, int repeats) {
    return Seconds(repeats, [&] {
      return aead.Seal(nonce_, ad_, plaintext_, absl::MakeSpan(ciphertext_), absl::MakeSpan(tag_));
    });
  }
  double OpenSeconds(Aead& aead, int repeats) {
    return Seconds(repeats, [&] {
      return aead.Open(nonce_, ad_, ciphertext_, tag_, absl::MakeSpan(opened_));
    });
  }

 private:
  template <typename Call>
  static double Seconds(int repeats, Call call) {
    const double start = CoreSeconds();
    for (int i = 0; i < repeats; ++i) Require(call());
    return CoreSeconds() - start;
  }

  std::vector<uint8_t> plaintext_, ciphertext_, opened_;
  std::vector<uint8_t> nonce_ = std::vector<uint8_t>(crypto::kAeadNonceSize);
  std::vector<uint8_t> ad_ = std::vector<uint8_t>(kAdSize);
  std::vector<uint8_t> tag_ = std::vector<uint8_t>(crypto::kAeadTagSize);
};

std::vector<Row> Measure(Suite suite, size_t size, int samples, const crypto::SecretBytes& key) {
  Record record(size);
  std::vector<Contender> contenders;
  for (Engine engine : crypto::AvailableEngines(suite)) {
    absl::StatusOr<std::unique_ptr<Aead>> aead = Aead::Create(suite, engine, key);
    Require(aead.status());
    contenders.push_back({engine, *std::move(aead), 1, {}, {}});
    Contender& contender = contenders.back();
    // Warms up, and finds how many calls fill a sample.
    while (record.SealSeconds(*contender.aead, contender.repeats) < kSampleSeconds) {
      contender.repeats *= 2;
    }
  }
  for (int i = 0; i < samples; ++i) {
    for (Contender& c : contenders) {
      const double bytes = static_cast<double>(size) * c.repeats;
      c.seal.push_back(bytes / record.SealSeconds(*c.aead, c.repeats) / 1e9);
      c.open.push_back(bytes / record.OpenSeconds(*c.aead, c.repeats) / 1e9);
    }
  }
  const Contender& openssl = contenders.back();  // AvailableEngines() ends with OpenSSL
  std::vector<Row> rows;
  for (const Contender& c : contenders) {
    rows.push_back({suite, c.engine, size, Median(c.seal), Median(c.open),
                    MedianRatio(c.seal, openssl.seal), c.seal.size()});
  }
  return rows;
}

// The best engine's AES-256-GCM rows, as `./dev bench -J` joins them with other benchmarks.
std::string Json(const std::vector<Row>& rows) {
  std::string gbps, ratios;
  for (const Row& row : rows) {
    if (row.suite != Suite::kAes256Gcm || row.engine != crypto::BestEngine(row.suite)) continue;
    auto add = [&row](std::string& array, double median) {
      absl::StrAppendFormat(
          &array, "%s\n    {\"size\": %d, \"ranks\": 1, \"median\": %.4f, \"samples\": %d}",
          array.empty() ? "" : ",", row.size, median, row.samples);
    };
    add(gbps, row.seal);
    add(ratios, row.ratio);
  }
  return absl::StrFormat(
      "{\n  \"aead_gcm_gbps\": [%s\n  ],\n  \"aead_gcm_over_openssl\": [%s\n  ]\n}\n", gbps,
      ratios);
}

int Main(int argc, char** argv) {
  int samples = 41;
  const char* json = nullptr;
  for (int i = 1; i < argc; i += 2) {
    const bool has_value = i + 1 < argc;
    if (has_value && strcmp(argv[i], "-n") == 0 && std::atoi(argv[i + 1]) > 0) {
      samples = std::atoi(argv[i + 1]);
    } else if (has_value && strcmp(argv[i], "-J") == 0) {
      json = argv[i + 1];
    } else {
      absl::FPrintF(stderr, "usage: aead_perf [-n SAMPLES] [-J FILE]\n");
      return 2;
    }
  }
  absl::StatusOr<crypto::SecretBytes> key = crypto::SecretBytes::Random(crypto::kAeadKeySize);
  Require(key.status());
  absl::PrintF("# one core, GB = 10^9 bytes, medians of %d samples, %d bytes of associated data\n",
               samples, kAdSize);
  absl::PrintF("%-18s %-13s %9s %10s %10s %13s\n", "suite", "engine", "size", "seal GB/s",
               "open GB/s", "over openssl");
  std::vector<Row> rows;
  for (Suite suite : {Suite::kAes256Gcm, Suite::kChaCha20Poly1305}) {
    for (size_t size : kSizes) {
      for (const Row& row : Measure(suite, size, samples, *key)) {
        absl::PrintF(
            "%-18s %-13s %9d %10.2f %10.2f %12.2fx\n", std::string(crypto::SuiteName(row.suite)),
            std::string(crypto::EngineName(row.engine)), row.size, row.seal, row.open, row.ratio);
        rows.push_back(row);
      }
      std::fflush(stdout);
    }
  }
  if (json == nullptr) return 0;
  FILE* file = std::fopen(json, "w");
  if (file == nullptr) {
    absl::FPrintF(stderr, "aead_perf: cannot write %s: %s\n", json, strerror(errno));
    return 1;
  }
  const std::string document = Json(rows);
  const bool written = std::fwrite(document.data(), 1, document.size(), file) == document.size();
  if (std::fclose(file) != 0 || !written) {
    absl::FPrintF(stderr, "aead_perf: cannot write %s: %s\n", json, strerror(errno));
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace caravan::bench

int main(int argc, char** argv) { return caravan::bench::Main(argc, argv); }
