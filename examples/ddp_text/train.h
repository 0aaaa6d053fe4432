// SPDX-License-Identifier: Apache-2.0
//
// The training loop. How gradients are summed over ranks is the caller's: over Caravan, or, to
// have something to compare with, in one process.
#ifndef CARAVAN_EXAMPLES_DDP_TEXT_TRAIN_H_
#define CARAVAN_EXAMPLES_DDP_TEXT_TRAIN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/ddp_text/data.h"
#include "examples/ddp_text/model.h"

namespace caravan::ddp_text {

struct TrainOptions {
  int steps = 300;
  int batch = 256;   // samples of all ranks together
  int ranks = 1;
  float rate = 0.003f;
  uint64_t seed = 1;
  bool progress = true;
};

// Fills `gradient` (parameters() + 1 floats: the last is the loss) with the sum over all ranks of
// the gradients of step `step`. `parameters` are this step's.
using GradientSource = std::function<absl::Status(
    int step, const std::vector<float>& parameters, float* gradient)>;

// Adds rank `rank`'s shard of step `step` to `gradient`. Samples weigh 1 / batch each, so the sum
// over ranks is the batch's mean.
void AccumulateShard(const Corpus& corpus, const TrainOptions& options, int step, int rank,
                     const std::vector<float>& parameters, Model* model, float* gradient);

// All ranks' shards one after the other, summed in the order of ranks: the reference.
GradientSource SingleProcess(const Corpus& corpus, const Shape& shape,
                             const TrainOptions& options);

// Runs all steps; returns the final parameters, or the first error of `source`.
// `gradient` is memory of parameters() + 1 floats, of the caller's choice.
absl::StatusOr<std::vector<float>> Train(const Shape& shape, const TrainOptions& options,
                                         const GradientSource& source, float* gradient);

absl::Status WriteFloats(const std::string& path, const std::vector<float>& values);
absl::StatusOr<std::vector<float>> ReadFloats(const std::string& path);

struct Difference {
  double largest = 0;   // |a - b|
  double scale = 0;     // largest |a|
};
// InvalidArgument when the sizes differ or a value is not finite.
absl::StatusOr<Difference> Compare(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace caravan::ddp_text

#endif  // CARAVAN_EXAMPLES_DDP_TEXT_TRAIN_H_
