// SPDX-License-Identifier: Apache-2.0
//
// Frames: the same stream gives the same frames and the same end, however it arrives.
#include "absl/types/span.h"
#include "daemon/session/frames.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

// What a reader made of a stream, as text that can be compared.
std::string ReadAll(absl::Span<const uint8_t> stream, size_t piece) {
  session::FrameReader reader;
  std::string seen;
  for (size_t at = 0; at < stream.size(); at += piece) {
    reader.Feed(stream.subspan(at, piece));
    for (;;) {
      const auto frame = reader.Next();
      if (!frame.ok()) return seen + std::string(frame.status().message());
      if (!frame->has_value()) break;
      Require((*frame)->payload.size() <= session::kMaxFramePayload, "frames are bounded");
      seen += std::to_string((*frame)->stream) + ((*frame)->end ? "E" : "-") +
              std::to_string((*frame)->payload.size()) + ":";
      seen.append((*frame)->payload.begin(), (*frame)->payload.end());
    }
  }
  return seen;
}

}  // namespace

std::vector<std::string> Seeds() {
  std::string stream;
  const std::vector<uint8_t> payload = {1, 2, 3};
  session::AppendFrame(session::kControlStream, false, payload, &stream);
  session::AppendFrame(session::kInitiatorStream, false, payload, &stream);
  session::AppendFrame(session::kResponderStream, true, {}, &stream);
  return {stream};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan::fuzz;
  const absl::Span<const uint8_t> stream(data, size);
  const std::string whole = ReadAll(stream, size + 1);
  Require(whole == ReadAll(stream, 1), "frames do not depend on how bytes arrive");
  Require(whole == ReadAll(stream, 7), "frames do not depend on how bytes arrive");
  return 0;
}
