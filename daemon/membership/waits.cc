// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/waits.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace caravan::membership {
namespace {

// Bytes that are kept of a member's account of its operation.
constexpr size_t kMaxDescription = 64;

class Search {
 public:
  Search(const engine::Fault& fault, const Membership& membership, const AskWait& ask)
      : fault_(fault), membership_(membership), ask_(ask), known_(membership.size()) {
    known_[fault.rank] = true;
    for (const uint16_t peer : fault.waits_for) Add(peer, kReporter);
  }

  std::optional<WaitCause> Run() {
    std::optional<size_t> slow;
    for (size_t i = 0; i < asked_.size(); ++i) {
      const uint16_t rank = asked_[i].rank;
      const std::string name = membership_.Name(rank);
      absl::StatusOr<v1::DescribeWaitReply> reply = ask_(rank);
      switch (reply.status().code()) {
        case absl::StatusCode::kOk:
          break;
        case absl::StatusCode::kDeadlineExceeded:
        case absl::StatusCode::kUnavailable:
          return Cause(i, absl::StrCat(name, " does not answer"));
        case absl::StatusCode::kNotFound:
        case absl::StatusCode::kFailedPrecondition:
        case absl::StatusCode::kAborted:
          return std::nullopt;
        default:
          continue;
      }
      if (Moves(*reply)) {
        slow = slow.value_or(i);
      } else if (!reply->waits()) {
        return Cause(i,
                     absl::StrCat("the application of ", name, " has called no further operation"));
      } else if (reply->peers_size() == 1 && reply->peers(0) == rank) {
        return Cause(i, absl::StrCat(name, " waits for no other: ", Described(*reply)));
      } else if (NamesMembers(*reply)) {
        for (const uint32_t peer : reply->peers()) Add(static_cast<uint16_t>(peer), i);
        asked_[i].operation = Described(*reply);
      }
    }
    // The one that is blamed already needs no words.
    if (!slow.has_value() || asked_[*slow].rank == fault_.peer) return std::nullopt;
    return Cause(*slow, "");
  }

 private:
  static constexpr size_t kReporter = SIZE_MAX;

  struct Asked {
    uint16_t rank = 0;
    size_t from = kReporter;  // who waits for it: an index into asked_
    std::string operation;    // where it waits for others itself
  };

  void Add(uint16_t rank, size_t from) {
    if (known_[rank]) return;
    known_[rank] = true;
    asked_.push_back({rank, from, ""});
  }

  bool Moves(const v1::DescribeWaitReply& reply) const {
    return reply.idle_ms() < static_cast<uint64_t>(absl::ToInt64Milliseconds(fault_.waited / 2));
  }

  bool NamesMembers(const v1::DescribeWaitReply& reply) const {
    if (reply.peers_size() > membership_.size()) return false;
    return std::all_of(reply.peers().begin(), reply.peers().end(),
                       [&](uint32_t peer) { return peer < membership_.size(); });
  }

  static std::string Described(const v1::DescribeWaitReply& reply) {
    return absl::StrCat(Shortened(reply.description(), kMaxDescription), ", sequence ",
                        reply.sequence());
  }

  // The chain from the reporter to asked_[last], and how it ends.
  WaitCause Cause(size_t last, const std::string& end) const {
    std::vector<std::string> chain;
    size_t i = last;
    for (; asked_[i].from != kReporter; i = asked_[i].from) {
      const Asked& from = asked_[asked_[i].from];
      chain.insert(chain.begin(),
                   absl::StrCat(membership_.Name(from.rank), " waits for ",
                                membership_.Name(asked_[i].rank), " in ", from.operation));
    }
    if (asked_[i].rank != fault_.peer) {
      chain.insert(chain.begin(), absl::StrCat(membership_.Name(fault_.rank), " waits for ",
                                               membership_.Name(asked_[i].rank), " too"));
    }
    // The two ends say enough, in a reason of bounded size.
    if (chain.size() > 2) {
      const std::string left_out = absl::StrCat("and so on, ", chain.size() - 2, " in between");
      chain = {chain.front(), left_out, chain.back()};
    }
    if (!end.empty()) chain.push_back(end);
    return {asked_[last].rank, absl::StrJoin(chain, "; ")};
  }

  const engine::Fault& fault_;
  const Membership& membership_;
  const AskWait& ask_;
  std::vector<bool> known_;
  std::vector<Asked> asked_;
};

}  // namespace

std::optional<WaitCause> FollowWaits(const engine::Fault& fault, const Membership& membership,
                                     const AskWait& ask) {
  return Search(fault, membership, ask).Run();
}

}  // namespace caravan::membership
