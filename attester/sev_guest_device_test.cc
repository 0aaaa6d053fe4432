// SPDX-License-Identifier: Apache-2.0
#include "attester/sev_guest_device.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "attester/fake_tsm_tree.h"
#include "attester/sev_guest_abi.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attester {
namespace {

using attestation::ReportData;
using testing::ElementsAre;
using testing::HasSubstr;

// Plays the driver, the host and the firmware.
struct FakeDevice {
  int Handle(unsigned long command, void* argument) {
    auto* call = static_cast<sev_guest::Request*>(argument);
    calls.push_back(command);
    EXPECT_EQ(call->message_version, 1);
    call->firmware_error = sev_guest::kUntouched;
    if (failures > 0) {
      --failures;
      call->firmware_error = firmware_error;
      call->host_error = host_error;
      return error;
    }
    auto* request = reinterpret_cast<sev_guest::ExtendedReportRequest*>(call->request_address);
    auto* response = reinterpret_cast<sev_guest::ReportResponse*>(call->response_address);
    if (command == sev_guest::kGetExtendedReport) {
      if (request->certificates_size % 4096 != 0 || request->certificates_size > kernel_limit) {
        return EINVAL;
      }
      if (table.size() > request->certificates_size) {
        call->host_error = sev_guest::kHostInvalidLength;
        request->certificates_size = asks_for_a_page_more
                                         ? request->certificates_size + 4096
                                         : asked.value_or((table.size() + 4095) / 4096 * 4096);
        return EIO;
      }
      std::memcpy(reinterpret_cast<void*>(request->certificates_address), table.data(),
                  table.size());
    }
    call->firmware_error = 0;
    response->status = status;
    vmpl = request->data.vmpl;
    std::string report =
        MakeSnpReport(std::string_view(reinterpret_cast<const char*>(request->data.user_data), 64));
    if (other_data) report[0x50] = static_cast<char>(report[0x50] ^ 1);
    response->report_size = report_size.value_or(report.size());
    std::memcpy(response->report, report.data(), report.size());
    return 0;
  }

  int failures = 0;  // so many calls fail with the following
  int error = EIO;
  uint32_t firmware_error = 0;
  uint32_t host_error = 0;

  std::string table;
  std::optional<uint32_t> asked;  // the size that the host says it needs
  bool asks_for_a_page_more = false;
  uint32_t kernel_limit = 16384;
  uint32_t status = 0;
  std::optional<uint32_t> report_size;
  bool other_data = false;

  std::vector<unsigned long> calls;
  uint32_t vmpl = 99;
};

class SevGuest : public testing::Test {
 protected:
  absl::StatusOr<attestation::EvidenceSet> Collect(uint32_t vmpl = 0) {
    auto attester = MakeSevGuestAttester(
        [this](unsigned long command, void* call) { return device_.Handle(command, call); },
        {.vmpl = vmpl, .sleep = [this](absl::Duration time) { slept_ += time; }});
    EXPECT_EQ(attester->Describe(), "sev-snp");
    ReportData data;
    data.bytes.fill(0x5A);
    return attester->Collect(data);
  }
  // A table with a certificate of so many bytes.
  static std::string Table(size_t size) {
    return MakeCertificateTable(
        {{std::string(kAskGuid), "the ask"}, {std::string(kVcekGuid), std::string(size, 'v')}});
  }

  FakeDevice device_;
  absl::Duration slept_;
};

TEST_F(SevGuest, GivesAReportAndTheHostsCertificates) {
  device_.table = Table(1500);
  auto set = Collect(2);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->items[0].report, MakeSnpReport(std::string(64, '\x5A')));
  EXPECT_THAT(set->items[0].certificates, ElementsAre(std::string(1500, 'v'), "the ask"));
  EXPECT_EQ(device_.vmpl, 2u);
  EXPECT_THAT(device_.calls, ElementsAre(sev_guest::kGetExtendedReport));
}

TEST_F(SevGuest, TakesAHostWithoutCertificates) {
  auto set = Collect();
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(set->items[0].certificates.empty());
}

