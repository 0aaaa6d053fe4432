// SPDX-License-Identifier: Apache-2.0
#include "http/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace caravan::http {
namespace {

constexpr size_t kMaxHeaders = 128;
constexpr size_t kMaxHeaderBytes = 64 << 10;

struct Transfer {
  const Request* request;
  const std::function<bool()>* cancelled;
  Reply reply;
  size_t header_bytes = 0;
  bool too_large = false;
};

// Returning less than was given makes libcurl break off.
size_t OnBody(char* data, size_t, size_t size, void* context) {
  auto* transfer = static_cast<Transfer*>(context);
  if (transfer->reply.body.size() + size > transfer->request->max_body) {
    transfer->too_large = true;
    return 0;
  }
  transfer->reply.body.append(data, size);
  return size;
}

size_t OnHeader(char* data, size_t, size_t size, void* context) {
  auto* transfer = static_cast<Transfer*>(context);
  transfer->header_bytes += size;
  if (transfer->reply.headers.size() == kMaxHeaders || transfer->header_bytes > kMaxHeaderBytes) {
    transfer->too_large = true;
    return 0;
  }
  const absl::string_view line = absl::StripAsciiWhitespace(absl::string_view(data, size));
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return size;
  transfer->reply.headers.push_back(
      absl::StrCat(absl::AsciiStrToLower(line.substr(0, colon)), line.substr(colon)));
  return size;
}

int OnProgress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto* transfer = static_cast<Transfer*>(context);
  return *transfer->cancelled && (*transfer->cancelled)() ? 1 : 0;
}

struct Deleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

absl::Status ToStatus(CURLcode code, const Transfer& transfer, const char* detail) {
  const std::string& url = transfer.request->url;
  const std::string why = *detail != '\0' ? detail : curl_easy_strerror(code);
  if (transfer.too_large) {
    return absl::ResourceExhaustedError(
        absl::StrCat(url, ": the answer is larger than ", transfer.request->max_body, " bytes"));
  }
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return absl::DeadlineExceededError(absl::StrCat(url, ": ", why));
    case CURLE_ABORTED_BY_CALLBACK:
      return absl::CancelledError(absl::StrCat(url, ": given up"));
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return absl::InvalidArgumentError(
          absl::StrCat("\"", url, "\" is no http:// or https:// address: ", why));
    default:
      return absl::UnavailableError(absl::StrCat(url, ": ", why));
  }
}

}  // namespace

absl::StatusOr<Reply> Fetch(const Request& request, absl::Time deadline,
                            const std::function<bool()>& cancelled) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialised != CURLE_OK) return absl::InternalError("libcurl does not initialise");
  const int64_t left_ms = absl::ToInt64Milliseconds(deadline - absl::Now());
  if (left_ms <= 0) {
    return absl::DeadlineExceededError(absl::StrCat(request.url, ": the deadline passed"));
  }
  std::unique_ptr<CURL, Deleter> handle(curl_easy_init());
  if (handle == nullptr) return absl::ResourceExhaustedError("no memory for a request");
  std::unique_ptr<curl_slist, Deleter> headers;
  // "Expect: 100-continue" would cost a round trip.
  std::vector<std::string> lines = request.headers;
  lines.push_back("Expect:");
  for (const std::string& line : lines) {
    curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
    if (longer == nullptr) return absl::ResourceExhaustedError("no memory for a request");
    (void)headers.release();
    headers.reset(longer);
  }
  Transfer transfer{&request, &cancelled, {}, 0, false};
  char detail[CURL_ERROR_SIZE] = "";
  CURL* curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");  // whatever the environment says
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(left_ms));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(std::clamp<int64_t>(
                       absl::ToInt64Milliseconds(request.connect_timeout), 1, left_ms)));
  if (request.post || !request.body.empty()) {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  if (!request.ca_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, request.ca_file.c_str());
    curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
  }
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &OnProgress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, cancelled ? 0L : 1L);
  const CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK) return ToStatus(code, transfer, detail);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  transfer.reply.code = static_cast<int>(status);
  return std::move(transfer.reply);
}

std::string Header(const Reply& reply, const std::string& lower_case_name) {
  const std::string prefix = lower_case_name + ":";
  for (const std::string& line : reply.headers) {
    if (absl::StartsWith(line, prefix)) {
      return std::string(absl::StripAsciiWhitespace(line.substr(prefix.size())));
    }
  }
  return "";
}

}  // namespace caravan::http
