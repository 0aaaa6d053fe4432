// SPDX-License-Identifier: Apache-2.0
//
// What a member's daemon says to another one: requests of every kind to a communicator manager, and
// rosters and wrapped secrets in answer to a join. Nobody gets a reason that it may not give, a
// roster that is taken has one epoch id, and the manager lives on. The first byte chooses the kind.
#include <google/protobuf/stubs/logging.h>

#include <future>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "collective/cost/selector.h"
#include "daemon/membership/epoch.h"
#include "daemon/service/communicator_manager.h"
#include "daemon/service/fake_cluster.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

using service::FakeCluster;

enum Kind : uint8_t { kJoin, kConfirm, kReport, kEnd, kDescribe, kWait, kJoinReply, kKinds };

// In seeds it stands for the epoch that is alive while they run.
const std::string& LiveEpoch() {
  static const std::string& epoch = *new std::string(32, '\xEE');
  return epoch;
}

// Two daemons with a communicator, the second of them hostile.
class World {
 public:
  World() : cluster_(2) {
    base::SetLogLevel(base::Level::kError);  // every epoch would make lines, and bad UTF-8 too
    google::protobuf::SetLogHandler(nullptr);
    Renew();
  }

  void Call(Kind kind, const std::string& bytes) {
    if (++calls_ % 512 == 0 || ended_) Renew();
    service::CommunicatorManager& manager = *cluster_[0].manager;
    const membership::Caller caller{cluster_[0].sessions->With(cluster_[1]),
                                    absl::Now() + absl::Milliseconds(2)};
    switch (kind) {
      case kJoin: {
        v1::JoinRequest request;
        v1::JoinReply reply;
        if (!request.ParseFromString(bytes)) return;
        if (manager.Join(caller, request, &reply).ok()) {
          Require(membership::CheckRoster(reply.roster()).ok(), "who joins gets a roster");
        }
        return;
      }
      case kConfirm: {
        v1::ConfirmRequest request;
        v1::ConfirmReply reply;
        if (!Parse(bytes, &request)) return;
        Require(!manager.Confirm(caller, request, &reply).ok(),
                "without the secret nobody confirms");
        return;
      }
      case kReport: {
        v1::ReportFaultRequest request;
        v1::ReportFaultReply reply;
        if (!Parse(bytes, &request) || !manager.ReportFault(caller, request, &reply).ok()) return;
        Require(reply.decided().code() != 0, "a report gets a reason");
        ended_ = true;
        return;
      }
      case kEnd: {
        v1::EndEpochRequest request;
        if (!Parse(bytes, &request) || !manager.EndEpoch(caller, request).ok()) return;
        Require(request.decided().code() != 0, "no epoch ends for no reason");
        ended_ = true;
        return;
      }
      case kDescribe: {
        v1::DescribeOperationRequest request;
        v1::DescribeOperationReply reply;
        if (!Parse(bytes, &request)) return;
        const absl::Status status = manager.DescribeOperation(caller, request, &reply);
        Require(status.ok() || request.epoch() != epoch_, "members are told of their epoch");
        // An epoch that has ended counts too: fuzzing finds its name where names are compared.
        Require(!status.ok() || epochs_.count(request.epoch()) != 0,
                "members are told of no other epoch");
        return;
      }
      case kWait: {
        v1::DescribeWaitRequest request;
        v1::DescribeWaitReply reply;
        if (!Parse(bytes, &request)) return;
        const absl::Status status = manager.DescribeWait(caller, request, &reply);
        Require(status.ok() || request.epoch() != epoch_, "members are told whom theirs waits for");
        Require(!status.ok() || epochs_.count(request.epoch()) != 0,
                "members are told whom no other waits for");
        return;
      }
      case kJoinReply:
      case kKinds:
        return TakeReply(bytes);
    }
  }

 private:
  template <typename Request>
  bool Parse(const std::string& bytes, Request* request) {
    if (!request->ParseFromString(bytes)) return false;
    if (request->epoch() == LiveEpoch()) request->set_epoch(epoch_);
    return true;
  }

  void Renew() {
    for (int i = 0; i < 2; ++i) {
      if (handles_[i] == 0) continue;
      cluster_[i].manager->Destroy(*cluster_[i].application, handles_[i]).IgnoreError();
    }
    std::future<absl::StatusOr<service::CommunicatorManager::Created>> made[2];
    for (int i = 0; i < 2; ++i) {
      service::CreateOptions options;
      options.name = "train" + std::to_string(calls_);
      options.root_address = cluster_[0].address;
      options.rank = static_cast<uint32_t>(i);
      options.size = 2;
      made[i] = std::async(std::launch::async, [this, i, options] {
        return cluster_[i].manager->Create(cluster_[i].application, options);
      });
    }
    for (int i = 0; i < 2; ++i) {
      const auto created = made[i].get();
      Require(created.ok(),
              absl::StrCat("honest members still get a communicator: ", created.status().ToString())
                  .c_str());
      handles_[i] = created->handle;
    }
    epoch_ = membership::ToBytes(cluster_[0].engine->group()->epoch);
    epochs_.insert(epoch_);
    ended_ = false;
  }

