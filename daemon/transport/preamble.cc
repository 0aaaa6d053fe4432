// SPDX-License-Identifier: Apache-2.0
#include "daemon/transport/preamble.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "crypto/aead.h"
#include "crypto/hash.h"

namespace caravan::transport {
namespace {

absl::StatusOr<std::unique_ptr<crypto::Aead>> AeadFor(const crypto::SecretBytes& session_secret,
                                                      const crypto::ConnectionId& id,
                                                      Direction direction) {
  auto key = crypto::ConnectionKey(session_secret, id, static_cast<uint8_t>(direction));
  if (!key.ok()) return key.status();
  const crypto::Suite suite = crypto::Suite::kAes256Gcm;
  return crypto::Aead::Create(suite, crypto::BestEngine(suite), *key);
}

// What both sides have said: the associated data of the confirmations.
std::string Transcript(const crypto::ConnectionId& id) {
  const DiallerHello hello = EncodeHello(id);
  crypto::ByteWriter writer;
  writer.Fixed(hello).Fixed(id.acceptor_nonce);
  return writer.Take();
}

constexpr std::array<uint8_t, crypto::kAeadNonceSize> kZeroNonce{};

}  // namespace

absl::StatusOr<Nonce> RandomNonce() {
  auto random = crypto::SecretBytes::Random(kNonceSize);
  if (!random.ok()) return random.status();
  Nonce nonce;
  std::copy_n(random->Expose().begin(), kNonceSize, nonce.begin());
  return nonce;
}

DiallerHello EncodeHello(const crypto::ConnectionId& id) {
  crypto::ByteWriter writer;
  writer.U32(kPreambleMagic).U16(kPreambleVersion).U16(id.lane);
  writer.Fixed(id.session).Fixed(id.epoch).Fixed(id.dialler_nonce);
  DiallerHello hello;
  std::copy_n(writer.span().begin(), hello.size(), hello.begin());
  return hello;
}

absl::StatusOr<crypto::ConnectionId> DecodeHello(absl::Span<const uint8_t> hello) {
  crypto::ByteReader reader(hello);
  auto magic = reader.U32("magic");
  auto version = reader.U16("version");
  auto lane = reader.U16("lane");
  auto session = reader.Fixed(16, "session id");
  auto epoch = reader.Fixed(32, "epoch id");
  auto nonce = reader.Fixed(kNonceSize, "nonce");
  if (!nonce.ok()) return nonce.status();
  if (auto s = reader.Finish("preamble"); !s.ok()) return s;
  if (*magic != kPreambleMagic) return absl::InvalidArgumentError("preamble: wrong magic");
  if (*version != kPreambleVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("preamble: version ", *version, ", expected ", kPreambleVersion));
  }
  crypto::ConnectionId id;
  id.lane = *lane;
  std::copy(session->begin(), session->end(), id.session.begin());
  std::copy(epoch->begin(), epoch->end(), id.epoch.begin());
  std::copy(nonce->begin(), nonce->end(), id.dialler_nonce.begin());
  return id;
}

absl::StatusOr<Confirmation> Confirm(const crypto::SecretBytes& session_secret,
                                     const crypto::ConnectionId& id, Direction direction) {
  auto aead = AeadFor(session_secret, id, direction);
  if (!aead.ok()) return aead.status();
  const std::string transcript = Transcript(id);
  Confirmation tag;
  auto s = (*aead)->Seal(kZeroNonce, crypto::AsBytes(transcript), {}, {}, absl::MakeSpan(tag));
  if (!s.ok()) return s;
  return tag;
}

absl::Status CheckConfirmation(const crypto::SecretBytes& session_secret,
                               const crypto::ConnectionId& id, Direction direction,
                               absl::Span<const uint8_t> confirmation) {
  auto aead = AeadFor(session_secret, id, direction);
  if (!aead.ok()) return aead.status();
  const std::string transcript = Transcript(id);
  auto s = (*aead)->Open(kZeroNonce, crypto::AsBytes(transcript), {}, confirmation, {});
  if (absl::IsDataLoss(s)) {
    return absl::PermissionDeniedError(
        "the other side's confirmation does not verify: it does not hold this session's secret");
  }
  return s;
}

}  // namespace caravan::transport
