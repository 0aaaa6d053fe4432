// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/set.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attestation/nvidia/rules.h"
#include "base/hex.h"

namespace caravan::attestation::nvidia {
namespace {

constexpr size_t kMaxShown = 4;

size_t Count(absl::Span<const SetMember> members, DeviceClass device_class) {
  return static_cast<size_t>(std::count_if(members.begin(), members.end(), [&](const SetMember& m) {
    return m.device_class == device_class;
  }));
}

// False when one stands twice: the topology of such a set means nothing.
bool CheckDuplicates(absl::Span<const SetMember> members, CheckList* checks) {
  constexpr std::string_view kWhat = "no device stands twice in the set";
  std::map<crypto::Sha256Digest, std::string> keys;
  std::map<Pdi, std::string> pdis;
  for (const SetMember& member : members) {
    const auto [key, new_key] = keys.emplace(member.key, member.label);
    if (!new_key) {
      checks->Fail("NVIDIA_SET_DUPLICATE", kWhat,
                   absl::StrCat(member.label, " is ", key->second, " again: the same key"));
      return false;
    }
    if (!member.pdi.has_value()) continue;
    const auto [pdi, new_pdi] = pdis.emplace(*member.pdi, member.label);
    if (!new_pdi) {
      checks->Fail("NVIDIA_SET_DUPLICATE", kWhat,
                   absl::StrCat(member.label, " is ", pdi->second, " again: pdi ",
                                base::ToHex(*member.pdi)));
      return false;
    }
  }
  checks->Pass("NVIDIA_SET_DUPLICATE", kWhat);
  return true;
}

void CheckCount(absl::Span<const SetMember> members, DeviceClass device_class, uint32_t wanted,
                CheckList* checks) {
  if (wanted == 0) return;
  const size_t have = Count(members, device_class);
  const std::string name(Name(device_class));
  checks->Require(have == wanted, "NVIDIA_SET_COUNT",
                  absl::StrCat("the set has as many ", name, " devices as the policy says"),
                  absl::StrCat("it has ", have, ", policy wants ", wanted));
}

void CheckOneNonce(absl::Span<const SetMember> members, bool nonce_compared, CheckList* checks) {
  if (nonce_compared) return;
  for (const SetMember& member : members) {
    if (member.nonce == members.front().nonce) continue;
    checks->Warn("NVIDIA_SET_NONCE", "the devices answered one nonce",
                 absl::StrCat(member.label, " answered another than ", members.front().label,
                              ": the set may be put together from several"),
                 "bring the nonce of each device to tell");
    return;
  }
}

void CheckOneMode(absl::Span<const SetMember> members, CheckList* checks) {
  const SetMember* first = nullptr;
  for (const SetMember& member : members) {
    if (member.device_class != DeviceClass::kGpu) continue;
    if (first == nullptr) first = &member;
    if (ModeOf(member.info) == ModeOf(first->info)) continue;
    checks->Fail("NVIDIA_SET_MODE", "all gpus run in one mode",
                 absl::StrCat(member.label, " runs in another mode than ", first->label));
    return;
  }
}

// What links say: "gpu 3 is linked to switch 0011…, which is not in the set".
class Topology {
 public:
  explicit Topology(absl::Span<const SetMember> members) : members_(members) {
    for (const SetMember& member : members) {
      if (member.pdi.has_value()) by_pdi_[*member.pdi] = &member;
    }
  }

  // The members whose PDI is not known.
  std::vector<std::string> Unnamed() const {
    std::vector<std::string> labels;
    for (const SetMember& member : members_) {
      if (!member.pdi.has_value()) labels.push_back(member.label);
    }
    return labels;
  }

  std::vector<std::string> Absent() const {
    std::set<std::string> problems;
    for (const SetMember& member : members_) {
      for (const Pdi& peer : member.info.peers) {
        if (by_pdi_.contains(peer)) continue;
        problems.insert(absl::StrCat(OtherClass(member), " ", base::ToHex(peer), " is absent"));
      }
    }
    return {problems.begin(), problems.end()};
  }

