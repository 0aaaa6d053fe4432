// SPDX-License-Identifier: Apache-2.0
//
// Text as training data: characters become small numbers, windows of them become samples.
#ifndef CARAVAN_EXAMPLES_DDP_TEXT_DATA_H_
#define CARAVAN_EXAMPLES_DDP_TEXT_DATA_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace caravan::ddp_text {

inline constexpr int kContext = 12;  // characters that the model sees before the one it guesses

// A stretch of text and the character that follows it.
struct Sample {
  const uint8_t* context;  // kContext characters
  uint8_t next;
};

// The text of all files in a folder, in the order of their names, as character numbers.
class Corpus {
 public:
  // NotFound when there is no readable text there; InvalidArgument when it is shorter than one
  // sample.
  static absl::StatusOr<Corpus> Load(const std::string& folder);
  static absl::StatusOr<Corpus> FromText(const std::string& text);

  int vocabulary() const { return vocabulary_; }
  size_t characters() const { return text_.size(); }

  // Sample `index` of step `step`: any rank that asks for it gets the same one.
  Sample Pick(uint64_t step, uint64_t index) const;

 private:
  std::vector<uint8_t> text_;
  int vocabulary_ = 0;
};

// The samples [first, second) of a batch that belong to `rank`: shards differ by one at most.
std::pair<int, int> ShardOf(int batch, int rank, int ranks);

// A hash that spreads: SplitMix64's finaliser (Steele, Lea, Flood 2014).
uint64_t Mix(uint64_t x);

}  // namespace caravan::ddp_text

#endif  // CARAVAN_EXAMPLES_DDP_TEXT_DATA_H_
