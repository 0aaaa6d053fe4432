// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/etcd_store.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/store/etcd_api.pb.h"
#include "daemon/store/etcd_client.h"
#include "daemon/store/lease_keeper.h"

namespace caravan::store {
namespace {

constexpr int64_t kMaxListed = 65'536;
// How often a held key is looked at by who waits for it.
constexpr absl::Duration kLook = absl::Milliseconds(200);

class EtcdStore final : public Store {
 public:
  explicit EtcdStore(EtcdOptions options) : client_(std::move(options)), keeper_(&client_) {}

  absl::StatusOr<std::unique_ptr<Claim>> Hold(const std::string& key, const std::string& value,
                                              absl::Time deadline,
                                              const Cancelled& cancelled) override {
    return Enter({Full(key), value, /*exclusive=*/true}, key, deadline, cancelled);
  }

  absl::StatusOr<std::unique_ptr<Claim>> Announce(const std::string& key, const std::string& value,
                                                  absl::Time deadline,
                                                  const Cancelled& cancelled) override {
    return Enter({Full(key), value, /*exclusive=*/false}, key, deadline, cancelled);
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
    const size_t skip = client_.options().prefix.size();
    for (const etcd::KeyValue& pair : found->kvs()) {
      if (absl::StartsWith(pair.key(), Full(prefix)) && pair.value().size() <= kMaxValue) {
        all[pair.key().substr(skip)] = pair.value();
      }
    }
    return all;
  }

  std::string Describe() const override { return client_.Describe(); }

 private:
  std::string Full(const std::string& key) const { return client_.options().prefix + key; }

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

  absl::StatusOr<std::unique_ptr<Claim>> Enter(const Held& held, const std::string& key,
                                               absl::Time deadline, const Cancelled& cancelled) {
    if (absl::Status status = CheckPair(key, held.value); !status.ok()) return status;
    for (;;) {
      // A lease for each try: one that waits for a key would run out.
      const absl::StatusOr<int64_t> lease = keeper_.Grant(deadline, cancelled);
      if (!lease.ok()) return lease.status();
      const absl::StatusOr<bool> written = keeper_.Write(held, *lease, deadline, cancelled);
      if (!written.ok()) {
        keeper_.GiveBack(*lease);
        return written.status();
      }
      if (*written) return keeper_.Keep(held, *lease);
      const absl::StatusOr<etcd::RangeResponse> holder = Range(held.key, "", deadline, cancelled);
      // A put whose answer was lost has succeeded: the key then bears our lease.
      if (holder.ok() && holder->kvs_size() > 0 && holder->kvs(0).lease() == *lease) {
        return keeper_.Keep(held, *lease);
      }
      keeper_.GiveBack(*lease);
      if (!holder.ok()) return holder.status();
      if (absl::Now() + kLook >= deadline) {
        return absl::DeadlineExceededError(
            absl::StrCat(key, " in ", Describe(), " is held by another",
                         holder->kvs_size() > 0 ? absl::StrCat(": ", Shown(holder->kvs(0).value()))
                                                : std::string()));
      }
      if (absl::Status gone = Pause(kLook, deadline, cancelled); !gone.ok()) return gone;
    }
  }

  absl::StatusOr<etcd::RangeResponse> Range(const std::string& key, const std::string& end,
                                            absl::Time deadline, const Cancelled& cancelled) {
    etcd::RangeRequest request;
    request.set_key(key);
    request.set_range_end(end);
    request.set_limit(kMaxListed);
    etcd::RangeResponse reply;
    absl::Status status = client_.Call("/v3/kv/range", request, &reply, deadline, cancelled);
    if (!status.ok()) return status;
    return reply;
  }

  EtcdClient client_;
  LeaseKeeper keeper_;  // last: it uses the client
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
