// SPDX-License-Identifier: Apache-2.0
#include "attester/nvml.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "attestation/insecure_software/insecure_root.h"
#include "attester/fake_nvml.h"
#include "attester/nvml_abi.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attester {
namespace {

using testing::HasSubstr;

std::array<uint8_t, 32> Nonce(uint8_t fill) {
  std::array<uint8_t, 32> nonce;
  nonce.fill(fill);
  return nonce;
}

class Nvml : public testing::Test {
 protected:
  void SetUp() override {
    options_.library = std::getenv("FAKE_NVML");
    handle_ = dlopen(options_.library.c_str(), RTLD_NOW);
    ASSERT_NE(handle_, nullptr) << dlerror();
    const auto get = reinterpret_cast<FakeNvmlScript* (*)()>(dlsym(handle_, "GetFakeNvmlScript"));
    ASSERT_NE(get, nullptr);
    script_ = get();
    *script_ = {};
    const auto root = attestation::InsecureRoot::Create(absl::UnixEpoch() + absl::Hours(480'000));
    ASSERT_TRUE(root.ok());
    chain_ = root->ChainDer();
    for (const std::string& der : root->intel()->CertificatesDer()) chain_.push_back(der);
    const std::string pem = root->ToPem()->chain;
    ASSERT_LT(pem.size(), sizeof(script_->pem));
    std::memcpy(script_->pem, pem.c_str(), pem.size());
  }
  void TearDown() override {
    EXPECT_EQ(script_->initialised, 0) << "the library was left initialised";
    dlclose(handle_);
  }
  // Collects from an attester that could be made before things went wrong.
  absl::StatusOr<attestation::Evidence> CollectAfter(void (*spoil)(FakeNvmlScript*)) {
    auto attester = MakeNvmlAttester(options_);
    EXPECT_TRUE(attester.ok()) << attester.status();
    if (!attester.ok()) return attester.status();
    spoil(script_);
    return (*attester)->Collect(0, Nonce(7));
  }

  NvmlOptions options_;
  void* handle_ = nullptr;
  FakeNvmlScript* script_ = nullptr;
  std::vector<std::string> chain_;
};

TEST_F(Nvml, GivesEachGpusReportOverTheNonceAndItsCertificates) {
  auto attester = MakeNvmlAttester(options_);
  ASSERT_TRUE(attester.ok()) << attester.status();
  EXPECT_EQ((*attester)->Describe(), "nvidia");
  ASSERT_EQ((*attester)->DeviceCount(), 2u);
  std::vector<std::string> reports;
  for (size_t i = 0; i < 2; ++i) {
    auto item = (*attester)->Collect(i, Nonce(7));
    ASSERT_TRUE(item.ok()) << item.status();
    EXPECT_EQ(item->kind, attestation::EvidenceKind::kNvidia);
    EXPECT_EQ(item->report.size(), 37u + 64u);
    EXPECT_EQ(item->report.substr(4, 32), std::string(32, '\7'));
    EXPECT_EQ(item->certificates, chain_);
    reports.push_back(item->report);
  }
  EXPECT_NE(reports[0], reports[1]);
}

TEST_F(Nvml, AsksTheGpusThatAreListedInTheirOrder) {
  auto all = MakeNvmlAttester(options_);
  options_.indices = {1, 0};
  auto swapped = MakeNvmlAttester(options_);
  ASSERT_TRUE(all.ok() && swapped.ok());
  EXPECT_EQ((*all)->Collect(0, Nonce(1))->report, (*swapped)->Collect(1, Nonce(1))->report);
  EXPECT_EQ((*all)->Collect(1, Nonce(1))->report, (*swapped)->Collect(0, Nonce(1))->report);
}

TEST_F(Nvml, RefusesAGpuThatIsNotThereOrListedTwice) {
  options_.indices = {2};
  EXPECT_EQ(MakeNvmlAttester(options_).status().code(), absl::StatusCode::kNotFound);
  options_.indices = {1, 1};
  EXPECT_EQ(MakeNvmlAttester(options_).status().code(), absl::StatusCode::kInvalidArgument);
  options_.indices = {1};
  auto one = MakeNvmlAttester(options_);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ((*one)->Collect(1, Nonce(1)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(Nvml, SaysWhichLibraryIsAbsent) {
  options_.library = "libcaravan-no-such-thing.so.1";
  auto attester = MakeNvmlAttester(options_);
  EXPECT_EQ(attester.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(attester.status().message()),
              HasSubstr("cannot load libcaravan-no-such-thing.so.1"));
}

TEST_F(Nvml, NamesTheFunctionThatAnOldLibraryLacks) {
  options_.library = std::getenv("FAKE_NVML_OLD");
  auto attester = MakeNvmlAttester(options_);
  EXPECT_EQ(attester.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(attester.status().message()),
              HasSubstr("no nvmlSystemGetConfComputeState"));
}

TEST_F(Nvml, RefusesGpusThatDoNotComputeConfidentially) {
  script_->cc_feature = 0;
  auto attester = MakeNvmlAttester(options_);
  EXPECT_EQ(attester.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(attester.status().message()), HasSubstr("confidential computing is off"));
}

TEST_F(Nvml, TakesGpusOfOneProtectedPcieDomain) {
  script_->cc_feature = 0;
  script_->multi_gpu_mode = 1;
  EXPECT_TRUE(MakeNvmlAttester(options_).ok());
  // A driver that cannot tell counts as off.
  script_->settings = nvml::kNotSupported;
  EXPECT_FALSE(MakeNvmlAttester(options_).ok());
}

TEST_F(Nvml, RefusesAMachineWithoutOrWithTooManyGpus) {
  script_->gpus = 0;
  EXPECT_EQ(MakeNvmlAttester(options_).status().code(), absl::StatusCode::kNotFound);
  script_->gpus = 65;
  EXPECT_EQ(MakeNvmlAttester(options_).status().code(), absl::StatusCode::kInternal);
}

TEST_F(Nvml, RefusesAReportForAnotherNonce) {
  auto item = CollectAfter([](FakeNvmlScript* script) { script->other_nonce = true; });
  EXPECT_EQ(item.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(item.status().message()), HasSubstr("another nonce"));
}

TEST_F(Nvml, RefusesAReportWithoutTheRequestThatItAnswers) {
  auto item = CollectAfter([](FakeNvmlScript* script) { script->response_alone = true; });
  EXPECT_EQ(item.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(item.status().message()), HasSubstr("measurement request"));
}

TEST_F(Nvml, RefusesReportsThatAreEmptyShortOrOversized) {
  EXPECT_EQ(
      CollectAfter([](FakeNvmlScript* script) { script->empty_report = true; }).status().code(),
      absl::StatusCode::kDataLoss);
  script_->empty_report = false;
  EXPECT_EQ(CollectAfter([](FakeNvmlScript* script) { script->report_size = 37; }).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(
      CollectAfter([](FakeNvmlScript* script) { script->report_size = 0x2001; }).status().code(),
      absl::StatusCode::kDataLoss);
  EXPECT_EQ(CollectAfter([](FakeNvmlScript* script) { script->report_size = ~0u; }).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(Nvml, RefusesCertificatesThatAreNone) {
  EXPECT_EQ(CollectAfter([](FakeNvmlScript* script) { script->certificate_size = 0x1401; })
                .status()
                .code(),
            absl::StatusCode::kDataLoss);
  script_->certificate_size = 0;
  EXPECT_EQ(CollectAfter([](FakeNvmlScript* script) { script->pem[40] = '!'; }).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(CollectAfter([](FakeNvmlScript* script) { script->pem[0] = '\0'; }).status().code(),
            absl::StatusCode::kDataLoss);
}

struct Failure {
  const char* name;
  int code;
  absl::StatusCode status;
  const char* says;
};

class NvmlFailure : public Nvml, public testing::WithParamInterface<Failure> {};

TEST_P(NvmlFailure, IsNamedByItsCauseWhereverItHappens) {
  static const Failure* failure;
  failure = &GetParam();
  const auto check = [](const absl::Status& status) {
    EXPECT_EQ(status.code(), failure->status) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(failure->says));
    EXPECT_THAT(std::string(status.message()), testing::StartsWith("nvml: "));
  };
  for (int FakeNvmlScript::*call :
       {&FakeNvmlScript::init, &FakeNvmlScript::count, &FakeNvmlScript::state}) {
    script_->*call = failure->code;
    check(MakeNvmlAttester(options_).status());
    script_->*call = 0;
  }
  check(CollectAfter([](FakeNvmlScript* script) { script->handle = failure->code; }).status());
  script_->handle = 0;
  check(CollectAfter([](FakeNvmlScript* script) { script->report = failure->code; }).status());
  script_->report = 0;
  check(CollectAfter([](FakeNvmlScript* script) { script->certificate = failure->code; }).status());
}

INSTANTIATE_TEST_SUITE_P(
    Causes, NvmlFailure,
    testing::Values(
        Failure{"NotSupported", 3, absl::StatusCode::kFailedPrecondition, "not supported"},
        Failure{"NoPermission", 4, absl::StatusCode::kPermissionDenied, "not permitted"},
        Failure{"NotFound", 6, absl::StatusCode::kNotFound, "no such gpu"},
        Failure{"DriverNotLoaded", 9, absl::StatusCode::kNotFound, "driver is not loaded"},
        Failure{"TimedOut", 10, absl::StatusCode::kUnavailable, "in time"},
        Failure{"FunctionNotFound", 13, absl::StatusCode::kFailedPrecondition, "update NVIDIA's"},
        Failure{"GpuLost", 15, absl::StatusCode::kFailedPrecondition, "off the bus"},
        Failure{"ResetRequired", 16, absl::StatusCode::kFailedPrecondition, "needs a reset"},
        Failure{"VersionMismatch", 18, absl::StatusCode::kFailedPrecondition, "different versions"},
        Failure{"InUse", 19, absl::StatusCode::kUnavailable, "in use"},
        Failure{"NoMemory", 20, absl::StatusCode::kResourceExhausted, "out of memory"},
        Failure{"NoResources", 23, absl::StatusCode::kResourceExhausted, "out of memory"},
        Failure{"ArgumentVersion", 25, absl::StatusCode::kFailedPrecondition, "another version"},
        Failure{"NotReady", 27, absl::StatusCode::kUnavailable, "not ready"},
        Failure{"GpuNotFound", 28, absl::StatusCode::kNotFound, "no such gpu"},
        Failure{"InvalidState", 29, absl::StatusCode::kFailedPrecondition, "not in a state"},
        Failure{"Unknown", 999, absl::StatusCode::kInternal, "nvml error 999"}),
    [](const testing::TestParamInfo<Failure>& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::attester
