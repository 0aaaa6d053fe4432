// SPDX-License-Identifier: Apache-2.0
//
// Messages of the handshake: what decodes encodes to the same bytes; the reader cuts a stream into
// messages that are whole.
#include "absl/types/span.h"
#include "daemon/session/messages.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

using session::MessageType;

template <typename Message>
void RequireOneEncoding(const absl::StatusOr<Message>& message, const std::string& bytes) {
  if (message.ok()) Require(session::Encode(*message) == bytes, "messages have one encoding");
}

void DecodeEveryWay(const std::string& bytes) {
  const absl::Span<const uint8_t> span(reinterpret_cast<const uint8_t*>(bytes.data()),
                                       bytes.size());
  const auto type = session::TypeOf(span);
  if (!type.ok()) return;
  switch (*type) {
    case MessageType::kHello:
      return RequireOneEncoding(session::DecodeHello(span), bytes);
    case MessageType::kEvidence:
      return RequireOneEncoding(session::DecodeEvidence(span), bytes);
    case MessageType::kAccept:
      return RequireOneEncoding(session::DecodeAccept(span), bytes);
    case MessageType::kAlert:
      return RequireOneEncoding(session::DecodeAlert(span), bytes);
    case MessageType::kRoundRequest:
      return RequireOneEncoding(session::DecodeRoundRequest(span), bytes);
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  session::Hello hello;
  hello.offer = "offer";
  session::Hello replacing = hello;
  replacing.replaces = session::Replacement{};
  session::EvidenceMessage evidence;
  evidence.evidence = "evidence";
  session::Alert alert;
  alert.code = absl::StatusCode::kPermissionDenied;
  alert.reason = "SNP_MEASUREMENT";
  return {session::Encode(hello),
          session::Encode(replacing),
          session::Encode(evidence),
          session::Encode(session::Accept{}),
          session::Encode(alert),
          session::Encode(session::RoundRequest{3}),
          session::Encode(hello) + session::Encode(evidence)};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  fuzz::DecodeEveryWay(std::string(reinterpret_cast<const char*>(data), size));
  session::MessageReader reader;
  reader.Feed({data, size});
  size_t total = 0;
  for (;;) {
    const auto message = reader.Next();
    if (!message.ok() || !message->has_value()) break;
    total += (*message)->size();
    fuzz::Require(total <= size, "a reader makes no bytes up");
    fuzz::DecodeEveryWay(**message);
  }
  return 0;
}
