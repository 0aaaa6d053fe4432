// SPDX-License-Identifier: Apache-2.0
#include "cli/evidence/collect.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "attestation/verify_input.h"
#include "attester/configfs_tsm.h"
#include "attester/fake_tsm_tree.h"
#include "base/hex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simdjson.h"

namespace caravan::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// GPUs that report their number.
class FakeGpus : public attestation::DeviceAttester {
 public:
  explicit FakeGpus(size_t count) : count_(count) {}
  size_t DeviceCount() const override { return count_; }
  absl::StatusOr<attestation::Evidence> Collect(size_t index,
                                                const std::array<uint8_t, 32>& nonce) override {
    std::string report("\x11\xE0\x01\xFF", 4);
    report.append(reinterpret_cast<const char*>(nonce.data()), nonce.size());
    report.append(10, static_cast<char>(index));
    return attestation::Evidence{attestation::EvidenceKind::kNvidia, report, {"one", "two"}};
  }
  std::string Describe() const override { return "nvidia"; }

 private:
  const size_t count_;
};

class Collect : public testing::Test {
 protected:
  Collect() {
    makers_.configfs_tsm = [this](const EvidenceCollectOptions& options) {
      tsm_path_ = options.tsm_path;
      return attester::MakeConfigfsTsmAttester(std::make_unique<attester::FakeTsmTree>(&world_),
                                               {});
    };
    makers_.sev_guest = Absent("/dev/sev-guest: is not there");
    makers_.tdx = Absent("/dev/tdx_guest: is not there");
    makers_.nvml = [this](const EvidenceCollectOptions& options)
        -> absl::StatusOr<std::unique_ptr<attestation::DeviceAttester>> {
      return std::make_unique<FakeGpus>(options.gpu >= 0 ? 1 : gpus_);
    };
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~Collect() override { std::filesystem::remove_all(folder_); }

  static AttesterMakers::Cpu Absent(const char* why,
                                    absl::StatusCode code = absl::StatusCode::kNotFound) {
    return [why, code](const EvidenceCollectOptions&)
               -> absl::StatusOr<std::unique_ptr<attestation::Attester>> {
      return absl::Status(code, why);
    };
  }
  int Run(const EvidenceCollectOptions& options, bool json = false) {
    out_.str("");
    err_.str("");
    Context context{out_, err_};
    context.json = json;
    return RunEvidenceCollect(context, options, makers_);
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  std::string At(const std::string& pointer) {
    simdjson::dom::element value;
    const auto error = parser_.parse(out_.str()).at_pointer(pointer).get(value);
    return error ? std::string("none: ") + simdjson::error_message(error) : simdjson::minify(value);
  }

  attester::FakeTsmTree::World world_;
  AttesterMakers makers_;
  std::string tsm_path_;
  size_t gpus_ = 2;
  std::string folder_ = testing::TempDir() + "/collect-XXXXXX";
  std::ostringstream out_, err_;
  simdjson::dom::parser parser_;
};

const std::string kData(128, '7');
const std::string kRawData(64, '\x77');

TEST_F(Collect, WritesTheReportAsItCameAndItsCertificatesBeside) {
  world_.auxblob = attester::MakeCertificateTable({{std::string(attester::kVcekGuid), "a vcek"}});
  EXPECT_EQ(Run({.report_data = kData, .out = Path("report"), .tsm_path = "/other"}), kOk);
  EXPECT_EQ(Read("report"), attester::MakeSnpReport(kRawData));
  EXPECT_EQ(Read("report.pem"),
            "-----BEGIN CERTIFICATE-----\nYSB2Y2Vr\n-----END CERTIFICATE-----\n");
  EXPECT_THAT(out_.str(), StartsWith("collected  sev-snp  1184 bytes  1 certificate  "));
  EXPECT_THAT(out_.str(), HasSubstr("report data " + kData));
  EXPECT_EQ(tsm_path_, "/other");
}

TEST_F(Collect, PrintsHexadecimalThatVerifyTakes) {
  EXPECT_EQ(Run({.report_data = kData}), kOk);
  const auto set = attestation::DetectEvidence(out_.str());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->items[0].report, attester::MakeSnpReport(kRawData));
  EXPECT_THAT(err_.str(), HasSubstr("collected  sev-snp"));
}

TEST_F(Collect, AsksForRandomReportDataWhereNoneIsGiven) {
  EXPECT_EQ(Run({}, true), kOk);
  EXPECT_EQ(At("/random"), "true");
  const std::string first = At("/report_data");
  EXPECT_EQ(first.size(), 130u);
  EXPECT_EQ(Run({}, true), kOk);
  EXPECT_NE(At("/report_data"), first);
}

TEST_F(Collect, SaysTheSameInJson) {
  EXPECT_EQ(Run({.report_data = kData}, true), kOk);
  EXPECT_EQ(At("/schema"), "\"caravan.evidence-collect/1\"");
  EXPECT_EQ(At("/attester"), "\"sev-snp\"");
  EXPECT_EQ(At("/report_data"), "\"" + kData + "\"");
  EXPECT_EQ(At("/items/0/bytes"), "1184");
  EXPECT_EQ(At("/items/0/report").size(), 2u * 1184 + 2);
}

TEST_F(Collect, WritesOneFileForEachGpuUnderOneNonce) {
  const std::string nonce(64, '3');
  EXPECT_EQ(Run({.attester = "nvml", .nonce = nonce, .out = Path("gpu")}), kOk);
  EXPECT_EQ(Read("gpu.0").substr(4, 32), std::string(32, '\x33'));
  EXPECT_EQ(Read("gpu.0").back(), '\0');
  EXPECT_EQ(Read("gpu.1").back(), '\1');
  EXPECT_THAT(Read("gpu.1.pem"), HasSubstr("b25l"));
  EXPECT_THAT(out_.str(), HasSubstr("nonce " + nonce));
  EXPECT_EQ(Run({.attester = "nvml", .nonce = nonce, .out = Path("one"), .gpu = 1}), kOk);
  EXPECT_EQ(Read("one").substr(4, 32), std::string(32, '\x33'));
}

TEST_F(Collect, TakesTheFirstWayThatThisMachineHas) {
  makers_.configfs_tsm = Absent("/sys/kernel/config/tsm/report: is not there");
  makers_.tdx = [this](const EvidenceCollectOptions&) {
    world_.provider = "tdx_guest";
    return attester::MakeConfigfsTsmAttester(std::make_unique<attester::FakeTsmTree>(&world_), {});
  };
  EXPECT_EQ(Run({}, true), kOk);
  EXPECT_EQ(At("/attester"), "\"tdx\"");
}

TEST_F(Collect, NamesEveryWayThatThisMachineLacks) {
  makers_.configfs_tsm = Absent("/sys/kernel/config/tsm/report: is not there");
  EXPECT_EQ(Run({}), kNotAttested);
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("this machine offers no evidence"), HasSubstr("tsm/report"),
                    HasSubstr("/dev/sev-guest"), HasSubstr("/dev/tdx_guest")));
}

