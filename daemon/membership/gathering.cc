// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/gathering.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "crypto/nonce_ledger.h"
#include "daemon/membership/epoch.h"

namespace caravan::membership {
namespace {

absl::Status Bad(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
}

bool IsNodeName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxNodeName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
         });
}

bool Offers(const v1::JoinRequest& request, uint32_t suite) {
  return std::find(request.suites().begin(), request.suites().end(), suite) !=
         request.suites().end();
}

std::string PolicyText(const v1::JoinRequest& request) {
  return absl::BytesToHexString(request.policy_digest().substr(0, 8));
}

std::string SuiteAsked(const v1::JoinRequest& request) {
  return request.suite().empty() ? "any suite" : request.suite();
}

std::string LanesAsked(const v1::JoinRequest& request) {
  return request.lanes() == 0 ? "any number of" : absl::StrCat(request.lanes());
}

// What both must have in common. Empty when they agree.
std::string Difference(const v1::JoinRequest& a, const v1::JoinRequest& b) {
  auto differ = [&](auto x, absl::string_view unit, auto y) {
    return absl::StrCat(JoinerName(a), " asked for ", x, unit, ", ", JoinerName(b), " for ", y);
  };
  if (RanksPerNode(a) != RanksPerNode(b)) {
    return differ(RanksPerNode(a), " ranks a node", RanksPerNode(b));
  }
  if (a.size() != b.size()) {
    return differ(a.size() * RanksPerNode(a), " ranks", b.size() * RanksPerNode(b));
  }
  if (a.chunk_log2() != b.chunk_log2()) {
    return differ(absl::StrCat("chunks of 2^", a.chunk_log2()), " bytes",
                  absl::StrCat("2^", b.chunk_log2()));
  }
  if (a.lanes() != b.lanes()) return differ(LanesAsked(a), " lanes", LanesAsked(b));
  if (a.suite() != b.suite()) return differ(SuiteAsked(a), "", SuiteAsked(b));
  if (a.policy_digest() != b.policy_digest()) {
    return absl::StrCat(JoinerName(a), " has policy ", PolicyText(a), "…, ", JoinerName(b), " ",
                        PolicyText(b), "…: all members need the same policy");
  }
  return "";
}

}  // namespace

std::string JoinerName(const v1::JoinRequest& request) {
  return absl::StrCat(RanksText(request.rank(), RanksPerNode(request)), " (", request.node(), ")");
}

absl::Status CheckJoin(const v1::JoinRequest& request) {
  if (request.communicator().empty() || request.communicator().size() > kMaxCommunicatorName) {
    return Bad("name", "is not 1 to 128 bytes");
  }
  if (request.size() < 1 || request.size() > kMaxRanks) {
    return Bad("size", absl::StrCat(request.size(), " is not 1 to ", kMaxRanks));
  }
  if (request.rank() >= request.size()) {
    return Bad("rank", absl::StrCat(request.rank(), " is not below the size ", request.size()));
  }
  if (request.chunk_log2() < crypto::kMinChunkLog2 ||
      request.chunk_log2() > crypto::kMaxChunkLog2) {
    return Bad("chunk_log2", absl::StrCat(request.chunk_log2(), " is not 14 to 18"));
  }
  if (request.lanes() > kMaxLanes) {
    return Bad("lanes", absl::StrCat(request.lanes(), " is not 0 to ", kMaxLanes));
  }
  if (request.ranks_per_node() > kMaxRanksPerNode) {
    return Bad("ranks_per_node",
               absl::StrCat(request.ranks_per_node(), " is not 1 to ", kMaxRanksPerNode));
  }
  if (!request.suite().empty()) {
    if (auto suite = ParseSuite(request.suite()); !suite.ok()) return suite.status();
  }
  if (request.contribution().size() != kContributionSize) {
    return Bad("contribution", "is not 32 bytes");
  }
  if (request.control_address().empty() || request.control_address().size() > kMaxAddress ||
      request.data_address().empty() || request.data_address().size() > kMaxAddress) {
    return Bad("control_address, data_address", "each is 1 to 300 bytes");
  }
  if (request.suites().empty() || static_cast<size_t>(request.suites_size()) > kMaxSuites) {
    return Bad("suites", "are not 1 to 8");
  }
  if (request.policy_digest().size() != 32) return Bad("policy_digest", "is not 32 bytes");
  if (!IsNodeName(request.node())) return Bad("node", "is not 1 to 64 of [a-z0-9.-]");
  return absl::OkStatus();
}

uint32_t Gathering::size() const {
  return members_.empty() ? 0 : members_.begin()->second.joiner.request.size();
}

