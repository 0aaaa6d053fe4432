// SPDX-License-Identifier: Apache-2.0
#include "examples/ddp_text/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"

namespace caravan::ddp_text {
namespace {

// Prints where training stands, ten to twenty times in all.
class Progress {
 public:
  explicit Progress(const TrainOptions& options)
      : options_(options), every_(std::max(1, options.steps / 15)) {}

  void Step(int step, float loss) {
    if (!options_.progress || (step % every_ != 0 && step != options_.steps)) return;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const double done = static_cast<double>(step) / options_.steps;
    const int filled = static_cast<int>(done * 24);
    std::printf("  step %4d/%d  [%s%s]  loss %.3f  %6.0f tokens/s\n", step, options_.steps,
                std::string(filled, '#').c_str(), std::string(24 - filled, '.').c_str(), loss,
                step * static_cast<double>(options_.batch) / std::max(seconds, 1e-9));
    std::fflush(stdout);
  }

 private:
  const TrainOptions options_;
  const int every_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

void AccumulateShard(const Corpus& corpus, const TrainOptions& options, int step, int rank,
                     const std::vector<float>& parameters, Model* model, float* gradient) {
  const float weight = 1.0f / static_cast<float>(options.batch);
  const auto [first, last] = ShardOf(options.batch, rank, options.ranks);
  for (int i = first; i < last; ++i) {
    gradient[parameters.size()] +=
        weight * model->Accumulate(parameters, corpus.Pick(step, i), weight, gradient);
  }
}

GradientSource SingleProcess(const Corpus& corpus, const Shape& shape,
                             const TrainOptions& options) {
  auto model = std::make_shared<Model>(shape);
  auto shard = std::make_shared<std::vector<float>>(shape.parameters() + 1);
  return [&corpus, options, model, shard](int step, const std::vector<float>& parameters,
                                          float* gradient) {
    std::fill(gradient, gradient + shard->size(), 0.0f);
    for (int rank = 0; rank < options.ranks; ++rank) {
      std::fill(shard->begin(), shard->end(), 0.0f);
      AccumulateShard(corpus, options, step, rank, parameters, model.get(), shard->data());
      for (size_t i = 0; i < shard->size(); ++i) gradient[i] += (*shard)[i];
    }
    return absl::OkStatus();
  };
}

absl::StatusOr<std::vector<float>> Train(const Shape& shape, const TrainOptions& options,
                                         const GradientSource& source, float* gradient) {
  std::vector<float> parameters = InitialParameters(shape, options.seed);
  Adam adam(parameters.size(), options.rate);
  Progress progress(options);
  for (int step = 1; step <= options.steps; ++step) {
    if (absl::Status status = source(step, parameters, gradient); !status.ok()) return status;
    adam.Step(gradient, &parameters);
    progress.Step(step, gradient[parameters.size()]);
  }
  return parameters;
}

absl::Status WriteFloats(const std::string& path, const std::vector<float>& values) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  out.close();
  if (!out) return absl::UnavailableError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> ReadFloats(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  const std::streamsize size = in.tellg();
  if (size % sizeof(float) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, " holds ", size, " bytes: not floats"));
  }
  std::vector<float> values(size / sizeof(float));
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(values.data()), size)) {
    return absl::UnavailableError(absl::StrCat("cannot read ", path));
  }
  return values;
}

absl::StatusOr<Difference> Compare(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("one holds ", a.size(), " weights, the other ", b.size()));
  }
  Difference difference;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      return absl::InvalidArgumentError(absl::StrCat("weight ", i, " is not a finite number"));
    }
    difference.largest = std::max(difference.largest, std::abs(static_cast<double>(a[i]) - b[i]));
    difference.scale = std::max(difference.scale, std::abs(static_cast<double>(a[i])));
  }
  return difference;
}

}  // namespace caravan::ddp_text