TEST_F(Collect, DoesNotTryAnotherWayWhenOneIsThereAndFails) {
  world_.errors = {{"outblob", EBUSY}};
  makers_.sev_guest =
      [](const EvidenceCollectOptions&) -> absl::StatusOr<std::unique_ptr<attestation::Attester>> {
    ADD_FAILURE() << "the next way was tried";
    return absl::NotFoundError("");
  };
  EXPECT_EQ(Run({}), kTimedOut);
}

struct Refusal {
  const char* name;
  EvidenceCollectOptions options;
  int exit;
  const char* says;
};

class CollectRefusal : public Collect, public testing::WithParamInterface<Refusal> {};

TEST_P(CollectRefusal, HasItsExitCodeAndItsReason) {
  makers_.tdx = Absent("/dev/tdx_guest: not permitted", absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Run(GetParam().options), GetParam().exit);
  EXPECT_THAT(err_.str(), HasSubstr(GetParam().says));
  EXPECT_EQ(out_.str(), "");
  Run(GetParam().options, true);
  EXPECT_EQ(At("/schema"), "\"caravan.evidence-collect/1\"");
  EXPECT_THAT(At("/error/message"), HasSubstr("evidence collect: "));
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, CollectRefusal,
    testing::Values(
        Refusal{"ShortData", {.report_data = "77"}, kUsage, "128 hexadecimal digits"},
        Refusal{"NoHex", {.report_data = std::string(128, 'x')}, kUsage, "128 hexadecimal digits"},
        Refusal{
            "ShortNonce", {.attester = "nvml", .nonce = kData}, kUsage, "64 hexadecimal digits"},
        Refusal{
            "DataForGpus", {.attester = "nvml", .report_data = kData}, kUsage, "GPUs take --nonce"},
        Refusal{"NonceForCpu", {.nonce = std::string(64, '1')}, kUsage, "CPUs take --report-data"},
        Refusal{"GpuForCpu", {.gpu = 1}, kUsage, "--gpu goes with"},
        Refusal{"UnknownAttester", {.attester = "sgx"}, kUsage, "--attester is \"sgx\""},
        Refusal{"NoFolder", {.out = "/nonexistent/folder/file"}, kUsage, "cannot write"},
        Refusal{"Absent", {.attester = "sev-guest"}, kNotAttested, "is not there"},
        Refusal{"NotPermitted", {.attester = "tdx"}, kNotPermitted, "not permitted"}),
    [](const testing::TestParamInfo<Refusal>& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::cli
