// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "config/selector_config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::config {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kGood[] = R"(node_name: "node-a"
control_address: "10.0.0.1:7400"
data_address: "10.0.0.1:7401"
attester { insecure_software { root_directory: "root" } }
policy_file: "policy.textproto"
)";

std::string Error(const std::string& text) {
  absl::StatusOr<v1::Config> config = LoadConfig(text, "/etc/caravan/daemon.textproto");
  if (config.ok()) return "accepted";
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(config.status().message());
}

TEST(Config, AppliesDefaults) {
  absl::StatusOr<v1::Config> config = LoadConfig(kGood, "/etc/caravan/daemon.textproto");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->runtime_dir(), "/run/caravan");
  EXPECT_EQ(config->limits().handshake_timeout_ms(), 10'000);
  EXPECT_EQ(config->limits().reattest_seconds(), 900);
  EXPECT_EQ(config->limits().replace_session_seconds(), 3'600);
  EXPECT_EQ(config->limits().max_half_open(), 256);
  EXPECT_EQ(config->limits().max_half_open_per_source(), 32);
  EXPECT_EQ(config->limits().application_memory_bytes(), 8ull << 30);
  EXPECT_EQ(config->limits().max_applications(), 64);
  EXPECT_EQ(config->limits().max_communicators(), 256);
  EXPECT_EQ(config->limits().send_buffer_bytes(), 0);
  EXPECT_EQ(config->selector().link_mbit_per_second(), 25'000);
}

TEST(Config, TurnsPrescribedAlgorithmsIntoRows) {
  absl::StatusOr<v1::Config> config = LoadConfig(
      absl::StrCat(kGood,
                   "selector {\n  choices { operation: \"allreduce\" algorithm: \"ring\" }\n"
                   "  choices { operation: \"broadcast\" algorithm: \"direct\" "
                   "max_bytes: 100 max_ranks: 4 }\n}\n"),
      "daemon.textproto");
  ASSERT_TRUE(config.ok()) << config.status();
  using collective::Algorithm;
  using collective::Operation;
  EXPECT_EQ(*ConfiguredChoices(config->selector()),
            (collective::SelectorTable{{Operation::kAllReduce, UINT64_MAX,
                                        collective::kMaxSelectorRanks, Algorithm::kRing},
                                       {Operation::kBroadcast, 100, 4, Algorithm::kDirect}}));
}

TEST(Config, ResolvesPathsFromItsOwnFolder) {
  std::string text = absl::StrCat(kGood, "endorsement_paths: \"certs\"\npsk_file: \"/abs/psk\"\n");
  absl::StatusOr<v1::Config> config = LoadConfig(text, "/etc/caravan/daemon.textproto");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->policy_file(), "/etc/caravan/policy.textproto");
  EXPECT_EQ(config->attester().insecure_software().root_directory(), "/etc/caravan/root");
  EXPECT_EQ(config->endorsement_paths(0), "/etc/caravan/certs");
  EXPECT_EQ(config->psk_file(), "/abs/psk");
  config = LoadConfig(kGood, "daemon.textproto");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->policy_file(), "policy.textproto");
}

// The configuration above with another attester.
std::string WithAttester(const std::string& attester) {
  std::string text = kGood;
  const std::string line = "attester { insecure_software { root_directory: \"root\" } }";
  return text.replace(text.find(line), line.size(), attester);
}

TEST(Config, AppliesDefaultsOfAttesters) {
  absl::StatusOr<v1::Config> config = LoadConfig(WithAttester("attester { tdx {} }"), "f");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->attester().tdx().quote_service_port(), 4050);
  EXPECT_FALSE(config->attester().has_nvidia_gpus());
  config = LoadConfig(WithAttester("attester { configfs_tsm { vmpl: 0 } nvidia_gpus {} }"), "f");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->attester().configfs_tsm().path(), "/sys/kernel/config/tsm/report");
  EXPECT_EQ(config->attester().nvidia_gpus().library(), "libnvidia-ml.so.1");
}

