// SPDX-License-Identifier: Apache-2.0
#include "examples/ddp_text/model.h"

#include <algorithm>
#include <cmath>

namespace caravan::ddp_text {
namespace {

// Eight sums side by side: the compiler may not reorder one sum into vector lanes by itself.
float Dot(const float* a, const float* b, int n) {
  constexpr int kLanes = 8;
  float lanes[kLanes] = {};
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  float sum = 0;
  for (; i < n; ++i) sum += a[i] * b[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

// y += factor × x
void AddScaled(float factor, const float* x, int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] += factor * x[i];
}

}  // namespace

std::vector<float> InitialParameters(const Shape& shape, uint64_t seed) {
  std::vector<float> parameters(shape.parameters());
  const auto fill = [&](size_t first, size_t last, float scale) {
    for (size_t i = first; i < last; ++i) {
      const double unit = static_cast<double>(Mix(seed + i) >> 11) / (1ull << 53);
      parameters[i] = static_cast<float>((2 * unit - 1) * scale);
    }
  };
  fill(shape.embeddings(), shape.hidden_weights(), 0.5f);
  fill(shape.hidden_weights(), shape.hidden_bias(),
       std::sqrt(3.0f / static_cast<float>(shape.input())));
  fill(shape.output_weights(), shape.output_bias(),
       std::sqrt(3.0f / static_cast<float>(shape.hidden)));
  return parameters;
}

Model::Model(const Shape& shape)
    : shape_(shape),
      input_(shape.input()),
      hidden_(shape.hidden),
      output_(shape.vocabulary),
      hidden_error_(shape.hidden),
      input_error_(shape.input()) {}

float Model::Accumulate(const std::vector<float>& parameters, const Sample& sample, float weight,
                        float* gradient) {
  const float loss = Forward(parameters, sample);
  Backward(parameters, sample, weight, gradient);
  return loss;
}

float Model::Forward(const std::vector<float>& parameters, const Sample& sample) {
  const float* p = parameters.data();
  for (int c = 0; c < kContext; ++c) {
    const float* row = p + shape_.embeddings() + sample.context[c] * shape_.embedding;
    std::copy(row, row + shape_.embedding, &input_[c * shape_.embedding]);
  }
  for (int h = 0; h < shape_.hidden; ++h) {
    const float* row = p + shape_.hidden_weights() + static_cast<size_t>(h) * shape_.input();
    hidden_[h] = std::tanh(p[shape_.hidden_bias() + h] + Dot(row, input_.data(), shape_.input()));
  }
  for (int v = 0; v < shape_.vocabulary; ++v) {
    const float* row = p + shape_.output_weights() + static_cast<size_t>(v) * shape_.hidden;
    output_[v] = p[shape_.output_bias() + v] + Dot(row, hidden_.data(), shape_.hidden);
  }
  const float highest = *std::max_element(output_.begin(), output_.end());
  float sum = 0;
  for (float& value : output_) sum += value = std::exp(value - highest);
  for (float& value : output_) value /= sum;
  return -std::log(std::max(output_[sample.next], 1e-30f));
}

void Model::Backward(const std::vector<float>& parameters, const Sample& sample, float weight,
                     float* g) {
  const float* p = parameters.data();
  std::fill(hidden_error_.begin(), hidden_error_.end(), 0.0f);
  std::fill(input_error_.begin(), input_error_.end(), 0.0f);
  for (int v = 0; v < shape_.vocabulary; ++v) {
    const float error = weight * (output_[v] - (v == sample.next ? 1.0f : 0.0f));
    const size_t row = shape_.output_weights() + static_cast<size_t>(v) * shape_.hidden;
    g[shape_.output_bias() + v] += error;
    AddScaled(error, hidden_.data(), shape_.hidden, g + row);
    AddScaled(error, p + row, shape_.hidden, hidden_error_.data());
  }
  for (int h = 0; h < shape_.hidden; ++h) {
    const float error = hidden_error_[h] * (1 - hidden_[h] * hidden_[h]);
    const size_t row = shape_.hidden_weights() + static_cast<size_t>(h) * shape_.input();
    g[shape_.hidden_bias() + h] += error;
    AddScaled(error, input_.data(), shape_.input(), g + row);
    AddScaled(error, p + row, shape_.input(), input_error_.data());
  }
  for (int c = 0; c < kContext; ++c) {
    AddScaled(1, &input_error_[c * shape_.embedding], shape_.embedding,
              g + shape_.embeddings() + sample.context[c] * shape_.embedding);
  }
}

void Adam::Step(const float* gradient, std::vector<float>* parameters) {
  constexpr float kMeanDecay = 0.9f;
  constexpr float kSquareDecay = 0.999f;
  constexpr float kEpsilon = 1e-8f;
  ++step_;
  const float mean_scale = 1 / (1 - std::pow(kMeanDecay, static_cast<float>(step_)));
  const float square_scale = 1 / (1 - std::pow(kSquareDecay, static_cast<float>(step_)));
  for (size_t i = 0; i < parameters->size(); ++i) {
    mean_[i] = kMeanDecay * mean_[i] + (1 - kMeanDecay) * gradient[i];
    square_[i] = kSquareDecay * square_[i] + (1 - kSquareDecay) * gradient[i] * gradient[i];
    (*parameters)[i] -=
        rate_ * mean_[i] * mean_scale / (std::sqrt(square_[i] * square_scale) + kEpsilon);
  }
}

}  // namespace caravan::ddp_text
