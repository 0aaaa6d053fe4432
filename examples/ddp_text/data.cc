// SPDX-License-Identifier: Apache-2.0
#include "examples/ddp_text/data.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace caravan::ddp_text {

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

absl::StatusOr<Corpus> Corpus::FromText(const std::string& text) {
  if (text.size() <= kContext) {
    return absl::InvalidArgumentError(absl::StrCat("the text has ", text.size(),
                                                   " characters, a sample needs ", kContext + 1));
  }
  std::array<bool, 256> seen{};
  for (const char c : text) seen[static_cast<uint8_t>(c)] = true;
  std::array<uint8_t, 256> number{};
  Corpus corpus;
  for (int c = 0; c < 256; ++c) {
    if (seen[c]) number[c] = static_cast<uint8_t>(corpus.vocabulary_++);
  }
  corpus.text_.reserve(text.size());
  for (const char c : text) corpus.text_.push_back(number[static_cast<uint8_t>(c)]);
  return corpus;
}

absl::StatusOr<Corpus> Corpus::Load(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    // Debian's folder has links to the newest version of a licence: each text counts once.
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::string text;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::stringstream content;
    content << in.rdbuf();
    text += content.str();
  }
  if (text.empty()) return absl::NotFoundError(absl::StrCat("no readable text in ", folder));
  return FromText(text);
}

Sample Corpus::Pick(uint64_t step, uint64_t index) const {
  const uint64_t place = Mix(Mix(step) + index) % (text_.size() - kContext);
  return {&text_[place], text_[place + kContext]};
}

std::pair<int, int> ShardOf(int batch, int rank, int ranks) {
  return {batch * rank / ranks, batch * (rank + 1) / ranks};
}

}  // namespace caravan::ddp_text