  // Links that only one end knows, to a device of the wrong class, and devices without a link to
  // the others.
  std::vector<std::string> Contradictions() const {
    std::vector<std::string> problems;
    for (const SetMember& member : members_) {
      for (const Pdi& peer : member.info.peers) {
        const auto other = by_pdi_.find(peer);
        if (other == by_pdi_.end() || !member.pdi.has_value()) continue;
        if (other->second->device_class == member.device_class) {
          problems.push_back(absl::StrCat(member.label, " takes ", other->second->label, " for a ",
                                          OtherClass(member)));
        } else if (!other->second->info.peers.contains(*member.pdi)) {
          problems.push_back(absl::StrCat(member.label, " is linked to ", other->second->label,
                                          ", which does not know it"));
        }
      }
      const bool alone = member.info.peers.empty() && Count(members_, DeviceClass::kGpu) > 0 &&
                         Count(members_, DeviceClass::kSwitch) > 0;
      if (alone) problems.push_back(absl::StrCat(member.label, " has no link to the others"));
    }
    return problems;
  }

 private:
  static std::string OtherClass(const SetMember& member) {
    return std::string(
        Name(member.device_class == DeviceClass::kGpu ? DeviceClass::kSwitch : DeviceClass::kGpu));
  }

  absl::Span<const SetMember> members_;
  std::map<Pdi, const SetMember*> by_pdi_;
};

std::string Shown(std::vector<std::string> problems) {
  const size_t all = problems.size();
  if (all > kMaxShown) problems.resize(kMaxShown);
  return absl::StrCat(absl::StrJoin(problems, "; "),
                      all > kMaxShown ? absl::StrCat("; and ", all - kMaxShown, " more") : "");
}

void CheckTopology(absl::Span<const SetMember> members, const v1::NvidiaPolicy& policy,
                   CheckList* checks) {
  constexpr std::string_view kWhat = "every device that another is linked to is in the set";
  const Topology topology(members);
  if (auto problems = topology.Contradictions(); !problems.empty()) {
    checks->Fail("NVIDIA_SET_TOPOLOGY", "gpus and switches agree on their links",
                 Shown(std::move(problems)), "the set is put together from several machines");
    return;
  }
  auto absent = topology.Absent();
  if (policy.allow_incomplete_set()) {
    checks->Skip("NVIDIA_SET_COMPLETE", kWhat,
                 absent.empty()
                     ? "the policy takes parts of a set"
                     : absl::StrCat(Shown(std::move(absent)), ", which the policy allows"));
    return;
  }
  if (auto unnamed = topology.Unnamed(); !unnamed.empty() && members.size() > 1) {
    checks->Missing("NVIDIA_SET_COMPLETE", kWhat,
                    absl::StrCat("the certificates of ", Shown(std::move(unnamed)),
                                 " name no pdi to tell links by"));
    return;
  }
  const bool complete = absent.empty();
  checks->Require(complete, "NVIDIA_SET_COMPLETE", kWhat,
                  complete ? absl::StrCat(Count(members, DeviceClass::kGpu), " gpus, ",
                                          Count(members, DeviceClass::kSwitch), " switches")
                           : Shown(std::move(absent)),
                  "bring the evidence of all devices, or set nvidia.allow_incomplete_set");
}

}  // namespace

void CheckSet(absl::Span<const SetMember> members, const v1::NvidiaPolicy& policy,
              bool nonce_compared, CheckList* checks) {
  CheckCount(members, DeviceClass::kGpu, policy.gpus(), checks);
  CheckCount(members, DeviceClass::kSwitch, policy.switches(), checks);
  if (!CheckDuplicates(members, checks)) return;
  CheckOneNonce(members, nonce_compared, checks);
  CheckOneMode(members, checks);
  CheckTopology(members, policy, checks);
}

}  // namespace caravan::attestation::nvidia
