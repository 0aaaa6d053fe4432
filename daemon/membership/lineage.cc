// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/lineage.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "crypto/hash.h"
#include "daemon/membership/epoch.h"

namespace caravan::membership {
namespace {

// "train[0,2,3]~0123456789abcdef" with the parent's epoch, or "train#" and a hash of it all where
// that is too long for a name.
std::string ChildName(const std::string& parent, const crypto::EpochId& epoch,
                      const std::vector<uint32_t>& members) {
  const std::string full =
      absl::StrCat(parent, "[", absl::StrJoin(members, ","), "]~", ShortHex(epoch));
  if (full.size() <= kMaxCommunicatorName) return full;
  const crypto::Sha256Digest digest =
      crypto::Sha256({reinterpret_cast<const uint8_t*>(full.data()), full.size()});
  const std::string end = absl::StrCat("#", ShortHex(digest));
  // A name of one level stays readable; below that, the hash stands for all that was before.
  const std::string begin = parent.substr(0, parent.find_first_of("[#"));
  return begin.size() + end.size() <= kMaxCommunicatorName ? absl::StrCat(begin, end) : end;
}

}  // namespace

absl::StatusOr<Lineage> TraceLineage(const v1::Roster& parent, const crypto::EpochId& epoch,
                                     uint32_t parent_rank, const std::vector<uint32_t>& members,
                                     uint32_t rank) {
  const uint32_t per_node = RanksPerNode(parent);
  const uint32_t size = static_cast<uint32_t>(parent.members_size()) * per_node;
  if (members.empty() || members.size() > size) {
    return absl::InvalidArgumentError(
        absl::StrCat("members: ", members.size(), " of a communicator of ", size));
  }
  std::vector<bool> seen(size, false);
  std::vector<uint32_t> nodes;     // in the order of the new ranks
  std::vector<uint32_t> ranks_of;  // of each of them
  for (const uint32_t member : members) {
    if (member >= size || seen[member]) {
      return absl::InvalidArgumentError(
          absl::StrCat("members: rank ", member, " of ", size, " is out of range or named twice"));
    }
    seen[member] = true;
    const uint32_t node = member / per_node;
    if (nodes.empty() || nodes.back() != node) {
      nodes.push_back(node);
      ranks_of.push_back(0);
    }
    ++ranks_of.back();
  }
  Lineage lineage;
  lineage.ranks_per_node = ranks_of.front();
  std::set<uint32_t> once;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (ranks_of[i] != lineage.ranks_per_node || !once.insert(nodes[i]).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "members: each node must have as many ranks among them, with consecutive new numbers: ",
          RankName(parent, nodes[i]), " does not"));
    }
    lineage.spkis.push_back(parent.members(static_cast<int>(nodes[i])).spki());
  }
  if (rank >= members.size() || members[rank] != parent_rank) {
    return absl::InvalidArgumentError(absl::StrCat("rank: ", rank,
                                                   " is not where members name this node, rank ",
                                                   parent_rank, " of the parent"));
  }
  lineage.name = ChildName(parent.communicator(), epoch, members);
  lineage.root_address = parent.members(static_cast<int>(nodes.front())).control_address();
  return lineage;
}

absl::Status CheckLineage(const Lineage& lineage, const v1::Roster& roster) {
  for (size_t rank = 0; rank < lineage.spkis.size(); ++rank) {
    const int index = static_cast<int>(rank);
    if (index < roster.members_size() && roster.members(index).spki() == lineage.spkis[rank]) {
      continue;
    }
    return absl::PermissionDeniedError(
        absl::StrCat(RankName(roster, static_cast<uint32_t>(rank)), " of \"", roster.communicator(),
                     "\" is not the node that it was in the parent: it may have restarted"));
  }
  return absl::OkStatus();
}

}  // namespace caravan::membership
