// SPDX-License-Identifier: Apache-2.0
//
// caravanctl against a real daemon, as users whom the daemon does and does not serve.
#include <sys/stat.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/cluster.h"

namespace caravan::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kOk = 0;
constexpr int kUnreachable = 3;
constexpr int kPermission = 6;

class AdminSocket : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.Start(0);
    // Out of the build's folder, which another user may not enter, into one which it may.
    program_ = cluster_.folder() + "/caravanctl";
    WriteAll(program_, ReadAll(Cluster::Runfile("cli/caravanctl")), 0755);
    ASSERT_EQ(chmod(cluster_.folder().c_str(), 0755), 0);
  }
  // `before` goes in front of the command.
  Process Run(std::vector<std::string> before, const std::string& runtime_dir) {
    before.insert(before.end(), {program_, "status", "--runtime-dir", runtime_dir});
    return Process(before, /*with_errors=*/true);
  }

  Cluster cluster_;
  std::string program_;
};

TEST_F(AdminSocket, ServesTheDaemonsOwnUser) {
  Process own = Run({}, cluster_.runtime_dir(0));
  EXPECT_THAT(own.Rest(), HasSubstr("node node-a"));
  EXPECT_EQ(own.Wait(), kOk);
}

TEST_F(AdminSocket, TellsAnAbsentDaemonFromOneThatRefuses) {
  Process none = Run({}, cluster_.folder());
  EXPECT_THAT(none.Rest(), HasSubstr("[UNAVAILABLE]"));
  EXPECT_EQ(none.Wait(), kUnreachable);
}

// With the socket's group, so that only the user is wrong; and with neither.
class WrongUser : public AdminSocket, public ::testing::WithParamInterface<const char*> {};

TEST_P(WrongUser, IsRefusedWithItsOwnExitCode) {
  const std::vector<std::string> as = {"/usr/bin/setpriv", "--reuid=65534",
                                       std::string("--regid=") + GetParam(), "--clear-groups"};
  std::vector<std::string> probe = as;
  probe.push_back("/usr/bin/true");
  if (Process(probe).Wait() != 0) GTEST_SKIP() << "becoming another user takes root";
  Process refused = Run(as, cluster_.runtime_dir(0));
  const std::string text = refused.Rest();
  EXPECT_THAT(text, StartsWith("caravanctl: status: " + cluster_.runtime_dir(0) + "/admin.sock: "));
  EXPECT_THAT(text, HasSubstr("[PERMISSION_DENIED]"));
  EXPECT_THAT(text, HasSubstr("hint: run as root"));
  EXPECT_EQ(refused.Wait(), kPermission);
}

INSTANTIATE_TEST_SUITE_P(Groups, WrongUser, ::testing::Values("0", "65534"));

}  // namespace
}  // namespace caravan::testing
