// SPDX-License-Identifier: Apache-2.0
#include "attester/tdx_guest_device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "attestation/evidence.h"
#include "attester/report_checks.h"

namespace caravan::attester {
namespace {

using attestation::Evidence;
using attestation::EvidenceKind;
using attestation::EvidenceSet;
using attestation::ReportData;

// TDREPORT: REPORTMACSTRUCT's REPORTDATA (TDX module ABI, TDREPORT_STRUCT).
constexpr size_t kReportDataAt = 128;

absl::Status FromError(int error) {
  const std::string what = absl::StrCat(kTdxGuestPath, ": ");
  switch (error) {
    case EBUSY:
    case EAGAIN:
      return absl::UnavailableError(absl::StrCat(what, "busy with another request; try again"));
    case EINTR:
      return absl::UnavailableError(absl::StrCat(what, "interrupted; try again"));
    case ENOTTY:
      return absl::FailedPreconditionError(
          absl::StrCat(what, "makes no TDREPORT: is it the driver of Linux 6.2 or later?"));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(absl::StrCat(what, "not permitted"));
    case EIO:
      return absl::InternalError(
          absl::StrCat(what, "the TDX module refused; the kernel's log has its code"));
    default:
      return absl::InternalError(absl::StrCat(what, std::strerror(error)));
  }
}

class TdxGuestAttester : public attestation::Attester {
 public:
  TdxGuestAttester(Ioctl device, Connect quote_service, TdxGuestOptions options)
      : device_(std::move(device)), quote_service_(std::move(quote_service)), options_(options) {}

  absl::StatusOr<EvidenceSet> Collect(const ReportData& report_data) override {
    TdReportRequest request{};
    std::copy(report_data.bytes.begin(), report_data.bytes.end(), request.report_data);
    if (const int error = device_(kGetTdReport, &request); error != 0) return FromError(error);
    if (std::memcmp(request.td_report + kReportDataAt, report_data.bytes.data(),
                    report_data.bytes.size()) != 0) {
      return absl::DataLossError(absl::StrCat(
          kTdxGuestPath, ": the TDREPORT carries other report data than it was asked to"));
    }
    const std::string_view td_report(reinterpret_cast<const char*>(request.td_report),
                                     sizeof(request.td_report));
    absl::StatusOr<std::string> quote =
        RequestQuote(quote_service_, td_report, absl::Now() + options_.timeout);
    if (!quote.ok()) return quote.status();
    absl::Status status = CheckAnswers(EvidenceKind::kTdx, *quote, report_data, "quote service");
    if (!status.ok()) return status;
    return EvidenceSet{{Evidence{EvidenceKind::kTdx, *std::move(quote), {}}}};
  }
  std::string Describe() const override { return "tdx"; }

 private:
  const Ioctl device_;
  const Connect quote_service_;
  const TdxGuestOptions options_;
};

}  // namespace

std::unique_ptr<attestation::Attester> MakeTdxGuestAttester(Ioctl device, Connect quote_service,
                                                            TdxGuestOptions options) {
  return std::make_unique<TdxGuestAttester>(std::move(device), std::move(quote_service), options);
}

}  // namespace caravan::attester