  static void TakeReply(const std::string& bytes) {
    v1::JoinReply reply;
    if (!reply.ParseFromString(bytes)) return;
    if (!membership::CheckRoster(reply.roster()).ok()) return;
    const crypto::EpochId epoch = membership::ComputeEpochId(reply.roster());
    v1::JoinReply again;
    Require(again.ParseFromString(reply.SerializeAsString()) &&
                membership::ComputeEpochId(again.roster()) == epoch,
            "a roster has one epoch id");
    static const crypto::SecretBytes& secret =
        *new crypto::SecretBytes(*crypto::SecretBytes::Zero(membership::kEpochSecretSize));
    Require(!membership::UnwrapEpochSecret(reply.wrapped_secret(), secret, epoch, 1).ok() ||
                reply.wrapped_secret().size() == membership::kEpochSecretSize + 16,
            "what unwraps was wrapped");
  }

  FakeCluster cluster_;
  uint64_t handles_[2] = {};
  std::string epoch_;
  std::set<std::string> epochs_;  // this one and all before
  uint64_t calls_ = 0;
  bool ended_ = false;
};

v1::Roster ARoster() {
  v1::Roster roster;
  roster.set_communicator("train");
  roster.set_suite(1);
  roster.set_chunk_log2(17);
  roster.set_lanes(1);
  roster.set_policy_digest(std::string(32, 'p'));
  roster.set_selector_table(collective::Canonical(collective::DefaultSelectorTable()));
  for (uint32_t rank = 0; rank < 3; ++rank) {
    v1::Member& member = *roster.add_members();
    member.set_rank(rank);
    member.set_spki(std::string(32, static_cast<char>('a' + rank)));
    member.set_root_session(std::string(16, rank == 0 ? '\0' : 's'));
    member.set_contribution(std::string(32, static_cast<char>('A' + rank)));
    member.set_control_address("10.0.0.1:7400");
    member.set_data_address("10.0.0.1:7401");
    member.add_suites(1);
    member.set_node("node-a");
  }
  return roster;
}

std::string Seed(Kind kind, const google::protobuf::Message& message) {
  return static_cast<char>(kind) + message.SerializeAsString();
}

}  // namespace

std::vector<std::string> Seeds() {
  v1::JoinRequest join;
  join.set_communicator("train0");
  join.set_rank(1);
  join.set_size(2);
  join.set_contribution(std::string(32, 'c'));
  join.set_control_address("10.0.0.2:7400");
  join.set_data_address("10.0.0.2:7401");
  join.add_suites(1);
  join.set_chunk_log2(17);
  join.set_lanes(1);
  join.set_timeout_ms(1);
  join.set_node("node-b");
  join.set_policy_digest(std::string(32, '\0'));
  v1::ConfirmRequest confirm;
  confirm.set_epoch(LiveEpoch());
  confirm.set_source(1);
  confirm.set_mac(std::string(48, 'm'));
  v1::ReportFaultRequest report;
  report.set_epoch(LiveEpoch());
  report.mutable_fault()->set_code(14);
  report.mutable_fault()->set_rank(1);
  report.mutable_fault()->set_message("rank 0 is gone");
  v1::EndEpochRequest end;
  end.set_epoch(LiveEpoch());
  *end.mutable_decided() = report.fault();
  v1::DescribeOperationRequest describe;
  describe.set_epoch(LiveEpoch());
  describe.set_sequence(3);
  v1::DescribeWaitRequest wait;
  wait.set_epoch(LiveEpoch());
  v1::JoinReply reply;
  *reply.mutable_roster() = ARoster();
  const auto secret = crypto::SecretBytes::Zero(membership::kEpochSecretSize);
  reply.set_wrapped_secret(*membership::WrapEpochSecret(
      *secret, *secret, membership::ComputeEpochId(reply.roster()), 1));
  Require(membership::CheckRoster(reply.roster()).ok(), "the seed is a roster");
  return {Seed(kJoin, join),      Seed(kConfirm, confirm),   Seed(kReport, report),
          Seed(kEnd, end),        Seed(kDescribe, describe), Seed(kWait, wait),
          Seed(kJoinReply, reply)};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  if (size < 1) return 0;
  static fuzz::World& world = *new fuzz::World();
  world.Call(static_cast<fuzz::Kind>(data[0] % fuzz::kKinds),
             std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
