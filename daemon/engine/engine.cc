// SPDX-License-Identifier: Apache-2.0
//
// Which group lives on which reactor. A group stays where it began.
#include "daemon/engine/engine.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/engine/group.h"
#include "daemon/engine/reactor.h"

namespace caravan::engine {
namespace {

constexpr int kMostDefaultReactors = 8;

class EngineImpl final : public Engine {
 public:
  EngineImpl(Options options, std::vector<std::unique_ptr<Reactor>> reactors)
      : options_(std::move(options)),
        reactors_(std::move(reactors)),
        groups_on_(reactors_.size(), 0) {}
  ~EngineImpl() override { Stop(); }

  absl::Status AddGroup(GroupConfig config) override;
  void Fail(const crypto::EpochId& epoch, const absl::Status& reason) override;
  void Remove(const crypto::EpochId& epoch) override;
  std::vector<GroupStatus> List() override;
  absl::StatusOr<std::string> DescribeOperation(const crypto::EpochId& epoch,
                                                uint64_t sequence) override;
  absl::StatusOr<Wait> DescribeWait(const crypto::EpochId& epoch) override;
  void Stop() override;

 private:
  struct Home {
    size_t reactor = 0;
    uint64_t order = 0;  // among all groups ever added
  };

  // The reactor of a group, null when there is none.
  Reactor* Find(const crypto::EpochId& epoch);
  // Before it is served there, so that nobody else takes the epoch.
  absl::StatusOr<Reactor*> Reserve(const crypto::EpochId& epoch);
  void Forget(const crypto::EpochId& epoch);

  const Options options_;
  // Never called into with mutex_ held: their threads take it in Fail().
  const std::vector<std::unique_ptr<Reactor>> reactors_;
  std::mutex mutex_;
  std::vector<int> groups_on_;             // by reactor; guarded by mutex_
  std::map<crypto::EpochId, Home> homes_;  // guarded by mutex_
  uint64_t next_order_ = 0;                // guarded by mutex_
};

Reactor* EngineImpl::Find(const crypto::EpochId& epoch) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto home = homes_.find(epoch);
  return home == homes_.end() ? nullptr : reactors_[home->second.reactor].get();
}

absl::StatusOr<Reactor*> EngineImpl::Reserve(const crypto::EpochId& epoch) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto least = std::min_element(groups_on_.begin(), groups_on_.end());
  const auto index = static_cast<size_t>(least - groups_on_.begin());
  if (!homes_.emplace(epoch, Home{index, next_order_}).second) {
    return absl::AlreadyExistsError("the epoch is served already");
  }
  ++next_order_;
  ++*least;
  return reactors_[index].get();
}

void EngineImpl::Forget(const crypto::EpochId& epoch) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto home = homes_.find(epoch);
  if (home == homes_.end()) return;
  --groups_on_[home->second.reactor];
  homes_.erase(home);
}

absl::Status EngineImpl::AddGroup(GroupConfig config) {
  auto group = Group::Create(std::move(config), options_);
  if (!group.ok()) return group.status();
  const crypto::EpochId epoch = (*group)->epoch();
  absl::StatusOr<Reactor*> reactor = Reserve(epoch);
  if (!reactor.ok()) return reactor.status();
  absl::Status status = (*reactor)->Serve(*std::move(group));
  if (!status.ok()) Forget(epoch);
  return status;
}

void EngineImpl::Fail(const crypto::EpochId& epoch, const absl::Status& reason) {
  if (Reactor* reactor = Find(epoch)) reactor->Fail(epoch, reason);
}

void EngineImpl::Remove(const crypto::EpochId& epoch) {
  Reactor* reactor = Find(epoch);
  if (reactor != nullptr && reactor->Remove(epoch)) Forget(epoch);
}

std::vector<GroupStatus> EngineImpl::List() {
  std::vector<std::pair<uint64_t, GroupStatus>> found;
  for (const std::unique_ptr<Reactor>& reactor : reactors_) {
    std::vector<GroupStatus> served = reactor->List();
    std::lock_guard<std::mutex> lock(mutex_);
    for (GroupStatus& status : served) {
      const auto home = homes_.find(status.epoch);
      if (home == homes_.end()) continue;  // removed meanwhile
      found.emplace_back(home->second.order, std::move(status));
    }
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<GroupStatus> list;
  for (auto& [order, status] : found) list.push_back(std::move(status));
  return list;
}

absl::StatusOr<std::string> EngineImpl::DescribeOperation(const crypto::EpochId& epoch,
                                                          uint64_t sequence) {
  Reactor* reactor = Find(epoch);
  if (reactor == nullptr) return absl::NotFoundError("no such communicator");
  return reactor->Describe(epoch, sequence);
}

absl::StatusOr<Wait> EngineImpl::DescribeWait(const crypto::EpochId& epoch) {
  Reactor* reactor = Find(epoch);
  if (reactor == nullptr) return absl::NotFoundError("no such communicator");
  return reactor->DescribeWait(epoch);
}

void EngineImpl::Stop() {
  for (const std::unique_ptr<Reactor>& reactor : reactors_) reactor->BeginStop();
  for (const std::unique_ptr<Reactor>& reactor : reactors_) reactor->Stop();
}

}  // namespace

int Engine::DefaultReactors() {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores / 2, 1, kMostDefaultReactors);
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Start(Options options) {
  if (options.ciphers == nullptr) {
    return absl::InvalidArgumentError("an engine needs a record cipher factory");
  }
  if (options.reactors == 0) options.reactors = DefaultReactors();
  if (options.reactors < 1 || options.reactors > kMaxReactors) {
    return absl::InvalidArgumentError(
        absl::StrCat("reactors: ", options.reactors, " is not 1 to ", kMaxReactors));
  }
  std::vector<std::unique_ptr<Reactor>> reactors;
  for (int i = 0; i < options.reactors; ++i) {
    auto reactor = Reactor::Start(options.spin);
    if (!reactor.ok()) return reactor.status();
    reactors.push_back(*std::move(reactor));
  }
  return std::make_unique<EngineImpl>(std::move(options), std::move(reactors));
}

}  // namespace caravan::engine