TEST_F(SevGuest, GrowsTheBufferToWhatTheHostAsksFor) {
  device_.kernel_limit = 1 << 20;
  device_.table = MakeCertificateTable({{std::string(kVcekGuid), std::string(16000, 'v')},
                                        {std::string(kAskGuid), std::string(16000, 'a')}});
  auto set = Collect();
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->items[0].certificates.size(), 2u);
  EXPECT_THAT(device_.calls,
              ElementsAre(sev_guest::kGetExtendedReport, sev_guest::kGetExtendedReport));
}

TEST_F(SevGuest, DoesWithoutCertificatesThatTheKernelCannotCarry) {
  device_.table = std::string(20000, 't');
  auto set = Collect();
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(set->items[0].certificates.empty());
  EXPECT_EQ(device_.calls.back(), sev_guest::kGetReport);
}

TEST_F(SevGuest, FollowsNoHostThatAsksForTooMuchOrForNothingMore) {
  device_.kernel_limit = 0xFFFFFFFF;
  device_.table = std::string(20000, 't');
  for (uint32_t asked : {(256u << 10) + 1, 0xFFFFF000u, 16384u, 0u}) {
    device_.asked = asked;
    device_.calls.clear();
    auto set = Collect();
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_THAT(device_.calls, ElementsAre(sev_guest::kGetExtendedReport, sev_guest::kGetReport));
  }
}

TEST_F(SevGuest, FollowsNoHostThatAsksForAPageMoreEachTime) {
  device_.kernel_limit = 0xFFFFFFFF;
  device_.table = std::string(1 << 20, 't');
  device_.asks_for_a_page_more = true;
  ASSERT_TRUE(Collect().ok());
  EXPECT_EQ(device_.calls.size(), 5u);
  EXPECT_EQ(device_.calls.back(), sev_guest::kGetReport);
}

TEST_F(SevGuest, WaitsLongerEachTimeWhileTheHostThrottles) {
  device_.failures = 4;
  device_.host_error = sev_guest::kHostBusy;
  ASSERT_TRUE(Collect().ok());
  EXPECT_EQ(slept_, absl::Milliseconds(200 + 400 + 800 + 1600));
}

TEST_F(SevGuest, IsUnavailableWhenTheHostKeepsThrottling) {
  device_.failures = 1000;
  device_.host_error = sev_guest::kHostBusy;
  auto set = Collect();
  EXPECT_EQ(set.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("rate-limited by the host"));
  EXPECT_EQ(device_.calls.size(), 5u);
}

TEST_F(SevGuest, NamesTheFirmwaresRefusalOfAReport) {
  device_.status = 0x27;
  auto set = Collect();
  EXPECT_EQ(set.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("0x27 INVALID_KEY"));
  device_.status = 0x16;
  EXPECT_THAT(std::string(Collect(1).status().message()),
              HasSubstr("0x16 INVALID_PARAM; may this guest ask for VMPL 1?"));
}

