// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/group_config.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "collective/islands/islands.h"
#include "crypto/nonce_ledger.h"

namespace caravan::engine {

absl::Status CheckConfig(const GroupConfig& config) {
  auto invalid = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("communicator \"", config.name, "\": ", what));
  };
  if (config.size == 0 || config.rank >= config.size) {
    return invalid(absl::StrCat("rank ", config.rank, " of ", config.size));
  }
  if (config.chunk_log2 < crypto::kMinChunkLog2 || config.chunk_log2 > crypto::kMaxChunkLog2) {
    return invalid(absl::StrCat("chunk_log2 ", config.chunk_log2, ": expected 14 to 18"));
  }
  if (config.deadline <= absl::ZeroDuration()) return invalid("the deadline is not positive");
  if (config.local.empty() || config.local.size() > collective::kMaxLocalRanks) {
    return invalid(absl::StrCat(config.local.size(), " ranks on this node: expected 1 to ",
                                collective::kMaxLocalRanks));
  }
  for (const LocalRank& local : config.local) {
    if (local.buffers == nullptr) return invalid("no buffer table");
  }
  if (config.peers.size() + 1 != config.size) {
    return invalid(absl::StrCat(config.peers.size(), " peers for a size of ", config.size));
  }
  std::set<uint16_t> ranks;
  for (const Peer& peer : config.peers) {
    if (peer.rank >= config.size || peer.rank == config.rank || !ranks.insert(peer.rank).second) {
      return invalid(absl::StrCat("peer rank ", peer.rank, " is out of range or given twice"));
    }
    if (peer.lanes.empty() || peer.lanes.size() != config.peers.front().lanes.size()) {
      return invalid(absl::StrCat("peer rank ", peer.rank, " has ", peer.lanes.size(),
                                  " lanes: expected the same number, at least 1, for each"));
    }
    for (const transport::DataConnection& lane : peer.lanes) {
      if (lane.fd < 0)
        return invalid(absl::StrCat("a lane of peer rank ", peer.rank, " is closed"));
    }
  }
  return absl::OkStatus();
}

}  // namespace caravan::engine
