// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/epoch.h"

#include <algorithm>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "collective/cost/selector.h"
#include "crypto/aead.h"
#include "crypto/nonce_ledger.h"

namespace caravan::membership {
namespace {

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("roster: ", what));
}

absl::Status CheckMember(const v1::Roster& roster, int index) {
  const v1::Member& member = roster.members(index);
  auto bad = [&](absl::string_view what) {
    return Bad(absl::StrCat("member ", index, ": ", what));
  };
  if (member.rank() != static_cast<uint32_t>(index)) {
    return bad(absl::StrCat("has rank ", member.rank(), ": members stand in rank order"));
  }
  if (member.spki().size() != 32) return bad("spki is not 32 bytes");
  if (member.root_session().size() != 16) return bad("root_session is not 16 bytes");
  if (member.contribution().size() != kContributionSize) return bad("contribution is not 32 bytes");
  if (member.node().size() > kMaxNodeName) return bad("node is longer than 64 bytes");
  if (member.control_address().size() > kMaxAddress || member.data_address().size() > kMaxAddress) {
    return bad("an address is longer than 300 bytes");
  }
  if (member.suites().empty() || static_cast<size_t>(member.suites_size()) > kMaxSuites) {
    return bad("offers no suite, or more than 8");
  }
  if (std::find(member.suites().begin(), member.suites().end(), roster.suite()) ==
      member.suites().end()) {
    return bad(absl::StrCat("does not offer the suite ", SuiteText(roster.suite())));
  }
  bool is_root = index == 0;
  bool zero = std::all_of(member.root_session().begin(), member.root_session().end(),
                          [](char c) { return c == 0; });
  if (is_root != zero) return bad("root_session is zero for the root, and for nobody else");
  return absl::OkStatus();
}

template <size_t N>
absl::Span<const uint8_t> Bytes(const std::array<uint8_t, N>& array) {
  return array;
}

}  // namespace

absl::Status WrongSize(absl::string_view what, size_t got, size_t want) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": has ", got, " bytes, expected ", want));
}

