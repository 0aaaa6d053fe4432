// SPDX-License-Identifier: Apache-2.0
//
// The parts of the kernel's folder that any folder can play.
#include "attester/tsm_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "attester/configfs_tsm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attester {
namespace {

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(path_.data()), nullptr);
    tree_ = MakeTsmTree(path_);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  void Put(const std::string& name, const std::string& bytes) {
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
  }

  std::string path_ = testing::TempDir() + "/tsm-XXXXXX";
  std::unique_ptr<TsmTree> tree_;
};

TEST_F(Folder, MakesAndRemovesEntriesForTheOwnerAlone) {
  ASSERT_EQ(tree_->MakeEntry("one"), 0);
  struct stat info {};
  ASSERT_EQ(stat((path_ + "/one").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(tree_->MakeEntry("one"), EEXIST);
  EXPECT_EQ(tree_->RemoveEntry("one"), 0);
  EXPECT_EQ(tree_->RemoveEntry("one"), ENOENT);
}

TEST_F(Folder, WritesAndReadsAttributesWhole) {
  ASSERT_EQ(tree_->MakeEntry("one"), 0);
  for (size_t size : {0u, 1u, 64u, 4095u, 4096u, 4097u, 10000u}) {
    const std::string value(size, 'v');
    Put("one/outblob", value);
    std::string bytes;
    EXPECT_EQ(tree_->Read("one", "outblob", size, &bytes), 0);
    EXPECT_EQ(bytes, value);
    if (size == 0) continue;
    EXPECT_EQ(tree_->Read("one", "outblob", size - 1, &bytes), EFBIG) << size;
  }
  Put("one/inblob", "");
  EXPECT_EQ(tree_->Write("one", "inblob", "the data"), 0);
  std::string bytes;
  EXPECT_EQ(tree_->Read("one", "inblob", 64, &bytes), 0);
  EXPECT_EQ(bytes, "the data");
}

TEST_F(Folder, MakesNoAttributeThatIsNotThere) {
  ASSERT_EQ(tree_->MakeEntry("one"), 0);
  EXPECT_EQ(tree_->Write("one", "inblob", "x"), ENOENT);
  std::string bytes;
  EXPECT_EQ(tree_->Read("one", "outblob", 64, &bytes), ENOENT);
}

TEST_F(Folder, FollowsNoLinkOutOfTheTree) {
  ASSERT_EQ(tree_->MakeEntry("one"), 0);
  ASSERT_EQ(symlink("/etc/passwd", (path_ + "/one/outblob").c_str()), 0);
  std::string bytes;
  EXPECT_EQ(tree_->Read("one", "outblob", 1 << 20, &bytes), ELOOP);
}

TEST(TsmFolder, IsSaidToBeMissingByItsName) {
  auto attester = MakeConfigfsTsmAttester(MakeTsmTree("/nonexistent/tsm/report"), {});
  EXPECT_EQ(attester.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(attester.status().message()),
              testing::StartsWith("/nonexistent/tsm/report: is not there"));
}

// A folder that is no configfs has no provider, and nothing stays in it.
TEST_F(Folder, ThatIsNoConfigfsIsRefusedAndLeftEmpty) {
  auto attester = MakeConfigfsTsmAttester(MakeTsmTree(path_), {});
  EXPECT_EQ(attester.status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(path_));
}

}  // namespace
}  // namespace caravan::attester
