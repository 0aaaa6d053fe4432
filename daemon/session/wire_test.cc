// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "crypto/hash.h"
#include "daemon/session/frames.h"
#include "daemon/session/messages.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

Hello SampleHello() {
  Hello hello;
  hello.role = crypto::Role::kResponder;
  hello.round = 3;
  hello.nonce.fill(7);
  hello.policy_digest.fill(8);
  hello.replaces = Replacement();
  hello.replaces->old_session.fill(9);
  hello.offer = std::string(kMaxOfferSize, 'o');
  return hello;
}

EvidenceMessage SampleEvidence() {
  EvidenceMessage evidence;
  evidence.role = crypto::Role::kResponder;
  evidence.round = 5;
  evidence.session.fill(1);
  evidence.nonce.fill(2);
  evidence.policy_digest.fill(3);
  evidence.evidence = std::string(attestation::kMaxEvidenceSize, 'e');
  return evidence;
}

TEST(FrameReader, FindsFramesHoweverTheBytesArrive) {
  std::string bytes;
  const std::string big(kMaxFramePayload, 'b');
  AppendFrame(kInitiatorStream, false, crypto::AsBytes(big), &bytes);
  AppendFrame(kResponderStream, true, {}, &bytes);
  AppendControlFrames(crypto::AsBytes(std::string(40000, 'c')), &bytes);
  for (const size_t step : {size_t{1}, size_t{3}, size_t{4096}, bytes.size()}) {
    FrameReader reader;
    std::vector<size_t> sizes;
    std::string control;
    for (size_t at = 0; at < bytes.size(); at += step) {
      reader.Feed(crypto::AsBytes(std::string_view(bytes).substr(at, step)));
      while (true) {
        absl::StatusOr<std::optional<Frame>> frame = reader.Next();
        ASSERT_TRUE(frame.ok());
        if (!frame->has_value()) break;
        sizes.push_back((*frame)->payload.size());
        if ((*frame)->stream == kControlStream) control.append(sizes.back(), 'c');
        EXPECT_EQ((*frame)->end, (*frame)->stream == kResponderStream);
      }
    }
    EXPECT_EQ(sizes, (std::vector<size_t>{16384, 0, 16384, 16384, 7232}));
    EXPECT_EQ(control.size(), 40000u);
  }
}

TEST(Messages, ComeBackAsTheyWere) {
  const Hello hello = *DecodeHello(crypto::AsBytes(Encode(SampleHello())));
  EXPECT_EQ(Encode(hello), Encode(SampleHello()));
  const EvidenceMessage evidence = *DecodeEvidence(crypto::AsBytes(Encode(SampleEvidence())));
  EXPECT_EQ(Encode(evidence), Encode(SampleEvidence()));
  Alert alert{absl::StatusCode::kPermissionDenied, "SNP_MEASUREMENT"};
  EXPECT_EQ(DecodeAlert(crypto::AsBytes(Encode(alert)))->reason, "SNP_MEASUREMENT");
  EXPECT_EQ(DecodeAlert(crypto::AsBytes(Encode(alert)))->code, absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(DecodeRoundRequest(crypto::AsBytes(Encode(RoundRequest{4})))->round, 4u);
}

// Every prefix of every message, and every message with a byte more, is malformed.
TEST(Messages, AreWholeOrRefused) {
  const std::string hello = Encode(SampleHello());
  EvidenceMessage small = SampleEvidence();
  small.evidence = "evidence";
  const std::string all[] = {hello, Encode(small), Encode(Accept()),
                             Encode(Alert{absl::StatusCode::kAborted, "X"}),
                             Encode(RoundRequest())};
  const auto decode = [](const std::string& message) -> absl::Status {
    const absl::Span<const uint8_t> bytes = crypto::AsBytes(message);
    switch (*TypeOf(bytes)) {
      case MessageType::kHello:
        return DecodeHello(bytes).status();
      case MessageType::kEvidence:
        return DecodeEvidence(bytes).status();
      case MessageType::kAccept:
        return DecodeAccept(bytes).status();
      case MessageType::kAlert:
        return DecodeAlert(bytes).status();
      case MessageType::kRoundRequest:
        return DecodeRoundRequest(bytes).status();
    }
    return absl::OkStatus();
  };
  for (const std::string& message : all) {
    EXPECT_TRUE(decode(message).ok());
    for (size_t size = 0; size < message.size() - kMessageHeaderSize; ++size) {
      crypto::ByteWriter cut;
      cut.U8(static_cast<uint8_t>(message[0]));
      cut.Prefixed(message.substr(kMessageHeaderSize, size));
      EXPECT_EQ(ReasonOf(decode(cut.str())), kMessageFormat) << size;
    }
    crypto::ByteWriter longer;
    longer.U8(static_cast<uint8_t>(message[0]));
    longer.Prefixed(message.substr(kMessageHeaderSize) + "!");
    EXPECT_EQ(ReasonOf(decode(longer.str())), kMessageFormat);
  }
}

TEST(Messages, AnAlertCarriesANameAndNothingElse) {
  for (const std::string& reason :
       {std::string("lower case"), std::string(), std::string("A\nB"), std::string(65, 'A')}) {
    EXPECT_FALSE(
        DecodeAlert(crypto::AsBytes(Encode(Alert{absl::StatusCode::kAborted, reason}))).ok());
  }
  EXPECT_FALSE(DecodeAlert(crypto::AsBytes(Encode(Alert{absl::StatusCode::kOk, "X"}))).ok());
}

TEST(MessageReader, PutsMessagesTogetherAndStopsAtTheLimitOfTheirType) {
  MessageReader reader;
  const std::string two = Encode(SampleHello()) + Encode(Accept());
  std::vector<size_t> sizes;
  for (const char byte : two) {
    reader.Feed(crypto::AsBytes(std::string_view(&byte, 1)));
    absl::StatusOr<std::optional<std::string>> message = reader.Next();
    ASSERT_TRUE(message.ok());
    if (message->has_value()) sizes.push_back((*message)->size());
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{Encode(SampleHello()).size(), Encode(Accept()).size()}));

  // The length alone is enough: nothing of the payload is needed to refuse.
  const std::pair<uint8_t, size_t> limits[] = {
      {1, Encode(SampleHello()).size()},
      {2, Encode(SampleEvidence()).size()},
      {3, Encode(Accept()).size()},
      {4, Encode(Alert{absl::StatusCode::kAborted, std::string(kMaxReasonSize, 'A')}).size()},
      {5, Encode(RoundRequest()).size()}};
  for (const auto& [type, size] : limits) {
    for (const size_t over : {0, 1}) {
      crypto::ByteWriter head;
      head.U8(type).U32(static_cast<uint32_t>(size - kMessageHeaderSize + over));
      MessageReader fresh;
      fresh.Feed(head.span());
      EXPECT_EQ(ReasonOf(fresh.Next().status()), over == 0 ? "" : kMessageSize) << int{type};
    }
  }
}

TEST(Reasons, AreTheNameInTheLastBrackets) {
  EXPECT_EQ(ReasonOf(Refusal(absl::StatusCode::kAborted, kSelf, "text [OTHER] more")), "SELF");
  EXPECT_EQ(ReasonOf(absl::AbortedError("no name")), "");
  EXPECT_EQ(ReasonOf(absl::AbortedError("not a name [lower]")), "");
  EXPECT_EQ(ReasonOf(absl::AbortedError("]")), "");
  EXPECT_EQ(ReasonOf(absl::OkStatus()), "");
}

}  // namespace
}  // namespace caravan::session