TEST(Config, TellsTheLowestLevelFromNone) {
  absl::StatusOr<v1::Config> config = LoadConfig(WithAttester("attester { sev_snp {} }"), "f");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_FALSE(config->attester().sev_snp().has_vmpl());
  config = LoadConfig(WithAttester("attester { sev_snp { vmpl: 0 } }"), "f");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->attester().sev_snp().has_vmpl());
}

struct BadConfig {
  const char* name;
  std::string text;
  const char* place;  // after the file's name
  const char* what;
};

class BadConfigs : public testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigs, AreRefusedWithTheirPlace) {
  std::string error = Error(GetParam().text);
  EXPECT_THAT(error, StartsWith(absl::StrCat("/etc/caravan/daemon.textproto", GetParam().place)));
  EXPECT_THAT(error, HasSubstr(GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadConfigs,
    testing::Values(
        BadConfig{"Syntax", "node_name: \"a\"\npolicy_file 3", ":2:13: ", "Expected \":\""},
        BadConfig{"UnknownField", "node_name: \"a\"\n  colour: 3", ":2:9: ", "colour"},
        BadConfig{"WrongType", "node_name: 7", ":1:12: ", "Expected string"},
        BadConfig{"Empty", "", ":1:1: ", "node_name: is required"},
        BadConfig{"NodeName", absl::StrCat("# a comment\n", "node_name: \"Node A\"\n"),
                  ":2:1: ", "is not 1 to 64 characters"},
        BadConfig{"WildcardUnadvertised",
                  "node_name: \"a\"\npolicy_file: \"p\"\nattester { sev_snp {} }",
                  ":1:1: ", "advertised_control_address: is required"},
        BadConfig{"AdvertisedWildcard",
                  absl::StrCat(kGood, "advertised_data_address: \"0.0.0.0:1\"\n"),
                  ":6:1: ", "is a wildcard"},
        BadConfig{"NoPort", "node_name: \"a\"\n\n  control_address: \"10.0.0.1\"\n",
                  ":3:3: ", "has no port"},
        BadConfig{"PortTooLarge", "node_name: \"a\"\ncontrol_address: \"10.0.0.1:70000\"\n",
                  ":2:1: ", "no port between 0 and 65535"},
        BadConfig{"RootDirectoryMissing",
                  "node_name: \"a\"\ncontrol_address: \"h:1\"\ndata_address: \"h:2\"\n"
                  "policy_file: \"p\"\nattester {\n  insecure_software {}\n}\n",
                  ":6:3: ", "attester.insecure_software.root_directory: is required"},
        BadConfig{
            "TooManyInsecureGpus",
            "node_name: \"a\"\ncontrol_address: \"h:1\"\ndata_address: \"h:2\"\n"
            "policy_file: \"p\"\nattester {\n  insecure_software {\n    root_directory: \"r\"\n"
            "    gpus: 17\n  }\n}\n",
            ":8:5: ", "attester.insecure_software.gpus: 17 is not between 0 and 16"},
        BadConfig{
            "InsecureSwitchesAlone",
            "node_name: \"a\"\ncontrol_address: \"h:1\"\ndata_address: \"h:2\"\n"
            "policy_file: \"p\"\nattester {\n  insecure_software {\n    root_directory: \"r\"\n"
            "    switches: 2\n  }\n}\n",
            ":8:5: ", "there are no gpus that they could link"},
        BadConfig{"LimitTooSmall",
                  absl::StrCat(kGood, "limits {\n  max_half_open: 1\n  max_applications: 9999\n}"),
                  ":8:3: ", "limits.max_applications: 9999 is not between 1 and 4096"},
        BadConfig{"UnknownAlgorithm",
                  absl::StrCat(kGood,
                               "selector { choices { operation: \"allreduce\" "
                               "algorithm: \"tree\" } }"),
                  ":6:12: ", "selector.choices: unknown algorithm"},
        BadConfig{"UnfitAlgorithm",
                  absl::StrCat(kGood,
                               "selector { choices { operation: \"allreduce\" "
                               "algorithm: \"chain-forward\" } }"),
                  ":6:12: ", "selector.choices: chain-forward cannot carry allreduce"},
        BadConfig{"LinkTooFast",
                  absl::StrCat(kGood, "selector { link_mbit_per_second: 100000001 }"),
                  ":6:12: ", "selector.link_mbit_per_second: 100000001 is above"},
        BadConfig{"AttesterOfNoKind", WithAttester("attester { nvidia_gpus {} }"),
                  ":4:1: ", "attester: is required: sev_snp {}, tdx {}"},
        BadConfig{"Vmpl", WithAttester("attester {\n  sev_snp { vmpl: 4 }\n}"),
                  ":5:13: ", "attester.sev_snp.vmpl: 4 is not between 0 and 3"},
        BadConfig{"TsmVmpl", WithAttester("attester { configfs_tsm {\n  vmpl: 9 } }"),
                  ":5:3: ", "attester.configfs_tsm.vmpl: 9 is not between 0 and 3"},
        BadConfig{"GpuLibraryRelative",
                  WithAttester("attester { sev_snp {}\n  nvidia_gpus { library: \"lib/x.so\" } }"),
                  ":5:17: ", "attester.nvidia_gpus.library: \"lib/x.so\" is neither"},
        BadConfig{"GpuTwice",
                  WithAttester("attester { sev_snp {}\n  nvidia_gpus { indices: [1, 2, 1] } }"),
                  ":5:17: ", "attester.nvidia_gpus.indices: 1 is listed twice"},
        BadConfig{"GpusRealAndPretended",
                  WithAttester("attester { insecure_software { root_directory: \"r\" gpus: 1 }\n"
                               "  nvidia_gpus {} }"),
                  ":5:3: ", "attester.nvidia_gpus: is set beside insecure_software.gpus"},
        BadConfig{"GpuIndex",
                  WithAttester("attester { sev_snp {}\n  nvidia_gpus { indices: 64 } }"),
                  ":5:17: ", "attester.nvidia_gpus.indices: 64 is not between 0 and 63"},
        BadConfig{"StoreOfNoKind", absl::StrCat(kGood, "store {}"),
                  ":6:1: ", "store.etcd: is required"},
        BadConfig{"StoreWithoutEndpoint", absl::StrCat(kGood, "store { etcd {} }"),
                  ":6:9: ", "store.etcd.endpoints: is required"},
        BadConfig{"StoreEndpoint",
                  absl::StrCat(kGood, "store {\n  etcd {\n    endpoints: \"h:2379\"\n  }\n}"),
                  ":8:5: ", "\"h:2379\" does not begin with http://"},
        BadConfig{
            "StoreLease",
            absl::StrCat(kGood, "store { etcd { endpoints: \"http://h:1\" lease_seconds: 1 } }"),
            ":6:40: ", "lease_seconds: 1 is not between 2 and 3600"},
        BadConfig{"RuntimeDirTooLong",
                  absl::StrCat(kGood, "runtime_dir: \"/", std::string(100, 'r'), "\""),
                  ":6:1: ", "runtime_dir: is too long"}),
    [](const testing::TestParamInfo<BadConfig>& info) { return info.param.name; });

TEST(Config, ReportsTheFirstErrorOfTheFile) {
  std::string error = Error("policy_file: \"\"\ncontrol_address: \"x\"\nnode_name: \"A\"\n");
  EXPECT_THAT(error, HasSubstr(":1:1: policy_file"));
}

TEST(Config, RefusesOversizedText) {
  EXPECT_THAT(Error(std::string(kMaxConfigSize + 1, ' ')), HasSubstr("at most"));
}

TEST(Config, NamesAFileThatIsNotThere) {
  absl::StatusOr<v1::Config> config = ReadConfig("/nonexistent/daemon.textproto");
  EXPECT_EQ(config.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(config.status().message()), HasSubstr("/nonexistent/daemon.textproto"));
}

}  // namespace
}  // namespace caravan::config
