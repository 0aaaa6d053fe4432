// SPDX-License-Identifier: Apache-2.0
#include "attester/configfs_tsm.h"

#include <cerrno>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attester/fake_tsm_tree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attester {
namespace {

using attestation::EvidenceKind;
using attestation::ReportData;
using testing::ElementsAre;
using testing::HasSubstr;

ReportData Data(uint8_t fill) {
  ReportData data;
  data.bytes.fill(fill);
  return data;
}

class ConfigfsTsm : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<attestation::Attester>> Make(ConfigfsTsmOptions options = {}) {
    return MakeConfigfsTsmAttester(std::make_unique<FakeTsmTree>(&world_), options);
  }
  // Collects from an attester that could be made before things went wrong.
  absl::StatusOr<attestation::EvidenceSet> Collect(std::map<std::string, int> errors = {}) {
    auto attester = Make();
    EXPECT_TRUE(attester.ok()) << attester.status();
    if (!attester.ok()) return attester.status();
    world_.errors = std::move(errors);
    auto set = (*attester)->Collect(Data(0xA5));
    if (world_.errors.count("rmdir") == 0) {
      EXPECT_TRUE(world_.entries.empty()) << "an entry was left behind";
    }
    return set;
  }

  FakeTsmTree::World world_;
};

TEST_F(ConfigfsTsm, GivesAnSnpReportAndTheHostsCertificatesLeafFirst) {
  world_.auxblob = MakeCertificateTable({{std::string(kArkGuid), "the ark"},
                                         {std::string(kAskGuid), "the ask"},
                                         {std::string(16, '\x92'), "a revocation list"},
                                         {std::string(kVcekGuid), "the vcek"}});
  auto set = Collect();
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->items.size(), 1u);
  EXPECT_EQ(set->items[0].kind, EvidenceKind::kSevSnp);
  EXPECT_EQ(set->items[0].report, MakeSnpReport(std::string(64, '\xA5')));
  EXPECT_THAT(set->items[0].certificates, ElementsAre("the vcek", "the ask", "the ark"));
}

TEST_F(ConfigfsTsm, TakesGuidsInBothByteOrders) {
  world_.auxblob = MakeCertificateTable(
      {{std::string("\x8d\x75\xda\x63\x64\xe6\x64\x45\xad\xc5\xf4\xb9\x3b\xe8\xac\xcd", 16),
        "the vcek"}});
  auto set = Collect();
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->items[0].certificates, ElementsAre("the vcek"));
}

TEST_F(ConfigfsTsm, GivesATdxQuote) {
  world_.provider = "tdx_guest";
  for (uint16_t version : {4, 5}) {
    world_.report = [version](std::string_view in, unsigned) { return MakeTdxQuote(in, version); };
    auto set = Collect();
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->items[0].kind, EvidenceKind::kTdx);
    EXPECT_TRUE(set->items[0].certificates.empty());
  }
}

TEST_F(ConfigfsTsm, DescribesItselfByTheEvidenceItMakes) {
  EXPECT_EQ((*Make())->Describe(), "sev-snp");
  world_.provider = "tdx_guest";
  EXPECT_EQ((*Make())->Describe(), "tdx");
}

TEST_F(ConfigfsTsm, TakesAReportWithoutCertificates) {
  EXPECT_TRUE(Collect()->items[0].certificates.empty());
  EXPECT_TRUE(Collect({{"auxblob", ENOENT}})->items[0].certificates.empty());
  world_.auxblob = std::string(4096, '\0');
  EXPECT_TRUE(Collect()->items[0].certificates.empty());
}

TEST_F(ConfigfsTsm, AsksForTheLowestLevelThatTheKernelAllows) {
  world_.privlevel_floor = 2;
  ASSERT_TRUE(Collect().ok());
  EXPECT_EQ(world_.privlevel, 2u);
}

TEST_F(ConfigfsTsm, AsksForTheLevelOfTheConfiguration) {
  auto attester = Make({.vmpl = 3});
  ASSERT_TRUE(attester.ok());
  ASSERT_TRUE((*attester)->Collect(Data(1)).ok());
  EXPECT_EQ(world_.privlevel, 3u);
}

