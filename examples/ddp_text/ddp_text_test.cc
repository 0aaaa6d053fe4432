// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "examples/ddp_text/canary.h"
#include "examples/ddp_text/data.h"
#include "examples/ddp_text/model.h"
#include "examples/ddp_text/train.h"

namespace caravan::ddp_text {
namespace {

std::string Text() {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the quick brown fox jumps over the lazy dog. ";
  return text;
}

Shape SmallShape(const Corpus& corpus) {
  Shape shape;
  shape.vocabulary = corpus.vocabulary();
  shape.embedding = 4;
  shape.hidden = 11;
  return shape;
}

TEST(Shards, CoverTheBatchOnce) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    int next = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto [first, last] = ShardOf(32, rank, ranks);
      EXPECT_EQ(first, next);
      next = last;
    }
    EXPECT_EQ(next, 32);
  }
}

TEST(Corpus, RefusesTextShorterThanASample) {
  EXPECT_EQ(Corpus::FromText("short").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Corpus::Load("/nonexistent").status().code(), absl::StatusCode::kNotFound);
}

TEST(Model, GradientEqualsFiniteDifferences) {
  const Corpus corpus = *Corpus::FromText(Text());
  const Shape shape = SmallShape(corpus);
  std::vector<float> parameters = InitialParameters(shape, 7);
  Model model(shape);
  const Sample sample = corpus.Pick(1, 1);
  std::vector<float> gradient(shape.parameters());
  model.Accumulate(parameters, sample, 1, gradient.data());
  std::vector<float> ignored(shape.parameters());
  for (size_t i = 0; i < parameters.size(); i += 3) {
    const float kept = parameters[i];
    constexpr float kStep = 1e-2f;
    parameters[i] = kept + kStep;
    const float above = model.Accumulate(parameters, sample, 1, ignored.data());
    parameters[i] = kept - kStep;
    const float below = model.Accumulate(parameters, sample, 1, ignored.data());
    parameters[i] = kept;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 2e-3) << "parameter " << i;
  }
}

TEST(Training, LearnsASimpleText) {
  const Corpus corpus = *Corpus::FromText(Text());
  const Shape shape = SmallShape(corpus);
  TrainOptions options;
  options.steps = 200;
  options.batch = 32;
  options.progress = false;
  options.rate = 0.02f;
  std::vector<float> gradient(shape.parameters() + 1);
  ASSERT_TRUE(
      Train(shape, options, SingleProcess(corpus, shape, options), gradient.data()).ok());
  EXPECT_LT(gradient.back(), 1.0f);  // ln(28) = 3.3 for a guess
}

TEST(Training, AgreesWhateverTheOrderOfRanks) {
  const Corpus corpus = *Corpus::FromText(Text());
  const Shape shape = SmallShape(corpus);
  TrainOptions options;
  options.steps = 150;
  options.batch = 64;
  options.ranks = 4;
  options.progress = false;
  std::vector<float> gradient(shape.parameters() + 1);
  const auto forward =
      Train(shape, options, SingleProcess(corpus, shape, options), gradient.data());
  Model model(shape);
  std::vector<float> shard(gradient.size());
  const auto backward = Train(
      shape, options,
      [&](int step, const std::vector<float>& parameters, float* out) {
        std::fill(out, out + gradient.size(), 0.0f);
        for (int rank = 3; rank >= 0; --rank) {
          std::fill(shard.begin(), shard.end(), 0.0f);
          AccumulateShard(corpus, options, step, rank, parameters, &model, shard.data());
          for (size_t i = 0; i < shard.size(); ++i) out[i] += shard[i];
        }
        return absl::OkStatus();
      },
      gradient.data());
  ASSERT_TRUE(forward.ok() && backward.ok());
  const auto difference = Compare(*forward, *backward);
  ASSERT_TRUE(difference.ok());
  EXPECT_GT(difference->largest, 0);
  EXPECT_LT(difference->largest, 1e-3 * difference->scale);
}

TEST(Training, StopsAtTheFirstError) {
  Shape shape;
  shape.vocabulary = 3;
  std::vector<float> gradient(shape.parameters() + 1);
  const auto result = Train(
      shape, TrainOptions{}, [](int, const std::vector<float>&, float*) {
        return absl::DataLossError("planted");
      },
      gradient.data());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDataLoss);
}

TEST(Weights, SurviveAFile) {
  const std::string path = testing::TempDir() + "/weights";
  const std::vector<float> weights = {1, -2, 3.5f};
  ASSERT_TRUE(WriteFloats(path, weights).ok());
  EXPECT_EQ(*ReadFloats(path), weights);
  EXPECT_FALSE(Compare(weights, {1, 2}).ok());
  EXPECT_FALSE(Compare({NAN}, {NAN}).ok());
}

class Capture : public testing::Test {
 protected:
  Capture() : canary_(testing::TempDir() + "/canary"), capture_(testing::TempDir() + "/capture") {
    for (int i = 0; i < 1000; ++i) values_.push_back(std::sin(static_cast<float>(i) + 0.1f));
    Canary canary;
    canary.Keep(values_.data(), values_.size());
    EXPECT_TRUE(canary.Write(canary_).ok());
  }
  void WriteCapture(const std::string& bytes) { std::ofstream(capture_, std::ios::binary) << bytes; }

  const std::string canary_;
  const std::string capture_;
  std::vector<float> values_;
};

TEST_F(Capture, FindsTensorBytesAtAnyOffset) {
  const std::string tensor(reinterpret_cast<const char*>(values_.data()), 4 * values_.size());
  WriteCapture("x" + tensor + "yz");
  const auto result = SearchCapture(canary_, capture_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->pieces, 10u);
  EXPECT_EQ(result->found, result->pieces);
}

TEST_F(Capture, FindsNothingWhereOneByteInFourDiffers) {
  std::string tensor(reinterpret_cast<const char*>(values_.data()), 4 * values_.size());
  for (size_t i = 0; i < tensor.size(); i += 4) tensor[i] ^= 1;
  WriteCapture(tensor);
  const auto result = SearchCapture(canary_, capture_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->found, 0u);
}

TEST_F(Capture, RefusesASearchThatCouldNotFail) {
  WriteCapture("");
  EXPECT_EQ(SearchCapture(canary_, capture_).status().code(), absl::StatusCode::kInvalidArgument);
  WriteCapture(std::string(1000, 'x'));
  Canary().Write(canary_).IgnoreError();
  EXPECT_EQ(SearchCapture(canary_, capture_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace caravan::ddp_text