absl::Status CheckRoster(const v1::Roster& roster) {
  if (roster.communicator().empty() || roster.communicator().size() > kMaxCommunicatorName) {
    return Bad("communicator is not 1 to 128 bytes");
  }
  uint32_t size = roster.members_size();
  if (size == 0 || size > kMaxRanks) return Bad(absl::StrCat("has ", size, " members"));
  if (roster.policy_digest().size() != 32) return Bad("policy_digest is not 32 bytes");
  if (roster.chunk_log2() < crypto::kMinChunkLog2 || roster.chunk_log2() > crypto::kMaxChunkLog2) {
    return Bad(absl::StrCat("chunk_log2 is ", roster.chunk_log2(), ", not 14 to 18"));
  }
  if (roster.lanes() < 1 || roster.lanes() > kMaxLanes) {
    return Bad(absl::StrCat("lanes is ", roster.lanes(), ", not 1 to 16"));
  }
  if (roster.ranks_per_node() > kMaxRanksPerNode) {
    return Bad(absl::StrCat("ranks_per_node is ", roster.ranks_per_node(), ", not 1 to ",
                            kMaxRanksPerNode));
  }
  if (roster.selector_table().size() > kMaxSelectorTable) return Bad("selector_table is too long");
  if (auto table = collective::ParseSelectorTable(roster.selector_table()); !table.ok()) {
    return Bad(table.status().message());
  }
  if (roster.suite() != 1 && roster.suite() != 2) {
    return Bad(absl::StrCat("suite ", roster.suite(), " is unknown"));
  }
  std::set<std::string> nodes;
  for (uint32_t i = 0; i < size; ++i) {
    if (absl::Status status = CheckMember(roster, i); !status.ok()) return status;
    if (!nodes.insert(roster.members(i).spki()).second) {
      return Bad(absl::StrCat("member ", i, " is a node that stands in it already"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRosterFor(const v1::Roster& roster, const OwnPart& own,
                            const crypto::Sha256Digest& root_spki) {
  if (absl::Status status = CheckRoster(roster); !status.ok()) return status;
  if (roster.communicator() != own.communicator) return Bad("communicator is another one");
  if (static_cast<uint32_t>(roster.members_size()) != own.size) {
    return Bad(absl::StrCat("has ", roster.members_size(), " members, asked for ", own.size));
  }
  if (roster.members(0).spki() != ToBytes(root_spki)) {
    return Bad("rank 0 is not the node at the root's address");
  }
  const v1::Member& self = roster.members(own.rank);
  if (self.spki() != ToBytes(own.spki)) return Bad("own spki differs");
  if (self.root_session() != ToBytes(own.root_session)) return Bad("own root_session differs");
  if (self.contribution() != own.contribution) return Bad("own contribution differs");
  if (!std::equal(self.suites().begin(), self.suites().end(), own.suites.begin(),
                  own.suites.end())) {
    return Bad("own suites differ from the offer");
  }
  if (roster.policy_digest() != ToBytes(own.policy_digest)) {
    return Bad("policy_digest is not the one of this node's policy");
  }
  if (roster.chunk_log2() != own.chunk_log2) return Bad("chunk_log2 differs from the request");
  if (own.lanes != 0 && roster.lanes() != own.lanes) return Bad("lanes differs from the request");
  if (RanksPerNode(roster) != own.ranks_per_node) {
    return Bad("ranks_per_node differs from the request");
  }
  if (!own.suite.empty() && SuiteText(roster.suite()) != own.suite) {
    return Bad(absl::StrCat("suite is ", SuiteText(roster.suite()), ", asked for ", own.suite));
  }
  return absl::OkStatus();
}

crypto::EpochId ComputeEpochId(const v1::Roster& roster) {
  crypto::ByteWriter writer;
  writer.Prefixed(roster.communicator()).U64(roster.generation()).U32(roster.members_size());
  for (const v1::Member& member : roster.members()) {
    writer.Fixed(crypto::AsBytes(member.spki()));
    writer.Fixed(crypto::AsBytes(member.root_session()));
    writer.Fixed(crypto::AsBytes(member.contribution()));
    writer.U32(member.suites_size());
    for (uint32_t suite : member.suites()) writer.U32(suite);
  }
  writer.U8(static_cast<uint8_t>(roster.suite()));
  writer.Fixed(crypto::AsBytes(roster.policy_digest()));
  writer.U8(static_cast<uint8_t>(roster.chunk_log2()));
  writer.Prefixed(roster.selector_table());
  writer.U32(RanksPerNode(roster));
  return crypto::Sha256(writer.span());
}

absl::StatusOr<std::string> WrapEpochSecret(const crypto::SecretBytes& epoch_secret,
                                            const crypto::SecretBytes& session_secret,
                                            const crypto::EpochId& epoch, uint16_t recipient) {
  absl::StatusOr<crypto::SecretBytes> key = crypto::WrapKey(session_secret, epoch, recipient);
  if (!key.ok()) return key.status();
  constexpr crypto::Suite kSuite = crypto::Suite::kAes256Gcm;
  auto aead = crypto::Aead::Create(kSuite, crypto::BestEngine(kSuite), *key);
  if (!aead.ok()) return aead.status();
  const std::array<uint8_t, crypto::kAeadNonceSize> nonce{};
  std::string wrapped(epoch_secret.size() + crypto::kAeadTagSize, '\0');
  auto out = absl::MakeSpan(reinterpret_cast<uint8_t*>(wrapped.data()), wrapped.size());
  absl::Status status =
      (*aead)->Seal(nonce, Bytes(epoch), epoch_secret.Expose(), out.subspan(0, epoch_secret.size()),
                    out.subspan(epoch_secret.size()));
  if (!status.ok()) return status;
  return wrapped;
}

absl::StatusOr<crypto::SecretBytes> UnwrapEpochSecret(absl::string_view wrapped,
                                                      const crypto::SecretBytes& session_secret,
                                                      const crypto::EpochId& epoch,
                                                      uint16_t recipient) {
  constexpr size_t kWrapped = kEpochSecretSize + crypto::kAeadTagSize;
  if (wrapped.size() != kWrapped) return WrongSize("wrapped_secret", wrapped.size(), kWrapped);
  absl::StatusOr<crypto::SecretBytes> key = crypto::WrapKey(session_secret, epoch, recipient);
  if (!key.ok()) return key.status();
  constexpr crypto::Suite kSuite = crypto::Suite::kAes256Gcm;
  auto aead = crypto::Aead::Create(kSuite, crypto::BestEngine(kSuite), *key);
  if (!aead.ok()) return aead.status();
  absl::StatusOr<crypto::SecretBytes> secret = crypto::SecretBytes::Zero(kEpochSecretSize);
  if (!secret.ok()) return secret.status();
  const std::array<uint8_t, crypto::kAeadNonceSize> nonce{};
  absl::Span<const uint8_t> in(reinterpret_cast<const uint8_t*>(wrapped.data()), wrapped.size());
  absl::Status status = (*aead)->Open(nonce, Bytes(epoch), in.subspan(0, kEpochSecretSize),
                                      in.subspan(kEpochSecretSize), secret->ExposeMutable());
  if (absl::IsDataLoss(status)) {
    return absl::PermissionDeniedError(
        "wrapped_secret: was not sealed for this session, epoch and rank");
  }
  if (!status.ok()) return status;
  return secret;
}

std::string RanksText(uint32_t member, uint32_t ranks_per_node) {
  if (ranks_per_node == 1) return absl::StrCat("rank ", member);
  const uint32_t first = member * ranks_per_node;
  return absl::StrCat("ranks ", first, "-", first + ranks_per_node - 1);
}

std::string RankName(const v1::Roster& roster, uint32_t member) {
  const std::string ranks = RanksText(member, RanksPerNode(roster));
  if (member >= static_cast<uint32_t>(roster.members_size())) return ranks;
  return absl::StrCat(ranks, " (", roster.members(static_cast<int>(member)).node(), ")");
}

absl::StatusOr<crypto::Suite> ParseSuite(absl::string_view name) {
  for (crypto::Suite suite : {crypto::Suite::kAes256Gcm, crypto::Suite::kChaCha20Poly1305}) {
    if (std::string(name) == crypto::SuiteName(suite)) return suite;
  }
  return absl::InvalidArgumentError(absl::StrCat("suite: \"", absl::Utf8SafeCEscape(name),
                                                 "\" is none of AES_256_GCM, CHACHA20_POLY1305"));
}

std::string SuiteText(uint32_t suite) {
  if (suite != 1 && suite != 2) return absl::StrCat("suite ", suite);
  return std::string(crypto::SuiteName(static_cast<crypto::Suite>(suite)));
}

std::string ShortHex(absl::Span<const uint8_t> bytes) {
  size_t size = std::min<size_t>(bytes.size(), 8);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), size));
}

}  // namespace caravan::membership
