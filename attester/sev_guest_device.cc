// SPDX-License-Identifier: Apache-2.0
#include "attester/sev_guest_device.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "attestation/evidence.h"
#include "attester/report_checks.h"
#include "attester/sev_guest_abi.h"

namespace caravan::attester {
namespace {

using attestation::Evidence;
using attestation::EvidenceKind;
using attestation::EvidenceSet;
using attestation::ReportData;

constexpr uint32_t kPage = 4096;
constexpr uint32_t kFirstTable = 4 * kPage;  // the most that kernels take today
constexpr uint32_t kLargestTable = 256 << 10;
constexpr int kMaxBusy = 5;
constexpr int kMaxGrowth = 3;
constexpr absl::Duration kFirstPause = absl::Milliseconds(200);

struct FirmwareError {
  uint32_t code;
  const char* name;
};
constexpr FirmwareError kFirmwareErrors[] = {
    {0x01, "INVALID_PLATFORM_STATE"},
    {0x02, "INVALID_GUEST_STATE"},
    {0x03, "INVALID_CONFIG"},
    {0x04, "INVALID_LEN"},
    {0x05, "ALREADY_OWNED"},
    {0x06, "INVALID_CERTIFICATE"},
    {0x07, "POLICY_FAILURE"},
    {0x08, "INACTIVE"},
    {0x09, "INVALID_ADDRESS"},
    {0x0A, "BAD_SIGNATURE"},
    {0x0B, "BAD_MEASUREMENT"},
    {0x0C, "ASID_OWNED"},
    {0x0D, "INVALID_ASID"},
    {0x0E, "WBINVD_REQUIRED"},
    {0x0F, "DFFLUSH_REQUIRED"},
    {0x10, "INVALID_GUEST"},
    {0x11, "INVALID_COMMAND"},
    {0x12, "ACTIVE"},
    {0x13, "HWERROR_PLATFORM"},
    {0x14, "HWERROR_UNSAFE"},
    {0x15, "UNSUPPORTED"},
    {0x16, "INVALID_PARAM"},
    {0x17, "RESOURCE_LIMIT"},
    {0x18, "SECURE_DATA_INVALID"},
    {0x19, "INVALID_PAGE_SIZE"},
    {0x1A, "INVALID_PAGE_STATE"},
    {0x1B, "INVALID_MDATA_ENTRY"},
    {0x1C, "INVALID_PAGE_OWNER"},
    {0x1D, "AEAD_OFLOW"},
    {0x1F, "EXIT_RING_BUFFER"},
    {0x20, "RMP_INIT_REQUIRED"},
    {0x21, "BAD_SVN"},
    {0x22, "BAD_VERSION"},
    {0x23, "SHUTDOWN_REQUIRED"},
    {0x24, "UPDATE_FAILED"},
    {0x25, "RESTORE_REQUIRED"},
    {0x26, "RMP_INITIALIZATION_FAILED"},
    {0x27, "INVALID_KEY"},
    {0x28, "SHUTDOWN_INCOMPLETE"},
};

std::string Named(uint32_t code) {
  const char* name = FirmwareErrorName(code);
  return absl::StrCat("0x", absl::Hex(code), *name == '\0' ? "" : " ", name);
}

uint64_t Address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

struct Free {
  void operator()(void* pointer) const { std::free(pointer); }
};

class SevGuestAttester : public attestation::Attester {
 public:
  SevGuestAttester(Ioctl device, SevGuestOptions options)
      : device_(std::move(device)), options_(std::move(options)) {
    if (options_.sleep == nullptr)
      options_.sleep = [](absl::Duration time) { absl::SleepFor(time); };
  }

  absl::StatusOr<EvidenceSet> Collect(const ReportData& report_data) override {
    // The driver takes one request at a time; so does this, rather than fail the others as busy.
    std::lock_guard lock(mutex_);
    uint32_t table_size = kFirstTable;
    int busy = 0;
    int grown = 0;
    for (;;) {
      absl::StatusOr<Answer> answer = Ask(report_data, table_size);
      if (!answer.ok()) return answer.status();
      if (answer->evidence.has_value()) return EvidenceSet{{*std::move(answer->evidence)}};
      if (answer->busy) {
        if (++busy == kMaxBusy) {
          return absl::UnavailableError(absl::StrCat(kSevGuestPath, ": rate-limited by the host, ",
                                                     kMaxBusy, " times; try again later"));
        }
        options_.sleep(kFirstPause * (1 << (busy - 1)));
      } else {
        table_size = ++grown > kMaxGrowth ? 0 : answer->next_table_size;
      }
    }
  }
  std::string Describe() const override { return "sev-snp"; }

 private:
  struct Answer {
    std::optional<Evidence> evidence = std::nullopt;
    bool busy = false;
    uint32_t next_table_size = 0;  // where the table was too small; 0: do without
  };

