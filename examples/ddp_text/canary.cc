// SPDX-License-Identifier: Apache-2.0
#include "examples/ddp_text/canary.h"

#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <unordered_map>

#include "absl/strings/str_cat.h"

namespace caravan::ddp_text {
namespace {

constexpr size_t kPieces = 64;         // looked at in one vector
constexpr size_t kDistinctBytes = 16;  // of kCanaryBytes

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

}  // namespace

void Canary::Keep(const float* values, size_t count) {
  const char* bytes = reinterpret_cast<const char*>(values);
  const size_t size = count * sizeof(float);
  if (size < kCanaryBytes) return;
  for (size_t i = 0; i < kPieces; ++i) {
    const size_t at = (size - kCanaryBytes) / kPieces * i / sizeof(float) * sizeof(float);
    const std::string piece(bytes + at, kCanaryBytes);
    if (std::set<char>(piece.begin(), piece.end()).size() >= kDistinctBytes) pieces_ += piece;
  }
}

absl::Status Canary::Write(const std::string& path) const {
  std::ofstream out(path, std::ios::binary);
  out << pieces_;
  out.close();
  if (!out) return absl::UnavailableError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

absl::StatusOr<CanaryResult> SearchCapture(const std::string& canary, const std::string& capture) {
  const absl::StatusOr<std::string> pieces = ReadFile(canary);
  if (!pieces.ok()) return pieces.status();
  const absl::StatusOr<std::string> text = ReadFile(capture);
  if (!text.ok()) return text.status();
  if (pieces->size() < kCanaryBytes || text->size() < kCanaryBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("nothing to search: ", canary, " holds ", pieces->size(), " bytes, ", capture,
                     " ", text->size()));
  }
  // One pass over the capture, whatever the number of pieces: look up each 8-byte window.
  std::unordered_map<uint64_t, std::vector<size_t>> starts;
  CanaryResult result;
  result.searched_bytes = text->size();
  for (size_t at = 0; at + kCanaryBytes <= pieces->size(); at += kCanaryBytes) {
    uint64_t start;
    std::memcpy(&start, pieces->data() + at, sizeof(start));
    starts[start].push_back(at);
    ++result.pieces;
  }
  std::set<size_t> found;
  for (size_t i = 0; i + kCanaryBytes <= text->size(); ++i) {
    uint64_t window;
    std::memcpy(&window, text->data() + i, sizeof(window));
    const auto candidates = starts.find(window);
    if (candidates == starts.end()) continue;
    for (const size_t at : candidates->second) {
      if (std::memcmp(text->data() + i, pieces->data() + at, kCanaryBytes) == 0) found.insert(at);
    }
  }
  result.found = found.size();
  return result;
}

}  // namespace caravan::ddp_text
