// SPDX-License-Identifier: Apache-2.0
#include "attestation/policy/rules.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/caravan/v1/policy.pb.h"

namespace caravan::attestation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RulesOf, NameTheFieldsThatDecideACheck) {
  EXPECT_THAT(RulesOf("SNP_DEBUG"), ElementsAre("snp.allow_debug"));
  EXPECT_THAT(RulesOf("TDX_DEBUG"), ElementsAre("tdx.allow_debug"));
  EXPECT_THAT(RulesOf("SGX_TCB_STATUS"), ElementsAre("sgx.platform.accepted_tcb"));
  EXPECT_THAT(RulesOf("SNP_MEASUREMENT"), ElementsAre("snp.measurements", "snp.any_measurement"));
  EXPECT_THAT(RulesOf("NVIDIA_DRIVER_RIM_OCSP"),
              ElementsAre("nvidia.allow_missing_ocsp", "nvidia.require_insecure_ocsp"));
  EXPECT_THAT(RulesOf("NVIDIA_HOLD"), ElementsAre("nvidia.allow_certificate_hold"));
  EXPECT_THAT(RulesOf("TDX_POLICY"), ElementsAre("tdx"));
  for (const char* id : {"NVIDIA_ROOT_INSECURE", "SNP_ROOT", "NVIDIA_VBIOS_RIM_ROOT"}) {
    EXPECT_THAT(RulesOf(id), ElementsAre("allow_insecure", "insecure_root_spki_sha256")) << id;
  }
  EXPECT_THAT(RulesOf("GPU_NOT_ATTACHED"), ElementsAre("allow_insecure"));
}

TEST(RulesOf, AreNoneWhereNoPolicyLetsACheckPass) {
  for (const char* id : {"SNP_SIGNATURE", "TDX_SIGNATURE", "SNP_REVOKED", "NVIDIA_DRIVER_RIM_ROLE",
                         "SGX_MEASUREMENT", "", "SNP_", "DEBUG"}) {
    EXPECT_THAT(RulesOf(id), IsEmpty()) << id;
  }
}

TEST(RulesOf, AreFieldsOfThePolicy) {
  for (const std::string& path : AllRules()) {
    const google::protobuf::Descriptor* message = v1::Policy::descriptor();
    for (const std::string& name : std::vector<std::string>(absl::StrSplit(path, '.'))) {
      ASSERT_NE(message, nullptr) << path;
      const google::protobuf::FieldDescriptor* field = message->FindFieldByName(name);
      ASSERT_NE(field, nullptr) << path;
      message = field->message_type();
    }
  }
}

}  // namespace
}  // namespace caravan::attestation
