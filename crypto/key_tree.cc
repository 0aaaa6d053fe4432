// SPDX-License-Identifier: Apache-2.0
#include "crypto/key_tree.h"

#include "absl/strings/str_cat.h"

namespace caravan::crypto {
namespace {

constexpr std::string_view kLabelPrefix = "caravan/1 ";

absl::Status CheckParent(const SecretBytes& parent, std::string_view label) {
  if (parent.size() == kParentSize) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("deriving \"", absl::string_view(label.data(), label.size()),
                   "\": parent secret of ", parent.size(), " bytes, expected ", kParentSize));
}

}  // namespace

absl::StatusOr<SecretBytes> Expand(const SecretBytes& parent, std::string_view label,
                                   absl::Span<const uint8_t> fields, size_t size) {
  if (absl::Status status = CheckParent(parent, label); !status.ok()) return status;
  const size_t length = kLabelPrefix.size() + label.size();
  if (length > 255) {
    return absl::InvalidArgumentError(
        absl::StrCat("key label of ", label.size(), " bytes: at most ", 255 - kLabelPrefix.size()));
  }
  ByteWriter info;
  info.U8(static_cast<uint8_t>(length)).Label(kLabelPrefix).Label(label).Fixed(fields);
  return HkdfExpand(parent, info.span(), size);
}

absl::StatusOr<SecretBytes> SessionSecret(const SecretBytes& psk, const SecretBytes& exported) {
  if (absl::Status status = CheckParent(exported, "session"); !status.ok()) return status;
  return HkdfExtract(psk, exported);
}

absl::StatusOr<Sha384Digest> AcceptMac(const SecretBytes& session_secret, Role role, uint32_t round,
                                       const Sha384Digest& transcript) {
  ByteWriter fields;
  fields.U8(static_cast<uint8_t>(role)).U32(round);
  absl::StatusOr<SecretBytes> key = Expand(session_secret, "accept", fields.span(), kParentSize);
  if (!key.ok()) return key.status();
  return HmacSha384(*key, transcript);
}

absl::StatusOr<SecretBytes> WrapKey(const SecretBytes& session_secret, const EpochId& epoch,
                                    uint16_t recipient) {
  ByteWriter fields;
  fields.Fixed(epoch).U16(recipient);
  return Expand(session_secret, "wrap", fields.span(), kAeadKeySize);
}

absl::StatusOr<Sha384Digest> ConfirmMac(const SecretBytes& epoch_secret, const EpochId& epoch,
                                        uint16_t source, uint16_t destination) {
  ByteWriter fields;
  fields.U16(source).U16(destination);
  absl::StatusOr<SecretBytes> key = Expand(epoch_secret, "confirm", fields.span(), kParentSize);
  if (!key.ok()) return key.status();
  return HmacSha384(*key, epoch);
}

absl::StatusOr<SecretBytes> SenderParent(const SecretBytes& epoch_secret, const EpochId& epoch,
                                         uint16_t source) {
  ByteWriter fields;
  fields.Fixed(epoch).U16(source);
  return Expand(epoch_secret, "sender", fields.span(), kParentSize);
}

absl::StatusOr<SecretBytes> PairParent(const SecretBytes& session_secret,
                                       const SecretBytes& epoch_secret, const EpochId& epoch,
                                       const SessionId& session, uint16_t source,
                                       uint16_t destination) {
  for (const SecretBytes* secret : {&session_secret, &epoch_secret}) {
    if (absl::Status status = CheckParent(*secret, "pair"); !status.ok()) return status;
  }
  absl::StatusOr<SecretBytes> joint = HkdfExtract(session_secret, epoch_secret);
  if (!joint.ok()) return joint;
  ByteWriter fields;
  fields.Fixed(epoch).Fixed(session).U16(source).U16(destination);
  return Expand(*joint, "pair", fields.span(), kParentSize);
}

absl::StatusOr<SecretBytes> OpKey(const SecretBytes& parent, const EpochId& epoch,
                                  const OpKeyId& id) {
  ByteWriter fields;
  fields.U8(static_cast<uint8_t>(id.suite))
      .Fixed(epoch)
      .U8(id.op)
      .U16(id.source)
      .U16(id.destination)
      .U64(id.sequence)
      .U16(id.phase)
      .U32(id.superchunk);
  return Expand(parent, "op", fields.span(), kAeadKeySize);
}

absl::StatusOr<SecretBytes> ConnectionKey(const SecretBytes& session_secret, const ConnectionId& id,
                                          uint8_t direction) {
  ByteWriter fields;
  fields.Fixed(id.session)
      .Fixed(id.epoch)
      .U16(id.lane)
      .Fixed(id.dialler_nonce)
      .Fixed(id.acceptor_nonce)
      .U8(direction);
  return Expand(session_secret, "conn", fields.span(), kAeadKeySize);
}

}  // namespace caravan::crypto
