// SPDX-License-Identifier: Apache-2.0
//
// The parser of reports: what it reads, and each way in which bytes are none.
#include "attestation/nvidia/report.h"

#include <functional>
#include <string>

#include "attestation/insecure_software/forge.h"
#include "attestation/insecure_software/forge_nvidia.h"
#include "attestation/nvidia/opaque.h"
#include "base/hex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attestation::nvidia {
namespace {

using insecure_software::DeviceReportSpec;
using insecure_software::MakeP384Key;
using insecure_software::SerializeDeviceReport;
using insecure_software::SignDeviceReport;
using testing::HasSubstr;

DeviceReportSpec Good() {
  DeviceReportSpec spec;
  spec.nonce = std::string(32, 'n');
  spec.blocks = {{.index = 1, .digest = std::string(48, 'a')},
                 {.index = 9, .digest = std::string(48, 'b'), .type = 3}};
  spec.opaque = {{kVbiosVersion, std::string("\x00\x9f\x00\x96\x01\x00\x00\x00", 8)},
                 {kDriverVersion, std::string("550.90.07\0", 10)},
                 {999, "what nobody knows yet"}};
  return spec;
}

std::string WithSignature(const DeviceReportSpec& spec) {
  return SerializeDeviceReport(spec) + std::string(kSignatureSize, 's');
}

std::string ErrorOf(const std::string& bytes) {
  const auto report = ParseReport(bytes);
  return report.ok() ? "" : std::string(report.status().message());
}

TEST(NvidiaReport, ReadsEveryPart) {
  const std::string bytes = WithSignature(Good()) + std::string(3, '\0');
  const auto report = ParseReport(bytes);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->nonce, std::string(32, 'n'));
  EXPECT_EQ(report->responder_nonce, std::string(32, 'r'));
  EXPECT_EQ(report->slot, 0);
  ASSERT_EQ(report->measurements.size(), 2u);
  EXPECT_EQ(report->measurements[1].index, 9);
  EXPECT_EQ(report->measurements[1].type, 3);
  EXPECT_EQ(report->measurements[1].digest, std::string(48, 'b'));
  ASSERT_EQ(report->opaque.size(), 3u);
  EXPECT_EQ(report->opaque[2].type, 999);
  EXPECT_EQ(report->signature, std::string(96, 's'));
  EXPECT_EQ(report->signed_bytes.data(), bytes.data());
  EXPECT_EQ(report->signed_bytes.size() + 96 + 3, bytes.size());
  EXPECT_EQ(report->trailing.size(), 3u);
  EXPECT_TRUE(report->unknown.empty());
}

TEST(NvidiaReport, NamesReservedFieldsThatAreNotZero) {
  DeviceReportSpec spec = Good();
  spec.parameter1 = 2;
  spec.attributes = 0x03;
  const std::string bytes = WithSignature(spec);
  const auto report = ParseReport(bytes);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->unknown, testing::ElementsAre("request attributes", "response parameter 1"));
}

TEST(NvidiaReport, RefusesEveryLengthThatIsCutShort) {
  const std::string bytes = WithSignature(Good());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseReport(bytes.substr(0, size)).ok()) << size;
  }
}

struct Bad {
  const char* name;
  std::function<void(DeviceReportSpec*)> spoil;
  const char* error;
};

class BadReport : public testing::TestWithParam<Bad> {};