TEST_F(ConfigfsTsm, RefusesALevelBelowTheFloorOrAboveTheHighest) {
  world_.privlevel_floor = 2;
  for (const uint32_t vmpl : {1, 4}) {
    auto attester = Make({.vmpl = vmpl});
    ASSERT_TRUE(attester.ok());
    EXPECT_EQ((*attester)->Collect(Data(1)).status(),
              absl::FailedPreconditionError("/fake/tsm: a report of VMPL " + std::to_string(vmpl) +
                                            " was asked for, this guest may ask for 2 to 3"));
    EXPECT_TRUE(world_.entries.empty()) << "an entry was left behind";
  }
}

TEST_F(ConfigfsTsm, RefusesANumberThatIsNone) {
  for (const std::string attribute : {"generation", "privlevel_floor"}) {
    world_.says = {{attribute, "two\n"}};
    EXPECT_EQ(Collect().status(),
              absl::DataLossError("/fake/tsm: " + attribute + ": is no number: \"two\""));
  }
}

TEST_F(ConfigfsTsm, TriesAgainWhenAnotherProcessWroteToItsEntry) {
  world_.interferences = 2;
  auto set = Collect();
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(world_.made, 1 + 3);  // one to learn the provider
}

TEST_F(ConfigfsTsm, GivesUpWhenAnotherProcessKeepsWriting) {
  world_.interferences = 100;
  auto set = Collect();
  EXPECT_EQ(set.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("generation is 3, expected 2"));
  EXPECT_EQ(world_.made, 1 + 3);
}

TEST_F(ConfigfsTsm, TakesAnotherNameWhenOneIsTaken) {
  world_.taken = 2;
  EXPECT_TRUE(Make().ok());
  world_.taken = 100;
  EXPECT_FALSE(Make().ok());
}

TEST_F(ConfigfsTsm, RefusesAReportThatCarriesOtherReportData) {
  world_.report = [](std::string_view, unsigned) { return MakeSnpReport(std::string(64, 'x')); };
  auto set = Collect();
  EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("other report data"));
}

TEST_F(ConfigfsTsm, RefusesAnEmptyReport) {
  world_.report = [](std::string_view, unsigned) { return std::string(); };
  auto set = Collect();
  EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("is empty"));
}

