// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/handshake_keys.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

absl::Status ExporterFailed(std::string_view label, absl::string_view why) {
  return Refusal(
      absl::StatusCode::kInternal, kExporter,
      absl::StrCat("cannot export \"", std::string(label), "\" from the channel: ", why));
}

}  // namespace

absl::StatusOr<crypto::SecretBytes> Export(const Exporter& exporter, std::string_view label,
                                           absl::Span<const uint8_t> context, size_t size) {
  absl::StatusOr<crypto::SecretBytes> value = exporter(label, context, size);
  if (!value.ok()) return ExporterFailed(label, value.status().message());
  if (value->size() != size) {
    return ExporterFailed(label, absl::StrCat("got ", value->size(), " bytes, expected ", size));
  }
  const absl::Span<const uint8_t> bytes = value->Expose();
  if (std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == 0; })) {
    return ExporterFailed(label, "got nothing but zeros");
  }
  return value;
}

absl::StatusOr<crypto::SessionId> ExportSessionId(const Exporter& exporter) {
  crypto::SessionId id{};
  absl::StatusOr<crypto::SecretBytes> value =
      Export(exporter, "caravan/1 session id", {}, id.size());
  if (!value.ok()) return value.status();
  std::copy_n(value->Expose().begin(), id.size(), id.begin());
  return id;
}

absl::StatusOr<attestation::Binder> ExportBinder(const Exporter& exporter,
                                                 const Challenge& challenge) {
  crypto::ByteWriter context;
  context.U8(static_cast<uint8_t>(challenge.attester)).U32(challenge.round);
  context.Fixed(challenge.nonce).Fixed(challenge.policy_digest);
  attestation::Binder binder;
  absl::StatusOr<crypto::SecretBytes> value =
      Export(exporter, "caravan/1 binding", context.span(), binder.bytes.size());
  if (!value.ok()) return value.status();
  std::copy_n(value->Expose().begin(), binder.bytes.size(), binder.bytes.begin());
  return binder;
}

crypto::Sha384Digest TranscriptHash(std::string_view initiator_spki,
                                    std::string_view responder_spki,
                                    const std::vector<std::string>& messages) {
  crypto::ByteWriter transcript;
  transcript.Prefixed(initiator_spki).Prefixed(responder_spki);
  for (const std::string& message : messages) transcript.Prefixed(message);
  return crypto::Sha384(transcript.span());
}

absl::StatusOr<crypto::SecretBytes> ExportSessionSecret(const Exporter& exporter,
                                                        const crypto::Sha384Digest& transcript,
                                                        const crypto::SecretBytes& psk) {
  absl::StatusOr<crypto::SecretBytes> exported =
      Export(exporter, "caravan/1 session", transcript, crypto::kParentSize);
  if (!exported.ok()) return exported.status();
  return crypto::SessionSecret(psk, *exported);
}

absl::StatusOr<crypto::Sha384Digest> ReplacementMac(const crypto::SecretBytes& old_secret,
                                                    crypto::Role role,
                                                    std::string_view initiator_spki,
                                                    std::string_view responder_spki,
                                                    const crypto::SessionId& new_session) {
  crypto::ByteWriter fields;
  fields.U8(static_cast<uint8_t>(role));
  absl::StatusOr<crypto::SecretBytes> key =
      crypto::Expand(old_secret, "replace", fields.span(), crypto::kParentSize);
  if (!key.ok()) return key.status();
  crypto::ByteWriter bytes;
  bytes.Prefixed(initiator_spki).Prefixed(responder_spki).Fixed(new_session);
  return crypto::HmacSha384(*key, bytes.span());
}

}  // namespace caravan::session