  // One request; a table of size 0 means a report alone.
  absl::StatusOr<Answer> Ask(const ReportData& report_data, uint32_t table_size) const {
    sev_guest::ExtendedReportRequest request{};
    std::copy(report_data.bytes.begin(), report_data.bytes.end(), request.data.user_data);
    request.data.vmpl = options_.vmpl;
    std::unique_ptr<char, Free> table;
    if (table_size > 0) {
      table.reset(static_cast<char*>(std::aligned_alloc(kPage, table_size)));
      if (table == nullptr) return absl::ResourceExhaustedError("no memory for certificates");
      std::memset(table.get(), 0, table_size);
      request.certificates_address = Address(table.get());
      request.certificates_size = table_size;
    }
    auto response = std::make_unique<sev_guest::ReportResponse>();
    sev_guest::Request call{};
    call.message_version = 1;
    call.request_address = Address(&request);
    call.response_address = Address(response.get());
    const int error =
        device_(table_size > 0 ? sev_guest::kGetExtendedReport : sev_guest::kGetReport, &call);
    if (error != 0) return OfError(error, call, request.certificates_size, table_size);
    absl::StatusOr<Evidence> evidence =
        Take(*response, std::string_view(table.get(), table_size), report_data);
    if (!evidence.ok()) return evidence.status();
    return Answer{.evidence = *std::move(evidence)};
  }

  // What to do next, or why there is nothing.
  static absl::StatusOr<Answer> OfError(int error, const sev_guest::Request& call, uint32_t wanted,
                                        uint32_t had) {
    if (call.host_error == sev_guest::kHostBusy || error == EBUSY || error == EAGAIN) {
      return Answer{.busy = true};
    }
    if (call.host_error == sev_guest::kHostInvalidLength && had > 0) {
      const bool grows = wanted > had && wanted <= kLargestTable;
      return Answer{.next_table_size = grows ? (wanted + kPage - 1) / kPage * kPage : 0};
    }
    // Kernels refuse a buffer above a bound of theirs.
    if (error == EINVAL && had > kFirstTable) return Answer{};
    const std::string what = absl::StrCat(kSevGuestPath, ": ");
    if (error == ETIMEDOUT) {
      return absl::UnavailableError(
          absl::StrCat(what, "the host did not answer in time; try again later"));
    }
    if (error == EINTR) return absl::UnavailableError(absl::StrCat(what, "interrupted; try again"));
    if (error == ENOTTY) {
      return absl::FailedPreconditionError(absl::StrCat(
          what,
          "the guest's channel to the firmware was closed after an error, or this is no "
          "sev-guest device; the channel stays so until the machine starts anew"));
    }
    if (error == EACCES || error == EPERM) {
      return absl::PermissionDeniedError(absl::StrCat(what, "not permitted"));
    }
    if (call.host_error != 0) {
      return absl::InternalError(
          absl::StrCat(what, "the host failed the request with code ", call.host_error));
    }
    if (call.firmware_error != 0 && call.firmware_error != sev_guest::kUntouched &&
        call.firmware_error != sev_guest::kNoFirmwareCall) {
      return absl::FailedPreconditionError(
          absl::StrCat(what, "the firmware refused the request: ", Named(call.firmware_error)));
    }
    return absl::InternalError(absl::StrCat(what, std::strerror(error)));
  }

  absl::StatusOr<Evidence> Take(const sev_guest::ReportResponse& response, std::string_view table,
                                const ReportData& report_data) const {
    if (response.status != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(kSevGuestPath, ": the firmware refused the report: ", Named(response.status),
                       response.status == 0x16
                           ? absl::StrCat("; may this guest ask for VMPL ", options_.vmpl, "?")
                           : ""));
    }
    if (response.report_size > sizeof(response.report)) {
      return absl::DataLossError(absl::StrCat(kSevGuestPath, ": the report is said to have ",
                                              response.report_size, " bytes"));
    }
    Evidence item{EvidenceKind::kSevSnp,
                  std::string(reinterpret_cast<const char*>(response.report), response.report_size),
                  {}};
    absl::Status status = CheckAnswers(item.kind, item.report, report_data, kSevGuestPath);
    if (!status.ok()) return status;
    auto certificates = CertificatesOfTable(table);
    if (!certificates.ok()) return certificates.status();
    item.certificates = *std::move(certificates);
    return item;
  }

  const Ioctl device_;
  SevGuestOptions options_;
  std::mutex mutex_;
};

}  // namespace

const char* FirmwareErrorName(uint32_t error) {
  for (const FirmwareError& known : kFirmwareErrors) {
    if (known.code == error) return known.name;
  }
  return "";
}

std::unique_ptr<attestation::Attester> MakeSevGuestAttester(Ioctl device, SevGuestOptions options) {
  return std::make_unique<SevGuestAttester>(std::move(device), std::move(options));
}

}  // namespace caravan::attester