TEST_P(BadReport, IsRefusedWithPlaceAndReason) {
  DeviceReportSpec spec = Good();
  GetParam().spoil(&spec);
  EXPECT_THAT(ErrorOf(WithSignature(spec)), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadReport,
    testing::Values(
        // A later version with the layout of this one: neither its prefix nor its transcript is
        // there to check.
        Bad{"Spdm12", [](auto* s) { s->request_version = s->response_version = 0x12; },
            "the request is spdm 1.2, expected spdm 1.1: later versions sign a transcript"},
        Bad{"Spdm12ResponseAlone", [](auto* s) { s->response_version = 0x12; },
            "the response is spdm 1.2"},
        Bad{"Spdm10", [](auto* s) { s->request_version = 0x10; },
            "the request is spdm 1.0, expected spdm 1.1"},
        Bad{"OtherRequest", [](auto* s) { s->request_code = 0x81; },
            "the request has the code 0x81"},
        Bad{"NoSignatureAskedFor", [](auto* s) { s->attributes = 0; },
            "the request asks for no signature"},
        Bad{"OneBlockAskedFor", [](auto* s) { s->which = 1; },
            "asks for the measurement 0x01 alone"},
        Bad{"SlotOutOfRange", [](auto* s) { s->request_slot = s->response_slot = 8; },
            "the request is for slot 8"},
        Bad{"SlotMismatch", [](auto* s) { s->response_slot = 1; },
            "the response is for slot 1, the request was for slot 0"},
        Bad{"ErrorResponse", [](auto* s) { s->response_code = 0x7F; },
            "the device answered with an error"},
        Bad{"OtherResponse", [](auto* s) { s->response_code = 0x61; },
            "the response has the code 0x61"},
        Bad{"NoBlocks", [](auto* s) { s->blocks.clear(); }, "it has no measurement"},
        Bad{"FewerBlocksThanSaid", [](auto* s) { s->block_count = 3; },
            "block 3 of 3: index of 1 bytes, 0 are left"},
        Bad{"MoreBlocksThanSaid", [](auto* s) { s->block_count = 1; },
            "1 blocks leave 55 bytes of the measurement record"},
        Bad{"RecordTooLong", [](auto* s) { s->record_size = 0xFFFFFF; },
            "measurement record of 16777215 bytes"},
        Bad{"IndexZero", [](auto* s) { s->blocks[0].index = 0; }, "block 1 of 2: index is 0"},
        Bad{"IndexTwice", [](auto* s) { s->blocks[1].index = 1; },
            "block 2 of 2: index 1 stands twice"},
        Bad{"OtherSpecification", [](auto* s) { s->blocks[0].specification = 2; },
            "measurement specification 0x02"},
        Bad{"SizesDisagree", [](auto* s) { s->blocks[0].value_size = 47; },
            "a value of 47 bytes in a measurement of 51"},
        Bad{"RawValue", [](auto* s) { s->blocks[0].type = 0x81; },
            "value of type 0x81 and 48 bytes, expected a digest"},
        Bad{"ShortDigest", [](auto* s) { s->blocks[1].digest.resize(32); },
            "value of type 0x03 and 32 bytes, expected a digest of 48"},
        Bad{"OpaqueTooLong", [](auto* s) { s->opaque_size = 0xFFFF; },
            "opaque data of 65535 bytes"},
        Bad{"OpaqueFieldTooLong", [](auto* s) { s->opaque_size = 30; },
            "opaque field 3 (type 999) of 21 bytes, 0 are left"},
        Bad{"TooManyOpaqueFields",
            [](auto* s) {
              s->opaque.assign(257, {5, ""});
            },
            "over 256 opaque fields"}),
    [](const auto& info) { return info.param.name; });

TEST(NvidiaReport, RefusesMoreThanItsLimit) {
  EXPECT_THAT(ErrorOf(WithSignature(Good()) + std::string(kMaxReportSize, '\0')),
              HasSubstr("at most 65536"));
}

class Signature : public testing::Test {
 protected:
  absl::Status Check(const std::string& bytes, EVP_PKEY* key) {
    const auto report = ParseReport(bytes);
    return report.ok() ? CheckReportSignature(*report, key) : report.status();
  }

  EvpPkeyPtr key_ = *MakeP384Key();
  const std::string unsigned_ = SerializeDeviceReport(Good());
  const std::string bytes_ = *SignDeviceReport(key_.get(), unsigned_);
};

TEST_F(Signature, IsOverRequestAndResponse) {
  EXPECT_TRUE(Check(bytes_, key_.get()).ok());
  EXPECT_FALSE(Check(bytes_, MakeP384Key()->get()).ok());
}

// Over the response alone the nonce would be nobody's.
TEST_F(Signature, OverTheResponseAloneIsRefused) {
  const std::string response = unsigned_.substr(kRequestSize);
  const std::string signature = SignDeviceReport(key_.get(), response)->substr(response.size());
  EXPECT_FALSE(Check(unsigned_ + signature, key_.get()).ok());
}

TEST_F(Signature, WithALaterVersionsPrefixIsRefused) {
  std::string prefix;
  for (int i = 0; i < 4; ++i) prefix += "dmtf-spdm-v1.2.*";
  prefix += std::string(6, '\0') + "responder-measurements signing";
  const std::string text = prefix + unsigned_;
  const std::string signature = SignDeviceReport(key_.get(), text)->substr(text.size());
  EXPECT_FALSE(Check(unsigned_ + signature, key_.get()).ok());
}

TEST_F(Signature, DoesNotReachOverTrailingBytes) {
  EXPECT_TRUE(Check(bytes_ + std::string(1, '\0'), key_.get()).ok());
  // Whoever takes the last 96 bytes checks another signature.
  EXPECT_FALSE(
      Check(unsigned_ + std::string(1, '\0') + bytes_.substr(unsigned_.size()), key_.get()).ok());
}

TEST_F(Signature, OfZerosIsRefused) {
  std::string zeros = bytes_;
  std::fill(zeros.end() - kSignatureSize, zeros.end(), '\0');
  EXPECT_THAT(std::string(Check(zeros, key_.get()).message()), HasSubstr("r"));
  std::string half = bytes_;
  std::fill(half.end() - 48, half.end(), '\0');
  EXPECT_FALSE(Check(half, key_.get()).ok());
}

absl::StatusOr<DeviceInfo> InfoOf(DeviceClass device_class, const DeviceReportSpec& spec) {
  static std::string bytes;
  bytes = WithSignature(spec);
  const auto report = ParseReport(bytes);
  if (!report.ok()) return report.status();
  return ReadDeviceInfo(device_class, *report);
}

TEST(OpaqueData, IsReadAsAGpus) {
  DeviceReportSpec spec = Good();
  std::string links;
  for (char c : {'\x01', '\x01', '\x02'}) links += std::string("\x08\x07\x06\x05\x04\x03\x02") + c;
  spec.opaque.emplace_back(kPdis, links + std::string(8, '\0'));
  spec.opaque.emplace_back(kFeatureFlag, std::string("\x02\x00", 2));
  spec.opaque.emplace_back(kProtectedPcieStatus, "\xAA");
  const auto info = InfoOf(DeviceClass::kGpu, spec);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->driver_version, "550.90.07");
  EXPECT_EQ(info->vbios_version, "96.00.9F.00.01");
  EXPECT_EQ(info->feature_flag, 2u);
  EXPECT_EQ(info->protected_pcie, true);
  EXPECT_FALSE(info->fwid.has_value());
  EXPECT_FALSE(info->own_pdi.has_value());
  // Each switch once, its bytes the other way round, links that are off left out.
  ASSERT_EQ(info->peers.size(), 2u);
  EXPECT_EQ(base::ToHex(*info->peers.begin()), "0102030405060708");
}

