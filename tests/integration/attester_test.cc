// SPDX-License-Identifier: Apache-2.0
//
// A daemon on a machine that lacks the TEE of its configuration says which part is missing.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/process.h"

namespace caravan::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kOk = 0;
constexpr int kConfiguration = 2;

std::string Runfile(const std::string& path) {
  return std::string(std::getenv("TEST_SRCDIR")) + "/" + std::getenv("TEST_WORKSPACE") + "/" + path;
}

class MachineWithoutTee : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Both the check and the start.
  void ExpectRefused(const std::string& attester, const std::string& says) {
    const std::string config = std::string(folder_) + "/config";
    std::ofstream(config) << "node_name: 'a' control_address: '127.0.0.1:0' "
                          << "data_address: '127.0.0.1:0' policy_file: 'policy' runtime_dir: '"
                          << folder_ << "/run'\nattester { " << attester << " }\n";
    for (const bool check : {true, false}) {
      std::vector<std::string> command = {Runfile("daemon/caravand"), "--config", config};
      if (check) command.push_back("--check-config");
      Process daemon(command, /*with_errors=*/true);
      EXPECT_THAT(daemon.Rest(), HasSubstr(says));
      EXPECT_EQ(daemon.Wait(), kConfiguration);
    }
  }

  char folder_[40] = "/tmp/caravan-attester-XXXXXX";
};

TEST_F(MachineWithoutTee, NamesTheFolderOfConfigfsTsm) {
  ExpectRefused("configfs_tsm { path: '/nonexistent/tsm' }",
                "attester: configfs_tsm: /nonexistent/tsm: is not there");
}

TEST_F(MachineWithoutTee, NamesTheDevicesOfSevSnpAndTdx) {
  for (const char* path : {"/sys/kernel/config/tsm/report", "/dev/sev-guest", "/dev/tdx_guest"}) {
    if (access(path, F_OK) == 0) GTEST_SKIP() << "this machine has " << path;
  }
  ExpectRefused("sev_snp {}", "/dev/sev-guest: is not there");
  ExpectRefused("tdx {}", "/dev/tdx_guest: is not there");
}

TEST_F(MachineWithoutTee, NamesTheLibraryOfItsGpus) {
  const std::string root = std::string(folder_) + "/root";
  Process create({Runfile("cli/caravanctl"), "insecure-root", "create", root});
  ASSERT_EQ(create.Wait(), kOk);
  ExpectRefused("insecure_software { root_directory: '" + root +
                    "' } nvidia_gpus { library: '/nonexistent/libnvidia-ml.so.1' }",
                "nvidia_gpus: nvml: cannot load /nonexistent/libnvidia-ml.so.1");
}

}  // namespace
}  // namespace caravan::testing
