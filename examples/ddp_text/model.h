// SPDX-License-Identifier: Apache-2.0
//
// A small character model: an embedding for each of the context's characters, one hidden layer of
// tanh, a softmax over the next character. All parameters lie in one vector, so one allreduce
// averages all gradients.
#ifndef CARAVAN_EXAMPLES_DDP_TEXT_MODEL_H_
#define CARAVAN_EXAMPLES_DDP_TEXT_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "examples/ddp_text/data.h"

namespace caravan::ddp_text {

struct Shape {
  int vocabulary = 0;
  int embedding = 16;
  int hidden = 128;

  int input() const { return kContext * embedding; }
  // Offsets into the parameter vector, in its order.
  size_t embeddings() const { return 0; }
  size_t hidden_weights() const { return static_cast<size_t>(vocabulary) * embedding; }
  size_t hidden_bias() const { return hidden_weights() + static_cast<size_t>(hidden) * input(); }
  size_t output_weights() const { return hidden_bias() + hidden; }
  size_t output_bias() const { return output_weights() + static_cast<size_t>(vocabulary) * hidden; }
  size_t parameters() const { return output_bias() + vocabulary; }
};

// Every machine gets equal parameters: no library's random numbers are in them.
std::vector<float> InitialParameters(const Shape& shape, uint64_t seed);

// Adds the gradient of one sample's loss, times `weight`, to `gradient`; returns the loss
// (natural log). Not thread-safe: holds the activations.
class Model {
 public:
  explicit Model(const Shape& shape);
  float Accumulate(const std::vector<float>& parameters, const Sample& sample, float weight,
                   float* gradient);

 private:
  float Forward(const std::vector<float>& parameters, const Sample& sample);
  void Backward(const std::vector<float>& parameters, const Sample& sample, float weight,
                float* gradient);

  const Shape shape_;
  std::vector<float> input_;
  std::vector<float> hidden_;
  std::vector<float> output_;  // logits, then probabilities
  std::vector<float> hidden_error_;
  std::vector<float> input_error_;
};

// Adam (Kingma and Ba, 2015) with its usual constants.
class Adam {
 public:
  Adam(size_t parameters, float rate) : rate_(rate), mean_(parameters), square_(parameters) {}
  void Step(const float* gradient, std::vector<float>* parameters);

 private:
  const float rate_;
  int step_ = 0;
  std::vector<float> mean_;
  std::vector<float> square_;
};

}  // namespace caravan::ddp_text

#endif  // CARAVAN_EXAMPLES_DDP_TEXT_MODEL_H_
