// SPDX-License-Identifier: Apache-2.0
#include "collateral/services_testing.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace caravan::collateral {
namespace {

using attestation::CollateralItem;
using attestation::CollateralKind;
using attestation::CollateralRequest;

constexpr absl::Duration kLongestWait = absl::Milliseconds(300);

std::string EncodePercent(const std::string& text) {
  std::string out;
  for (unsigned char c : text) {
    out += absl::ascii_isalnum(c) ? std::string(1, static_cast<char>(c))
                                  : absl::StrCat("%", absl::Hex(c, absl::kZeroPad2));
  }
  return out;
}

}  // namespace

absl::Time ClockForTest::now() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return now_;
}

void ClockForTest::Set(absl::Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  now_ = now;
}

std::vector<absl::Duration> ClockForTest::slept() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return slept_;
}

void ClockForTest::ForgetSleeps() {
  const std::lock_guard<std::mutex> lock(mutex_);
  slept_.clear();
}

World ClockForTest::MakeWorld(double random) {
  return {.now = [this] { return now(); },
          .sleep =
              [this](absl::Duration duration) {
                {
                  const std::lock_guard<std::mutex> lock(mutex_);
                  now_ += duration;
                  slept_.push_back(duration);
                }
                absl::SleepFor(absl::Milliseconds(1));  // lets other threads run
              },
          .random = [random] { return random; },
          .send =
              [this](const http::Request& request, absl::Duration timeout) {
                auto reply = http::Fetch(request, absl::Now() + std::min(timeout, kLongestWait));
                const std::lock_guard<std::mutex> lock(mutex_);
                if (absl::IsDeadlineExceeded(reply.status())) now_ += timeout;
                return reply;
              }};
}

std::string AnswerForTest(int code, const std::vector<std::string>& headers,
                          const std::string& body) {
  std::string answer = absl::StrCat("HTTP/1.1 ", code, " So\r\nContent-Length: ", body.size());
  for (const std::string& header : headers) absl::StrAppend(&answer, "\r\n", header);
  return absl::StrCat(answer, "\r\n\r\n", body);
}

ServicesForTest::ServicesForTest()
    : server_([this](const std::string& request) { return Reply(request); }) {
  PublishAll();
}

Services ServicesForTest::services() const {
  Services services;
  services.kds = services.pcs = services.rim = services.ocsp = server_.url("");
  return services;
}

std::string ServicesForTest::PathOf(const CollateralRequest& request) {
  Services here;
  here.kds = here.pcs = here.rim = here.ocsp = "";
  return CallsFor(request, here)[0].request.url;
}

void ServicesForTest::PublishAll() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    answers_.clear();
    for_all_.clear();
  }
  std::vector<CollateralRequest> requests = amd.Requests();
  for (auto& request : intel.Requests()) {
    requests.push_back(std::move(request));
  }
  for (const CollateralRequest& request : requests) {
    switch (request.kind) {
      case CollateralKind::kAmdVcek:
        Publish(request, amd.Vcek());
        break;
      case CollateralKind::kAmdChain:
        Publish(request, amd.Chain());
        break;
      case CollateralKind::kAmdCrl:
        Publish(request, amd.CrlNow());
        break;
      case CollateralKind::kIntelTcbInfo:
        Publish(request, intel.TcbInfo());
        break;
      case CollateralKind::kIntelQeIdentity:
        Publish(request, intel.QeIdentity());
        break;
      case CollateralKind::kIntelPckCrl:
        Publish(request, intel.PckCrl());
        break;
      default:
        Publish(request, intel.RootCrl());
        break;
    }
  }
}

void ServicesForTest::Publish(const CollateralRequest& request, const CollateralItem& item) {
  std::vector<std::string> headers;
  const std::string name = CallsFor(request, Services{})[0].chain_header;
  if (!name.empty()) headers.push_back(absl::StrCat(name, ": ", EncodePercent(item.issuer_chain)));
  Answer(PathOf(request), {AnswerForTest(200, headers, item.body)});
}

void ServicesForTest::Answer(const std::string& path, std::vector<std::string> answers) {
  const std::lock_guard<std::mutex> lock(mutex_);
  answers_[path] = std::move(answers);
}

void ServicesForTest::AnswerAll(const std::string& answer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for_all_ = answer;
}

void ServicesForTest::AnswerLate(absl::Duration delay) {
  const std::lock_guard<std::mutex> lock(mutex_);
  delay_ = delay;
}

std::vector<std::string> ServicesForTest::asked() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return asked_;
}

void ServicesForTest::ForgetAsked() {
  const std::lock_guard<std::mutex> lock(mutex_);
  asked_.clear();
}

std::vector<std::string> ServicesForTest::roots() { return {amd.RootDigest(), intel.RootDigest()}; }

std::string ServicesForTest::Reply(const std::string& request) {
  const std::string line = request.substr(0, request.find("\r\n"));
  const std::string target = line.substr(0, line.rfind(' '));
  absl::Duration delay;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    asked_.push_back(target);
    delay = delay_;
  }
  if (delay > absl::ZeroDuration()) absl::SleepFor(delay);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!for_all_.empty()) return for_all_;
  const auto found = answers_.find(target.substr(target.find(' ') + 1));
  if (found == answers_.end()) return AnswerForTest(404);
  const std::string answer = found->second.front();
  if (found->second.size() > 1) found->second.erase(found->second.begin());
  return answer;
}

}  // namespace caravan::collateral
