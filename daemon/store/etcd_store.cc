// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/etcd_store.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/store/etcd_api.pb.h"
#include "daemon/store/etcd_client.h"

namespace caravan::store {
namespace {

constexpr int64_t kMaxListed = 65'536;
// How often a held key is looked at by who waits for it.
constexpr absl::Duration kLook = absl::Milliseconds(200);

// A lease of etcd's with a thread that renews it at a third of its time.
class Lease final : public Claim {
 public:
  Lease(std::shared_ptr<EtcdClient> client, int64_t id)
      : client_(std::move(client)), id_(id), thread_([this] { Renew(); }) {}
  int64_t id() const { return id_; }
  ~Lease() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
    // Where this fails the lease runs out by itself.
    etcd::LeaseRevokeRequest request;
    request.set_id(id_);
    etcd::LeaseRevokeRequest reply;
    client_
        ->CallOnce("/v3/lease/revoke", request, &reply,
                   absl::Now() + client_->options().call_timeout, nullptr)
        .IgnoreError();
  }

 private:
  bool Ended() {
    std::lock_guard<std::mutex> lock(mutex_);
    return ended_;
  }

  void Renew() {
    const absl::Duration lease = client_->options().lease;
    etcd::LeaseKeepAliveRequest request;
    request.set_id(id_);
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait_for(lock, absl::ToChronoMilliseconds(lease / 3), [this] { return ended_; });
        if (ended_) return;
      }
      etcd::LeaseKeepAliveResult reply;
      // A renewal that fails is tried again a third of the time later; the key may be lost then,
      // and whoever relies on it finds out by its session.
      client_
          ->Call("/v3/lease/keepalive", request, &reply, absl::Now() + lease / 3,
                 [this] { return Ended(); })
          .IgnoreError();
    }
  }

  const std::shared_ptr<EtcdClient> client_;
  const int64_t id_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;  // last: it uses all of the above
};

class EtcdStore final : public Store {
 public:
  explicit EtcdStore(EtcdOptions options)
      : client_(std::make_shared<EtcdClient>(std::move(options))) {}

  absl::StatusOr<std::unique_ptr<Claim>> Hold(const std::string& key, const std::string& value,
                                              absl::Time deadline,
                                              const Cancelled& cancelled) override {
    if (absl::Status status = CheckPair(key, value); !status.ok()) return status;
    auto lease = Grant(deadline, cancelled);
    if (!lease.ok()) return lease.status();
    etcd::TxnRequest put_if_free;
    etcd::Compare* free = put_if_free.add_compare();
    free->set_result("EQUAL");
    free->set_target("CREATE");
    free->set_key(Full(key));
    free->set_create_revision(0);
    *put_if_free.add_success()->mutable_request_put() = Put(key, value, (*lease)->id());
    for (;;) {
      etcd::TxnResponse answer;
      absl::Status status = client_->Call("/v3/kv/txn", put_if_free, &answer, deadline, cancelled);
      if (!status.ok()) return status;
      if (answer.succeeded()) return *std::move(lease);
      // A put whose answer was lost has succeeded: the key then bears our lease.
      auto holder = Range(Full(key), "", deadline, cancelled);
      if (!holder.ok()) return holder.status();
      if (holder->kvs_size() > 0 && holder->kvs(0).lease() == (*lease)->id()) {
        return *std::move(lease);
      }
      if (absl::Now() + kLook >= deadline) {
        return absl::DeadlineExceededError(absl::StrCat(
            key, " in ", Describe(), " is held by another",
            holder->kvs_size() > 0 ? absl::StrCat(": ", holder->kvs(0).value()) : std::string()));
      }
      if (status = Pause(kLook, deadline, cancelled); !status.ok()) return status;
    }
  }

  absl::StatusOr<std::unique_ptr<Claim>> Announce(const std::string& key, const std::string& value,
                                                  absl::Time deadline,
                                                  const Cancelled& cancelled) override {
    if (absl::Status status = CheckPair(key, value); !status.ok()) return status;
    auto lease = Grant(deadline, cancelled);
    if (!lease.ok()) return lease.status();
    etcd::PutRequest reply;
    absl::Status status =
        client_->Call("/v3/kv/put", Put(key, value, (*lease)->id()), &reply, deadline, cancelled);
    if (!status.ok()) return status;
    return *std::move(lease);
  }