TEST(OpaqueData, IsReadAsASwitchs) {
  DeviceReportSpec spec = Good();
  spec.opaque = {{kVbiosVersion, "96.10.55.00.01"},
                 {kPdis, "\x01\x02\x03\x04\x05\x06\x07\x08"},
                 {kLockSwitchStatus, std::string("\x01\x00", 2)},
                 {kSwitchGpuPdis, std::string(16, 'g') + std::string(48, '\0') + "ports"}};
  const auto info = InfoOf(DeviceClass::kSwitch, spec);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->vbios_version, "96.10.55.00.01");
  EXPECT_EQ(base::ToHex(*info->own_pdi), "0102030405060708");
  EXPECT_EQ(info->peers.size(), 1u);
  EXPECT_EQ(info->locked, true);
}

struct BadField {
  const char* name;
  DeviceClass device_class;
  uint16_t type;
  std::string value;
  const char* error;
};

class BadOpaque : public testing::TestWithParam<BadField> {};

TEST_P(BadOpaque, IsRefused) {
  DeviceReportSpec spec = Good();
  if (GetParam().device_class == DeviceClass::kSwitch) spec.opaque.clear();
  OpaqueValue(&spec, GetParam().type) = GetParam().value;
  const auto info = InfoOf(GetParam().device_class, spec);
  ASSERT_FALSE(info.ok());
  EXPECT_THAT(std::string(info.status().message()), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadOpaque,
    testing::Values(
        BadField{"GpuVbios", DeviceClass::kGpu, kVbiosVersion, "96.10.55.00.01",
                 "vbios version has 14 bytes, expected 8"},
        BadField{"SwitchVbios", DeviceClass::kSwitch, kVbiosVersion, std::string("\0\x9f\0\x96", 4),
                 "vbios version is no plain text"},
        BadField{"Driver", DeviceClass::kGpu, kDriverVersion, "550 90", "is no plain text"},
        BadField{"LongDriver", DeviceClass::kGpu, kDriverVersion, std::string(65, '5'),
                 "driver version has 65 bytes"},
        BadField{"Fwid", DeviceClass::kGpu, kFwid, std::string(32, 'f'),
                 "fwid has 32 bytes, expected 48"},
        BadField{"Pcie", DeviceClass::kGpu, kProtectedPcieStatus, "\x01",
                 "protected pcie status is neither enabled"},
        BadField{"Nvdec", DeviceClass::kGpu, kNvdec0Status, "", "nvdec0 status is neither"},
        BadField{"Feature", DeviceClass::kGpu, kFeatureFlag, std::string(9, '\0'),
                 "feature flag has 9 bytes"},
        BadField{"SwitchPdis", DeviceClass::kGpu, kPdis, std::string(12, 'p'),
                 "switch pdis have 12 bytes"},
        BadField{"TooManyLinks", DeviceClass::kGpu, kPdis, std::string(8 * 65, 'p'),
                 "switch pdis have 520 bytes"},
        // A GPU's field where a switch's is expected.
        BadField{"DevicePdi", DeviceClass::kSwitch, kPdis, std::string(144, 'p'),
                 "device pdi has 144 bytes, expected 8"},
        BadField{"GpuPdis", DeviceClass::kSwitch, kSwitchGpuPdis, std::string(63, 'p'),
                 "gpu pdis have 63 bytes"}),
    [](const auto& info) { return info.param.name; });

TEST(OpaqueData, RefusesAFieldThatStandsTwice) {
  DeviceReportSpec spec = Good();
  spec.opaque.emplace_back(kDriverVersion, "999.99");
  const auto info = InfoOf(DeviceClass::kGpu, spec);
  ASSERT_FALSE(info.ok());
  EXPECT_THAT(std::string(info.status().message()), HasSubstr("driver version stands twice"));
}

}  // namespace
}  // namespace caravan::attestation::nvidia
