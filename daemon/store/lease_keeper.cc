// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/lease_keeper.h"

#include <utility>
#include <vector>

#include "absl/time/clock.h"

namespace caravan::store {
namespace {

constexpr absl::Duration kLastTry = absl::Seconds(1);

}  // namespace

// One claim. The store, and so the keeper, outlives it.
class LeaseKeeper::Kept final : public Claim {
 public:
  Kept(LeaseKeeper* keeper, uint64_t id) : keeper_(keeper), id_(id) {}
  ~Kept() override { keeper_->End(id_); }

 private:
  LeaseKeeper* const keeper_;
  const uint64_t id_;
};

LeaseKeeper::LeaseKeeper(EtcdClient* client) : client_(client), thread_([this] { Run(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (const auto& [id, entry] : entries_) ended_.push_back(entry.lease);
  const absl::Time deadline = absl::Now() + kLastTry;
  for (const int64_t lease : ended_) Revoke(lease, deadline);
}

absl::StatusOr<int64_t> LeaseKeeper::Grant(absl::Time deadline, const Store::Cancelled& cancelled) {
  etcd::LeaseGrantRequest request;
  request.set_ttl(absl::ToInt64Seconds(client_->options().lease));
  etcd::LeaseGrantResponse granted;
  absl::Status status = client_->Call("/v3/lease/grant", request, &granted, deadline, cancelled);
  if (!status.ok()) return status;
  return granted.id();
}

absl::StatusOr<bool> LeaseKeeper::Write(const Held& held, int64_t lease, absl::Time deadline,
                                        const Store::Cancelled& cancelled) {
  etcd::PutRequest put;
  put.set_key(held.key);
  put.set_value(held.value);
  put.set_lease(lease);
  if (!held.exclusive) {
    etcd::PutRequest reply;
    absl::Status status = client_->Call("/v3/kv/put", put, &reply, deadline, cancelled);
    if (!status.ok()) return status;
    return true;
  }
  etcd::TxnRequest put_if_free;
  etcd::Compare* free = put_if_free.add_compare();
  free->set_result("EQUAL");
  free->set_target("CREATE");
  free->set_key(held.key);
  free->set_create_revision(0);
  *put_if_free.add_success()->mutable_request_put() = put;
  etcd::TxnResponse answer;
  absl::Status status = client_->Call("/v3/kv/txn", put_if_free, &answer, deadline, cancelled);
  if (!status.ok()) return status;
  return answer.succeeded();
}

std::unique_ptr<Claim> LeaseKeeper::Keep(Held held, int64_t lease) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t id = next_++;
  entries_[id] = {std::move(held), lease};
  changed_.notify_all();
  return std::make_unique<Kept>(this, id);
}

void LeaseKeeper::GiveBack(int64_t lease) {
  std::lock_guard<std::mutex> lock(mutex_);
  ended_.push_back(lease);
  changed_.notify_all();
}

void LeaseKeeper::End(uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  ended_.push_back(found->second.lease);
  entries_.erase(found);
  changed_.notify_all();
}

void LeaseKeeper::Revoke(int64_t lease, absl::Time deadline) {
  etcd::LeaseRevokeRequest request;
  request.set_id(lease);
  etcd::LeaseRevokeRequest reply;
  // Where this fails the lease runs out by itself.
  client_->CallOnce("/v3/lease/revoke", request, &reply, deadline, nullptr).IgnoreError();
}

void LeaseKeeper::Renew(uint64_t id, Entry entry) {
  const absl::Time deadline = absl::Now() + client_->options().lease / 3;
  etcd::LeaseKeepAliveRequest request;
  request.set_id(entry.lease);
  etcd::LeaseKeepAliveResult reply;
  const absl::Status status =
      client_->CallOnce("/v3/lease/keepalive", request, &reply, deadline, nullptr);
  if (status.ok() && reply.result().ttl() > 0) return;
  if (!status.ok() && !absl::IsNotFound(status)) return;  // the next turn tries again
  // etcd has dropped the lease, and the key with it: take both anew, where the key is still free.
  const absl::StatusOr<int64_t> lease = Grant(deadline, nullptr);
  if (!lease.ok()) return;
  const absl::StatusOr<bool> written = Write(entry.held, *lease, deadline, nullptr);
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end() || !written.ok() || !*written) {
    ended_.push_back(*lease);
  } else {
    found->second.lease = *lease;
  }
}

void LeaseKeeper::Run() {
  const absl::Duration turn = client_->options().lease / 3;
  absl::Time next_turn = absl::Now() + turn;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    changed_.wait_for(lock, absl::ToChronoMilliseconds(next_turn - absl::Now()),
                      [this] { return stopping_ || !ended_.empty(); });
    const std::vector<int64_t> ended = std::exchange(ended_, {});
    std::map<uint64_t, Entry> due;
    if (!stopping_ && absl::Now() >= next_turn) {
      due = entries_;
      next_turn = absl::Now() + turn;
    }
    lock.unlock();
    for (const int64_t lease : ended) Revoke(lease, absl::Now() + kLastTry);
    for (const auto& [id, entry] : due) Renew(id, entry);
    lock.lock();
  }
}

}  // namespace caravan::store
