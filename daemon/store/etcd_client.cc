// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/etcd_client.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "daemon/store/etcd_api.pb.h"
#include "http/http.h"

namespace caravan::store {
namespace {

constexpr size_t kMaxReply = 64 << 20;
constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Seconds(2);

constexpr size_t kMostShown = 256;

absl::Status FromJson(const std::string& text, google::protobuf::Message* message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text, message, options);
  if (parsed.ok()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the answer is not what etcd's gateway sends: ", Shown(parsed.ToString())));
}

// By gRPC's codes, which the gateway passes on.
absl::Status ToStatus(const std::string& where, const http::Reply& reply) {
  etcd::Error error;
  std::string what = absl::StrCat("HTTP status ", reply.code);
  if (FromJson(reply.body, &error).ok() && !error.error().empty()) {
    absl::StrAppend(&what, ": ", Shown(error.error()));
  }
  const std::string message = absl::StrCat(where, " answered ", what);
  switch (error.code()) {
    case 3:
      return absl::InvalidArgumentError(message);
    case 5:
      return absl::NotFoundError(message);
    case 7:
    case 16:
      return absl::PermissionDeniedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// Another endpoint may do better.
bool IsTheEndpoints(const absl::Status& status) {
  return MayPass(status) || absl::IsInternal(status) || absl::IsResourceExhausted(status);
}

}  // namespace

std::string Shown(absl::string_view text) { return absl::CHexEscape(text.substr(0, kMostShown)); }

absl::Status Pause(absl::Duration pause, absl::Time deadline, const Store::Cancelled& cancelled) {
  const absl::Time end = std::min(absl::Now() + pause, deadline);
  while (absl::Now() < end) {
    if (cancelled && cancelled()) return absl::CancelledError("given up");
    absl::SleepFor(std::min(absl::Milliseconds(20), end - absl::Now()));
  }
  return absl::OkStatus();
}

std::string EtcdClient::Describe() const {
  return absl::StrCat("etcd at ", absl::StrJoin(options_.endpoints, ", "));
}

absl::Status EtcdClient::Try(const std::string& endpoint, const std::string& path,
                             const std::string& body, google::protobuf::Message* reply,
                             absl::Time deadline, const Store::Cancelled& cancelled) {
  http::Request request;
  request.url = endpoint + path;
  request.body = body;
  request.post = true;
  request.headers = {"Content-Type: application/json"};
  request.ca_file = options_.ca_file;
  request.max_body = kMaxReply;
  request.connect_timeout = options_.call_timeout;
  const absl::Time until = std::min(deadline, absl::Now() + options_.call_timeout);
  auto answer = http::Fetch(request, until, cancelled);
  if (!answer.ok()) return answer.status();
  if (answer->code != 200) return ToStatus(request.url, *answer);
  if (absl::Status status = FromJson(answer->body, reply); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(request.url, ": ", status.message()));
  }
  return absl::OkStatus();
}

absl::Status EtcdClient::CallOnce(const std::string& path, const google::protobuf::Message& request,
                                  google::protobuf::Message* reply, absl::Time deadline,
                                  const Store::Cancelled& cancelled) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string body;
  const auto printed = google::protobuf::util::MessageToJsonString(request, &body, options);
  if (!printed.ok()) return absl::InternalError(printed.ToString());
  const size_t first = endpoint_.load();
  absl::Status status;
  for (size_t i = 0; i < options_.endpoints.size(); ++i) {
    const size_t index = (first + i) % options_.endpoints.size();
    status = Try(options_.endpoints[index], path, body, reply, deadline, cancelled);
    if (IsTheEndpoints(status)) continue;
    endpoint_.store(index);
    return status;
  }
  return status;
}

absl::Status EtcdClient::Call(const std::string& path, const google::protobuf::Message& request,
                              google::protobuf::Message* reply, absl::Time deadline,
                              const Store::Cancelled& cancelled) {
  absl::Duration pause = kFirstPause;
  for (;;) {
    const absl::Status status = CallOnce(path, request, reply, deadline, cancelled);
    if (!MayPass(status)) return status;
    if (absl::Now() + pause >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat("no answer in time: ", status.message()));
    }
    if (absl::Status gone = Pause(pause, deadline, cancelled); !gone.ok()) return gone;
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace caravan::store
