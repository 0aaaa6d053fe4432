// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/root_finder.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace caravan::service {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(200);
constexpr size_t kMaxAddressSize = 300;
constexpr absl::Duration kPiece = absl::Milliseconds(20);
constexpr size_t kMostNamed = 16;
constexpr size_t kMostShown = 64;  // bytes of a name or address

// A name may hold anything; a key's parts are separated by '/'.
std::string KeyOf(const std::string& communicator, const std::string& rest) {
  std::string key;
  for (const char c : communicator) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_') {
      key.push_back(c);
    } else {
      absl::StrAppend(&key, "%", absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
    }
  }
  return absl::StrCat(key, "/", rest);
}

absl::Status NoStore() {
  return absl::InvalidArgumentError(
      "root_address: is empty, and the configuration of this node names no store that knows it: "
      "give one, or set store { etcd { endpoints: … } }");
}

store::Store::Cancelled Poll(const membership::Cancellation& cancellation) {
  return [&cancellation] { return !cancellation.status().ok(); };
}

}  // namespace

absl::StatusOr<std::unique_ptr<store::Claim>> RootFinder::Enter(
    const std::string& communicator, uint32_t rank, const std::string& address, absl::Time deadline,
    const membership::Cancellation& cancellation) const {
  if (store_ == nullptr) return NoStore();
  auto claim =
      rank == 0 ? store_->Hold(KeyOf(communicator, "root"), address, deadline, Poll(cancellation))
                : store_->Announce(KeyOf(communicator, absl::StrCat("member/", rank)), address,
                                   deadline, Poll(cancellation));
  if (absl::Status ended = cancellation.status(); !ended.ok()) return ended;
  if (!claim.ok()) {
    return absl::Status(claim.status().code(),
                        absl::StrCat("rank ", rank, " of communicator \"", communicator,
                                     "\" could not be entered in ", store_->Describe(), ": ",
                                     claim.status().message()));
  }
  return claim;
}

bool RootFinder::Pause(absl::Time deadline, const membership::Cancellation& cancellation) {
  const absl::Time end = absl::Now() + kLook;
  if (end >= deadline) return false;
  while (absl::Now() < end && cancellation.status().ok()) {
    absl::SleepFor(std::min(kPiece, end - absl::Now()));
  }
  return true;
}

absl::StatusOr<std::string> RootFinder::Find(const std::string& communicator, absl::Time deadline,
                                             const membership::Cancellation& cancellation,
                                             const absl::Status& last) const {
  if (store_ == nullptr) return NoStore();
  for (;;) {
    auto root = store_->Get(KeyOf(communicator, "root"), deadline, Poll(cancellation));
    if (absl::Status ended = cancellation.status(); !ended.ok()) return ended;
    if (!root.ok()) return root.status();
    if (root->has_value() && (*root)->size() <= kMaxAddressSize) return **root;
    if (!Pause(deadline, cancellation)) {
      return absl::DeadlineExceededError(absl::StrCat(
          store_->Describe(), " knows no root of communicator \"", communicator,
          "\": rank 0 has not asked for it",
          last.ok() ? std::string() : absl::StrCat(" again; before, ", last.message())));
    }
  }
}

std::string RootFinder::DescribeMembers(const std::string& communicator) const {
  if (store_ == nullptr) return "";
  const std::string prefix = KeyOf(communicator, "member/");
  auto members = store_->List(prefix, absl::Now() + absl::Seconds(1), nullptr);
  if (!members.ok()) return "";
  std::string names;
  size_t named = 0;
  for (const auto& [key, address] : *members) {
    if (++named > kMostNamed) break;
    absl::StrAppend(&names, names.empty() ? "" : ", ", "rank ",
                    absl::CHexEscape(key.substr(prefix.size(), kMostShown)), " (",
                    absl::CHexEscape(address.substr(0, kMostShown)), ")");
  }
  if (members->size() > kMostNamed) {
    absl::StrAppend(&names, " and ", members->size() - kMostNamed, " more");
  }
  return absl::StrCat(store_->Describe(), " knows ", names.empty() ? "no other rank" : names);
}

}  // namespace caravan::service
