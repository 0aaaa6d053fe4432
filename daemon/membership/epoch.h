// SPDX-License-Identifier: Apache-2.0
//
// What an epoch is made of: the roster's canonical encoding and hash, the epoch secret on its way
// to a member, and the keys derived from it (docs/protocol.md, "Epochs and keys"). Pure.
#ifndef CARAVAN_DAEMON_MEMBERSHIP_EPOCH_H_
#define CARAVAN_DAEMON_MEMBERSHIP_EPOCH_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "crypto/hash.h"
#include "crypto/key_tree.h"
#include "crypto/secret_bytes.h"
#include "proto/caravan/v1/peer.pb.h"

namespace caravan::membership {

inline constexpr size_t kEpochSecretSize = 48;
inline constexpr size_t kContributionSize = 32;
inline constexpr uint32_t kMaxRanks = 1024;
inline constexpr size_t kMaxCommunicatorName = 128;
inline constexpr size_t kMaxSelectorTable = 16384;
inline constexpr size_t kMaxNodeName = 64;
inline constexpr size_t kMaxAddress = 300;
inline constexpr size_t kMaxSuites = 8;
inline constexpr uint32_t kMaxLanes = 16;
inline constexpr uint32_t kMaxRanksPerNode = 64;

// What the roster says of this member, to be compared with what this member asked for.
struct OwnPart {
  std::string communicator;
  uint32_t rank = 0;
  uint32_t size = 0;
  crypto::Sha256Digest spki{};
  crypto::SessionId root_session{};  // zero at the root
  std::string contribution;
  std::vector<uint32_t> suites;
  crypto::Sha256Digest policy_digest{};
  uint32_t chunk_log2 = 0;
  uint32_t lanes = 0;  // 0: as the root chooses
  uint32_t ranks_per_node = 1;
  std::string suite;  // asked for, or empty
};

// Checks a roster from outside: sizes and bounds, each rank once and in order, no node twice, a
// suite that every member offers, a selector table that is one. InvalidArgument names the field.
absl::Status CheckRoster(const v1::Roster& roster);
// CheckRoster, and that it says what `own` asked for and that the root is `root_spki`.
absl::Status CheckRosterFor(const v1::Roster& roster, const OwnPart& own,
                            const crypto::Sha256Digest& root_spki);

// SHA-256 of the canonical encoding: name, generation, per rank {SPKI, session with the root,
// contribution, offers}, suite, policy digest, chunk size, selector table, ranks a node. The roster
// must have passed CheckRoster.
crypto::EpochId ComputeEpochId(const v1::Roster& roster);

// The epoch secret sealed for one recipient: AES-256-GCM under its wrap key, nonce 0, associated
// data the epoch id. Used once per (session, epoch, recipient). 64 bytes.
absl::StatusOr<std::string> WrapEpochSecret(const crypto::SecretBytes& epoch_secret,
                                            const crypto::SecretBytes& session_secret,
                                            const crypto::EpochId& epoch, uint16_t recipient);
// PermissionDenied when it was not sealed for this session, epoch and recipient.
absl::StatusOr<crypto::SecretBytes> UnwrapEpochSecret(absl::string_view wrapped,
                                                      const crypto::SecretBytes& session_secret,
                                                      const crypto::EpochId& epoch,
                                                      uint16_t recipient);

// "rank 1", or "ranks 2-3" where they share the member's node.
std::string RanksText(uint32_t member, uint32_t ranks_per_node);
// The rank's name with its node: "rank 1 (node-b)".
std::string RankName(const v1::Roster& roster, uint32_t member);
// The ranks per node of a JoinRequest or a Roster: left out, it is 1.
template <typename Message>
uint32_t RanksPerNode(const Message& message) {
  return message.ranks_per_node() == 0 ? 1 : message.ranks_per_node();
}
// "AES_256_GCM" to its wire value and back. InvalidArgument lists what is known.
absl::StatusOr<crypto::Suite> ParseSuite(absl::string_view name);
std::string SuiteText(uint32_t suite);
// First 16 hex digits, for logs and messages.
std::string ShortHex(absl::Span<const uint8_t> bytes);

template <size_t N>
absl::StatusOr<std::array<uint8_t, N>> ToArray(absl::string_view bytes, absl::string_view what);
template <size_t N>
std::string ToBytes(const std::array<uint8_t, N>& array) {
  return std::string(reinterpret_cast<const char*>(array.data()), N);
}

absl::Status WrongSize(absl::string_view what, size_t got, size_t want);

template <size_t N>
absl::StatusOr<std::array<uint8_t, N>> ToArray(absl::string_view bytes, absl::string_view what) {
  if (bytes.size() != N) return WrongSize(what, bytes.size(), N);
  std::array<uint8_t, N> out;
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_EPOCH_H_
