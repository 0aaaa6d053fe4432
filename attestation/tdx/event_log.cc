// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/event_log.h"

#include <openssl/evp.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/hex.h"

namespace caravan::attestation::tdx {
namespace {

constexpr uint32_t kNoAction = 3;     // EV_NO_ACTION: logged, never extended
constexpr uint16_t kSha384 = 0x000C;  // TPM_ALG_SHA384
constexpr size_t kSha1Size = 20;      // of the first event, which is in the older format
constexpr uint32_t kMrtd = 0;         // measurement register index; 1 to 4 are RTMR0 to RTMR3
constexpr uint32_t kMaxDigests = 8;
constexpr std::string_view kSignature("Spec ID Event03\0", 16);

// Sizes of the digests that a log may carry, by algorithm (TPM 2.0 part 2, 6.3).
std::optional<size_t> DigestSize(uint16_t algorithm) {
  switch (algorithm) {
    case 0x0004:
      return 20;  // SHA-1
    case 0x000B:
    case 0x0012:
      return 32;  // SHA-256, SM3
    case kSha384:
      return 48;
    case 0x000D:
      return 64;  // SHA-512
    default:
      return std::nullopt;
  }
}

// Reads little endian fields off the front; `ok` tells whether all of them fitted.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  std::string_view Take(size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view field = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
  }
  uint32_t Little(size_t size) {
    const std::string_view field = Take(size);
    uint32_t value = 0;
    for (size_t i = field.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(field[i]);
    return value;
  }
  bool ok() const { return ok_; }
  // Nothing but the padding of the log's area is left.
  bool AtPadding() const {
    return rest_.find_first_not_of('\0') == std::string_view::npos ||
           rest_.find_first_not_of('\xFF') == std::string_view::npos;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

absl::Status Malformed(size_t event, const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat("event log: event ", event, " ", problem));
}

absl::Status Extend(std::string_view digest, std::array<uint8_t, 48>* rtmr) {
  std::string both(rtmr->begin(), rtmr->end());
  both.append(digest);
  unsigned int size = 0;
  if (EVP_Digest(both.data(), both.size(), rtmr->data(), &size, EVP_sha384(), nullptr) != 1 ||
      size != rtmr->size()) {
    return absl::InternalError("openssl cannot compute SHA-384");
  }
  return absl::OkStatus();
}

// The first event tells the format: TCG_EfiSpecIDEvent in the older event structure.
absl::Status ReadHeader(Cursor& in) {
  in.Little(4);
  const uint32_t type = in.Little(4);
  in.Take(kSha1Size);
  const std::string_view data = in.Take(in.Little(4));
  if (!in.ok() || type != kNoAction || !data.starts_with(kSignature)) {
    return Malformed(0, "is no Spec ID Event03");
  }
  return absl::OkStatus();
}

absl::Status ReadEvent(Cursor& in, size_t index, Replay* replay) {
  const uint32_t target = in.Little(4);
  const uint32_t type = in.Little(4);
  const uint32_t digests = in.Little(4);
  if (!in.ok() || digests > kMaxDigests) return Malformed(index, "has a malformed digest list");
  std::string_view sha384;
  for (uint32_t i = 0; i < digests; ++i) {
    const auto algorithm = static_cast<uint16_t>(in.Little(2));
    const std::optional<size_t> size = DigestSize(algorithm);
    if (!size.has_value()) {
      return Malformed(index, absl::StrCat("has a digest of unknown algorithm ", algorithm));
    }
    const std::string_view digest = in.Take(*size);
    if (algorithm == kSha384) sha384 = digest;
  }
  in.Take(in.Little(4));
  if (!in.ok()) return Malformed(index, "reaches past the end");
  if (type == kNoAction) return absl::OkStatus();
  if (target > replay->rtmrs.size()) {
    return Malformed(index, absl::StrCat("is for register ", target, ", expected 0 to 4"));
  }
  if (sha384.empty()) return Malformed(index, "has no SHA-384 digest");
  // The TDX module measures into MRTD by its own rules, before any event is logged.
  if (target == kMrtd) return absl::OkStatus();
  ++replay->events;
  return Extend(sha384, &replay->rtmrs[target - 1]);
}

}  // namespace

absl::StatusOr<Replay> ReplayEventLog(std::string_view log) {
  if (log.size() > kMaxEventLogSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("event log: ", log.size(), " bytes, at most ", kMaxEventLogSize));
  }
  Cursor in(log);
  if (absl::Status header = ReadHeader(in); !header.ok()) return header;
  Replay replay;
  for (size_t index = 1; !in.AtPadding(); ++index) {
    if (index > kMaxEvents) return Malformed(index, "is one too many");
    if (absl::Status event = ReadEvent(in, index, &replay); !event.ok()) return event;
  }
  return replay;
}

absl::Status CheckEventLog(std::string_view log, const Rtmrs& quoted) {
  absl::StatusOr<Replay> replay = ReplayEventLog(log);
  if (!replay.ok()) return replay.status();
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (replay->rtmrs[i] == quoted[i]) continue;
    return absl::PermissionDeniedError(absl::StrCat("event log: replaying it gives RTMR", i, " ",
                                                    base::ToHex(replay->rtmrs[i]),
                                                    ", the quote has ", base::ToHex(quoted[i])));
  }
  return absl::OkStatus();
}

}  // namespace caravan::attestation::tdx