TEST_F(SevGuest, RefusesAReportThatCarriesOtherReportData) {
  device_.other_data = true;
  EXPECT_EQ(Collect().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SevGuest, RefusesAReportOfAnotherSize) {
  for (uint32_t size : {0u, 1183u, 3968u, 3969u, 0xFFFFFFFFu}) {
    device_.report_size = size;
    EXPECT_EQ(Collect().status().code(), absl::StatusCode::kDataLoss) << size;
  }
}

TEST_F(SevGuest, RefusesAMalformedCertificateTable) {
  device_.table = std::string(16384, 't');
  EXPECT_EQ(Collect().status().code(), absl::StatusCode::kDataLoss);
}

struct Failure {
  const char* name;
  int error;
  uint32_t host_error;
  uint32_t firmware_error;
  absl::StatusCode code;
  const char* says;
};

class SevGuestFailure : public SevGuest, public testing::WithParamInterface<Failure> {};

TEST_P(SevGuestFailure, IsNamedByItsCause) {
  device_.failures = 1000;
  device_.error = GetParam().error;
  device_.host_error = GetParam().host_error;
  device_.firmware_error = GetParam().firmware_error;
  auto set = Collect();
  EXPECT_EQ(set.status().code(), GetParam().code) << set.status();
  EXPECT_THAT(std::string(set.status().message()), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Causes, SevGuestFailure,
    testing::Values(
        Failure{"Busy", EBUSY, 0, 0, absl::StatusCode::kUnavailable, "try again later"},
        Failure{"Again", EAGAIN, 0, 0, absl::StatusCode::kUnavailable, "try again later"},
        Failure{"TimedOut", ETIMEDOUT, 0, 0xFF, absl::StatusCode::kUnavailable, "in time"},
        Failure{"Interrupted", EINTR, 0, 0, absl::StatusCode::kUnavailable, "interrupted"},
        Failure{"KeyDisabled", ENOTTY, 0, 0xFF, absl::StatusCode::kFailedPrecondition,
                "starts anew"},
        Failure{"NotPermitted", EPERM, 0, 0, absl::StatusCode::kPermissionDenied, "not permitted"},
        Failure{"FirmwareRefuses", EIO, 0, 0x17, absl::StatusCode::kFailedPrecondition,
                "0x17 RESOURCE_LIMIT"},
        Failure{"FirmwareErrorWithoutName", EIO, 0, 0x7777, absl::StatusCode::kFailedPrecondition,
                "0x7777"},
        Failure{"HostFails", EIO, 9, 0, absl::StatusCode::kInternal, "code 9"},
        Failure{"NoFirmwareCall", EIO, 0, 0xFFFFFFFF, absl::StatusCode::kInternal, "Input/output"},
        Failure{"BadMessage", EBADMSG, 0, 0xFF, absl::StatusCode::kInternal, "Bad message"}),
    [](const testing::TestParamInfo<Failure>& info) { return info.param.name; });

TEST(FirmwareErrors, HaveTheirNames) {
  EXPECT_STREQ(FirmwareErrorName(0x16), "INVALID_PARAM");
  EXPECT_STREQ(FirmwareErrorName(0x1E), "");
}

TEST(Devices, ThatAreNotThereAreNamed) {
  auto device = OpenDevice("/dev/caravan-none");
  EXPECT_EQ(device.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(device.status().message()),
              testing::StartsWith("/dev/caravan-none: is not there"));
}

struct OpenFailure {
  const char* name;
  int error;
  absl::StatusCode code;
  const char* says;
};

class DeviceFailure : public testing::TestWithParam<OpenFailure> {};

TEST_P(DeviceFailure, NamesTheDeviceAndWhatToDo) {
  EXPECT_EQ(OpenError("/dev/sev-guest", GetParam().error),
            absl::Status(GetParam().code, std::string("/dev/sev-guest: ") + GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Open, DeviceFailure,
    testing::Values(
        OpenFailure{"NotThere", ENOENT, absl::StatusCode::kNotFound,
                    "is not there: is this a confidential VM, with its guest driver loaded?"},
        OpenFailure{"NoDriver", ENXIO, absl::StatusCode::kNotFound,
                    "has no driver behind it: load the guest's driver"},
        OpenFailure{"NoDevice", ENODEV, absl::StatusCode::kNotFound,
                    "has no driver behind it: load the guest's driver"},
        OpenFailure{"NotPermitted", EACCES, absl::StatusCode::kPermissionDenied,
                    "not permitted: the daemon needs read and write access to it"},
        OpenFailure{"Busy", EBUSY, absl::StatusCode::kUnavailable,
                    "another process holds it; try again"},
        OpenFailure{"Else", EIO, absl::StatusCode::kInternal, "Input/output error"}),
    [](const auto& info) { return info.param.name; });

TEST(Devices, MustBeCharacterDevices) {
  const std::string file = testing::TempDir() + "/plain";
  fclose(fopen(file.c_str(), "w"));
  EXPECT_EQ(OpenDevice(file).status().code(), absl::StatusCode::kNotFound);
  auto null = OpenDevice("/dev/null");
  ASSERT_TRUE(null.ok()) << null.status();
  int argument = 0;
  EXPECT_EQ((*null)(sev_guest::kGetReport, &argument), ENOTTY);
}

}  // namespace
}  // namespace caravan::attester