TEST_F(ConfigfsTsm, RefusesAReportOfAnotherSize) {
  for (size_t size : {1183u, 1185u}) {
    world_.report = [size](std::string_view, unsigned) { return std::string(size, '\0'); };
    EXPECT_EQ(Collect().status().code(), absl::StatusCode::kDataLoss) << size;
  }
  world_.provider = "tdx_guest";
  world_.report = [](std::string_view, unsigned) { return std::string(600, '\4'); };
  EXPECT_EQ(Collect().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ConfigfsTsm, RefusesAnOversizedReport) {
  world_.report = [](std::string_view, unsigned) { return std::string((256 << 10) + 1, 'x'); };
  EXPECT_EQ(Collect().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ConfigfsTsm, RefusesAMalformedCertificateTable) {
  std::string table = MakeCertificateTable({{std::string(kVcekGuid), "the vcek"}});
  world_.auxblob = table.substr(0, table.size() - 1);
  auto set = Collect();
  EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("certificate table"));
  world_.auxblob = MakeCertificateTable({{std::string(kVcekGuid), std::string(16385, 'x')}});
  EXPECT_EQ(Collect().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ConfigfsTsm, RefusesAProviderOfAnotherKind) {
  world_.provider = "tdx_guest";
  auto attester = Make({.kind = EvidenceKind::kSevSnp});
  EXPECT_EQ(attester.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(attester.status().message()),
              HasSubstr("makes tdx evidence, not sev-snp"));
  EXPECT_TRUE(world_.entries.empty());
}

TEST_F(ConfigfsTsm, RefusesAProviderThatNobodyKnows) {
  world_.provider = "arm_cca_guest";
  auto attester = Make();
  EXPECT_EQ(attester.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(attester.status().message()), HasSubstr("\"arm_cca_guest\""));
}

TEST_F(ConfigfsTsm, SaysThatNoDriverHasRegistered) {
  world_.provider = "";
  auto attester = Make();
  EXPECT_EQ(attester.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(attester.status().message()), HasSubstr("load the guest driver"));
}

TEST_F(ConfigfsTsm, ReportsAnEntryThatCannotBeRemoved) {
  auto set = Collect({{"rmdir", EBUSY}});
  EXPECT_EQ(set.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("cannot remove caravan-"));
}

TEST_F(ConfigfsTsm, ServesSeveralCallersAtOnceEachItsOwnData) {
  auto attester = Make();
  ASSERT_TRUE(attester.ok());
  std::vector<std::thread> threads;
  for (uint8_t i = 1; i <= 8; ++i) {
    threads.emplace_back([&attester, i] {
      for (int round = 0; round < 50; ++round) {
        auto set = (*attester)->Collect(Data(i));
        ASSERT_TRUE(set.ok()) << set.status();
        EXPECT_EQ(set->items[0].report, MakeSnpReport(std::string(64, static_cast<char>(i))));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(world_.entries.empty());
}

struct Failure {
  const char* name;
  const char* call;
  int error;
  absl::StatusCode code;
  const char* says;
};

class ConfigfsTsmFailure : public ConfigfsTsm, public testing::WithParamInterface<Failure> {};

TEST_P(ConfigfsTsmFailure, IsNamedByItsCause) {
  auto set = Collect({{GetParam().call, GetParam().error}});
  EXPECT_EQ(set.status().code(), GetParam().code) << set.status();
  EXPECT_THAT(std::string(set.status().message()), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Causes, ConfigfsTsmFailure,
    testing::Values(
        Failure{"NotMounted", "mkdir", ENOENT, absl::StatusCode::kNotFound, "configfs mounted"},
        Failure{"NoProvider", "mkdir", ENXIO, absl::StatusCode::kNotFound, "no provider"},
        Failure{"NotPermitted", "mkdir", EACCES, absl::StatusCode::kPermissionDenied, "root's"},
        Failure{"NoMemory", "mkdir", ENOMEM, absl::StatusCode::kInternal, "Cannot allocate"},
        Failure{"BusyWrite", "inblob", EBUSY, absl::StatusCode::kUnavailable, "try again"},
        Failure{"BusyRead", "outblob", EBUSY, absl::StatusCode::kUnavailable, "try again"},
        Failure{"WouldBlock", "outblob", EAGAIN, absl::StatusCode::kUnavailable, "try again"},
        Failure{"TimedOut", "outblob", ETIMEDOUT, absl::StatusCode::kUnavailable, "in time"},
        Failure{"Interrupted", "outblob", EINTR, absl::StatusCode::kUnavailable, "interrupted"},
        Failure{"Invalid", "outblob", EINVAL, absl::StatusCode::kFailedPrecondition,
                "refused as invalid"},
        Failure{"LevelRefused", "privlevel", EINVAL, absl::StatusCode::kFailedPrecondition,
                "privlevel: refused"},
        Failure{"KeyDisabled", "outblob", ENOTTY, absl::StatusCode::kFailedPrecondition,
                "starts anew"},
        Failure{"DriverGone", "outblob", ENXIO, absl::StatusCode::kNotFound, "no provider"},
        Failure{"TooLargeForTheKernel", "outblob", EFBIG, absl::StatusCode::kDataLoss,
                "more than is taken"},
        Failure{"FirmwareFailed", "outblob", EIO, absl::StatusCode::kInternal, "kernel's log"},
        Failure{"CertificatesBusy", "auxblob", EBUSY, absl::StatusCode::kUnavailable, "auxblob"},
        Failure{"GenerationUnreadable", "generation", EIO, absl::StatusCode::kInternal,
                "generation"}),
    [](const testing::TestParamInfo<Failure>& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::attester