  absl::StatusOr<std::optional<std::string>> Get(const std::string& key, absl::Time deadline,
                                                 const Cancelled& cancelled) override {
    if (absl::Status status = CheckKey(key); !status.ok()) return status;
    auto found = Range(Full(key), "", deadline, cancelled);
    if (!found.ok()) return found.status();
    if (found->kvs_size() == 0) return std::optional<std::string>();
    const std::string& value = found->kvs(0).value();
    if (value.size() > kMaxValue) {
      return absl::InternalError(absl::StrCat("the value of ", key, " in ", Describe(), " has ",
                                              value.size(), " bytes, at most ", kMaxValue));
    }
    return std::optional<std::string>(value);
  }

  absl::StatusOr<std::map<std::string, std::string>> List(const std::string& prefix,
                                                          absl::Time deadline,
                                                          const Cancelled& cancelled) override {
    if (absl::Status status = CheckKey(prefix); !status.ok()) return status;
    // The end of a prefix is the prefix with its last byte one higher: '/' has a successor.
    std::string end = Full(prefix);
    while (!end.empty() && static_cast<uint8_t>(end.back()) == 0xFF) end.pop_back();
    if (!end.empty()) ++end.back();
    auto found = Range(Full(prefix), end, deadline, cancelled);
    if (!found.ok()) return found.status();
    if (found->more()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("more than ", kMaxListed, " keys begin with ", prefix, " in ", Describe()));
    }
    std::map<std::string, std::string> all;
    const size_t skip = client_->options().prefix.size();
    for (const etcd::KeyValue& pair : found->kvs()) {
      if (absl::StartsWith(pair.key(), Full(prefix)) && pair.value().size() <= kMaxValue) {
        all[pair.key().substr(skip)] = pair.value();
      }
    }
    return all;
  }

  std::string Describe() const override { return client_->Describe(); }

 private:
  std::string Full(const std::string& key) const { return client_->options().prefix + key; }

  absl::Status CheckKey(const std::string& key) const {
    if (!key.empty() && key.size() <= kMaxKey) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("a key of ", key.size(), " bytes; expected 1 to ", kMaxKey));
  }

  absl::Status CheckPair(const std::string& key, const std::string& value) const {
    if (value.size() <= kMaxValue) return CheckKey(key);
    return absl::InvalidArgumentError(
        absl::StrCat("the value of ", key, " has ", value.size(), " bytes, at most ", kMaxValue));
  }

  etcd::PutRequest Put(const std::string& key, const std::string& value, int64_t lease) const {
    etcd::PutRequest put;
    put.set_key(Full(key));
    put.set_value(value);
    put.set_lease(lease);
    return put;
  }

  absl::StatusOr<std::unique_ptr<Lease>> Grant(absl::Time deadline, const Cancelled& cancelled) {
    etcd::LeaseGrantRequest request;
    request.set_ttl(absl::ToInt64Seconds(client_->options().lease));
    etcd::LeaseGrantResponse granted;
    absl::Status status = client_->Call("/v3/lease/grant", request, &granted, deadline, cancelled);
    if (!status.ok()) return status;
    return std::make_unique<Lease>(client_, granted.id());
  }

  absl::StatusOr<etcd::RangeResponse> Range(const std::string& key, const std::string& end,
                                            absl::Time deadline, const Cancelled& cancelled) {
    etcd::RangeRequest request;
    request.set_key(key);
    request.set_range_end(end);
    request.set_limit(kMaxListed);
    etcd::RangeResponse reply;
    absl::Status status = client_->Call("/v3/kv/range", request, &reply, deadline, cancelled);
    if (!status.ok()) return status;
    return reply;
  }

  const std::shared_ptr<EtcdClient> client_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> MakeEtcdStore(EtcdOptions options) {
  if (options.endpoints.empty()) {
    return absl::InvalidArgumentError("endpoints: at least one, as in http://10.0.0.1:2379");
  }
  for (std::string& endpoint : options.endpoints) {
    if (!absl::StartsWith(endpoint, "http://") && !absl::StartsWith(endpoint, "https://")) {
      return absl::InvalidArgumentError(
          absl::StrCat("endpoints: \"", endpoint, "\" does not begin with http:// or https://"));
    }
    if (endpoint.back() == '/') endpoint.pop_back();
  }
  if (options.prefix.size() > kMaxKey) {
    return absl::InvalidArgumentError(
        absl::StrCat("prefix: has ", options.prefix.size(), " bytes, at most ", kMaxKey));
  }
  if (options.lease < absl::Seconds(2) || options.lease > absl::Hours(1)) {
    return absl::InvalidArgumentError(absl::StrCat("lease: ", absl::FormatDuration(options.lease),
                                                   " is not between 2 s and 1 h"));
  }
  return std::make_unique<EtcdStore>(std::move(options));
}

}  // namespace caravan::store