bool Gathering::Holds(uint32_t rank, uint64_t ticket) const {
  auto found = members_.find(rank);
  return found != members_.end() && found->second.ticket == ticket;
}

absl::Status Gathering::Add(Joiner joiner, uint64_t ticket) {
  const v1::JoinRequest& request = joiner.request;
  for (const auto& [rank, entry] : members_) {
    const Joiner& other = entry.joiner;
    bool same_node = other.spki == joiner.spki;
    if (rank == request.rank() && same_node) continue;
    if (rank == request.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          RanksText(rank, RanksPerNode(request)), RanksPerNode(request) == 1 ? " is" : " are",
          " claimed by both ", other.request.node(), " and ", request.node()));
    }
    if (same_node) {
      return absl::InvalidArgumentError(absl::StrCat(
          RanksText(std::min(rank, request.rank()), RanksPerNode(request)), " and ",
          RanksText(std::max(rank, request.rank()), RanksPerNode(request)), " are both of node ",
          request.node(), ": give the number of ranks a node (ranks_per_node)"));
    }
    // The lowest rank that is there stands for all: they agree among themselves.
    if (std::string text = Difference(request, other.request); !text.empty()) {
      return absl::InvalidArgumentError(text);
    }
  }
  uint32_t rank = request.rank();
  members_[rank] = Entry{std::move(joiner), ticket};
  return absl::OkStatus();
}

std::string Gathering::Missing() const {
  constexpr size_t kShown = 8;
  const uint32_t per_node =
      members_.empty() ? 1 : RanksPerNode(members_.begin()->second.joiner.request);
  std::vector<std::string> missing;
  for (uint32_t rank = 0; rank < size(); ++rank) {
    // "rank 2" or "ranks 4-5", of which the list repeats the number alone.
    std::string text = RanksText(rank, per_node);
    if (members_.count(rank) == 0) missing.push_back(text.substr(text.find(' ') + 1));
  }
  size_t count = missing.size();
  missing.resize(std::min(count, kShown));
  std::string more = count > kShown ? absl::StrCat(" and ", count - kShown, " more") : "";
  const bool one = count == 1 && per_node == 1;
  return absl::StrCat(one ? "rank " : "ranks ", absl::StrJoin(missing, ", "), more,
                      one ? " has not joined" : " have not joined");
}

absl::StatusOr<uint32_t> Gathering::ChooseSuite() const {
  const v1::JoinRequest& root = members_.begin()->second.joiner.request;
  std::vector<uint32_t> wanted;
  if (!root.suite().empty()) {
    absl::StatusOr<crypto::Suite> asked = ParseSuite(root.suite());
    if (!asked.ok()) return asked.status();
    wanted.push_back(static_cast<uint32_t>(*asked));
  } else {
    wanted.push_back(static_cast<uint32_t>(crypto::Suite::kAes256Gcm));
    wanted.insert(wanted.end(), root.suites().begin(), root.suites().end());
  }
  std::string refused;
  for (uint32_t suite : wanted) {
    auto lacks = std::find_if(members_.begin(), members_.end(), [&](const auto& member) {
      return !Offers(member.second.joiner.request, suite);
    });
    if (lacks == members_.end()) return suite;
    if (refused.empty()) {
      refused =
          absl::StrCat(JoinerName(lacks->second.joiner.request), " does not offer ",
                       SuiteText(suite), ", ", JoinerName(root), " asked for ", SuiteAsked(root));
    }
  }
  return absl::InvalidArgumentError(refused);
}

absl::StatusOr<v1::Roster> Gathering::MakeRoster(uint64_t generation) const {
  absl::StatusOr<uint32_t> suite = ChooseSuite();
  if (!suite.ok()) return suite.status();
  const v1::JoinRequest& root = members_.begin()->second.joiner.request;
  v1::Roster roster;
  roster.set_communicator(root.communicator());
  roster.set_generation(generation);
  roster.set_suite(*suite);
  roster.set_policy_digest(root.policy_digest());
  roster.set_chunk_log2(root.chunk_log2());
  roster.set_lanes(root.lanes());
  roster.set_ranks_per_node(RanksPerNode(root));
  for (const auto& [rank, entry] : members_) {
    const v1::JoinRequest& request = entry.joiner.request;
    v1::Member* member = roster.add_members();
    member->set_rank(rank);
    member->set_spki(ToBytes(entry.joiner.spki));
    member->set_root_session(ToBytes(entry.joiner.root_session));
    member->set_contribution(request.contribution());
    member->set_control_address(request.control_address());
    member->set_data_address(request.data_address());
    *member->mutable_suites() = request.suites();
    member->set_node(request.node());
  }
  return roster;
}

}  // namespace caravan::membership
