// SPDX-License-Identifier: Apache-2.0
#include "cli/policy.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "attestation/insecure_software/insecure_root.h"
#include "cli/insecure_root.h"
#include "crypto/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::cli {
namespace {

using testing::HasSubstr;

class OfflineCommand : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& bytes) {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  static std::string MakeFolder() {
    std::string name = testing::TempDir() + "/policy_XXXXXX";
    return mkdtemp(name.data()) == nullptr ? "" : name;
  }

  const std::string folder_ = MakeFolder();
  std::ostringstream out_, err_;
  Context context_{.out = out_, .err = err_};
};

constexpr char kGood[] =
    "name: \"prod\"\nsnp { any_measurement: true any_platform: true any_tcb: true }\n";

TEST_F(OfflineCommand, PolicyCheckNamesTheDigest) {
  EXPECT_EQ(RunPolicyCheck(context_, Write("p", kGood)), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("/p: ok, prod@sha256:"));
}

TEST_F(OfflineCommand, PolicyCheckRefusesWithTwoAndALineForEachError) {
  EXPECT_EQ(RunPolicyCheck(context_, Write("p", "name: \"\"\nsnp {}\n")), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("/p:1:1: name: "));
  EXPECT_THAT(err_.str(), HasSubstr("/p:2:1: snp: measurements is empty"));
  EXPECT_THAT(err_.str(), HasSubstr("/p:2:1: snp: tcb_floors is empty"));
  EXPECT_EQ(RunPolicyCheck(context_, Path("absent")), kUsage);
}

TEST_F(OfflineCommand, PolicyExplainSpeaksToAPerson) {
  EXPECT_EQ(RunPolicyExplain(context_, Write("p", kGood)), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("refuses debuggable guests"));
  EXPECT_THAT(out_.str(), HasSubstr("ACCEPTS ANY MEASUREMENT"));
}

TEST_F(OfflineCommand, PolicyExplainWritesJson) {
  Context json{.out = out_, .err = err_, .json = true};
  EXPECT_EQ(RunPolicyExplain(json, Write("p", kGood)), kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\"schema\": \"caravan.policy/1\""));
  EXPECT_THAT(out_.str(), HasSubstr("\"lines\""));
}

TEST_F(OfflineCommand, InsecureRootCreateWritesAWholeRoot) {
  const std::string folder = Path("root");
  ASSERT_EQ(RunInsecureRootCreate(context_, folder), kOk) << err_.str();
  struct stat info {};
  ASSERT_EQ(stat((folder + "/root.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  const std::string key = Read(folder + "/root.key");
  const auto root = attestation::InsecureRoot::FromPem(
      crypto::AsBytes(key), Read(folder + "/chain.pem"), Read(folder + "/crl.pem"));
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_THAT(out_.str(),
              testing::MatchesRegex("insecure_root_spki_sha256: \"[0-9a-f]+\"  # snp, nvidia\n"
                                    "insecure_root_spki_sha256: \"[0-9a-f]+\"  # tdx\n"));
}

TEST_F(OfflineCommand, InsecureRootCreateOverwritesNothing) {
  const std::string folder = Path("root");
  ASSERT_EQ(RunInsecureRootCreate(context_, folder), kOk);
  const std::string chain = Read(folder + "/chain.pem");
  EXPECT_EQ(RunInsecureRootCreate(context_, folder), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("hint: choose another folder"));
  EXPECT_EQ(Read(folder + "/chain.pem"), chain);
}

TEST_F(OfflineCommand, InsecureRootCreateNeedsTheFoldersParent) {
  EXPECT_EQ(RunInsecureRootCreate(context_, Path("absent/root")), kUsage);
}

}  // namespace
}  // namespace caravan::cli
