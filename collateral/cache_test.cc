// SPDX-License-Identifier: Apache-2.0
#include "collateral/cache.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "attestation/verify_input.h"
#include "base/file.h"
#include "collateral/services_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::collateral {
namespace {

using attestation::CollateralFacts;
using attestation::CollateralItem;
using attestation::CollateralKind;
using attestation::CollateralRequest;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const absl::Time kNow = absl::FromUnixSeconds(1'780'000'000);
const CollateralRequest kInfo{CollateralKind::kIntelTcbInfo, "tdx/060606060606"};
const CollateralFacts kFacts{
    .issued = kNow, .expires = kNow + absl::Hours(24), .evaluation_number = 18};

CollateralItem ItemOf(const std::string& body, absl::Time fetched = kNow) {
  return {.body = body, .issuer_chain = "chain", .url = "http://a/b", .fetched = fetched};
}

void Overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() {
    std::string folder = absl::StrCat(::testing::TempDir(), "/cache-XXXXXX");
    folder_ = mkdtemp(folder.data());
    cache_ = *Cache::Open(folder_);
  }
  void Put(const CollateralRequest& request, const CollateralItem& item,
           const CollateralFacts& facts = kFacts) {
    const absl::Status status = cache_->Put(request, item, facts);
    ASSERT_TRUE(status.ok()) << status;
  }
  Cache::Found Find(const CollateralRequest& request) {
    auto found = cache_->Find(request);
    EXPECT_TRUE(found.ok() && found->has_value()) << request.ToString();
    return found.ok() && found->has_value() ? **found : Cache::Found{};
  }
  std::vector<CacheEntry> Entries() { return *cache_->List(); }
  // Paths of the files that lie open in the folder.
  std::vector<std::string> Files() { return *base::ListFiles(folder_); }

  std::string folder_;
  std::unique_ptr<Cache> cache_;
};

TEST_F(CacheTest, GivesBackWhatWasPutAfterAnotherOpening) {
  Put(kInfo, ItemOf("{}"));
  cache_ = *Cache::Open(folder_);
  const Cache::Found found = Find(kInfo);
  EXPECT_EQ(found.entry.problem, "");
  EXPECT_EQ(found.item.body, "{}");
  EXPECT_EQ(found.item.issuer_chain, "chain");
  EXPECT_EQ(found.item.url, "http://a/b");
  EXPECT_EQ(found.item.fetched, kNow);
  EXPECT_EQ(found.item.expires, kFacts.expires);
  EXPECT_EQ(found.entry.facts.issued, kFacts.issued);
  EXPECT_EQ(found.entry.facts.evaluation_number, 18u);
  auto other = cache_->Find({CollateralKind::kIntelTcbInfo, "sgx/060606060606"});
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->has_value());
}

TEST_F(CacheTest, IsAFolderOfFilesThatVerifiersReadAsItIs) {
  ServicesForTest makers;
  Put({CollateralKind::kAmdVcek, "Milan/5a"}, makers.amd.Vcek());
  Put({CollateralKind::kAmdChain, "vcek/Milan"}, makers.amd.Chain());
  Put({CollateralKind::kAmdCrl, "vcek/Milan"}, makers.amd.CrlNow());
  Put(kInfo, makers.intel.TcbInfo());
  Put({CollateralKind::kIntelQeIdentity, "tdx"}, makers.intel.QeIdentity());
  Put({CollateralKind::kIntelPckCrl, "platform"}, makers.intel.PckCrl());
  Put({CollateralKind::kIntelRootCrl, "root"}, makers.intel.RootCrl());
  attestation::Endorsements endorsements;
  for (const std::string& file : Files()) {
    const absl::Status parsed =
        attestation::ParseEndorsements(*base::ReadFile(file, kMaxItemBytes), &endorsements);
    EXPECT_TRUE(parsed.ok()) << file << ": " << parsed;
  }
  EXPECT_EQ(endorsements.documents.size(), 2u);
  EXPECT_EQ(endorsements.crls.size(), 3u);
  EXPECT_GE(endorsements.certificates.size(), 6u);
}

TEST_F(CacheTest, ReplacesAnItemAndSweepsItsOldFilesLater) {
  Put(kInfo, ItemOf("{\"old\":1}"));
  const std::string old_file = absl::StrCat(folder_, "/", Find(kInfo).entry.files[0]);
  Put(kInfo, ItemOf("{\"new\":1}"));
  EXPECT_EQ(Find(kInfo).item.body, "{\"new\":1}");
  EXPECT_EQ(cache_->List()->size(), 1u);
  // Whoever read the old index still finds its file.
  EXPECT_EQ(access(old_file.c_str(), F_OK), 0);
  Overwrite(absl::StrCat(folder_, "/mine.pem"), "kept by somebody else");
  Overwrite(absl::StrCat(folder_, "/state/partial-1"), "left by a process that died");
  const utimbuf hour_ago{.actime = time(nullptr) - 3600, .modtime = time(nullptr) - 3600};
  for (const std::string& file : {old_file, folder_ + "/mine.pem", folder_ + "/state/partial-1"}) {
    ASSERT_EQ(utime(file.c_str(), &hour_ago), 0);
  }
  Put({CollateralKind::kIntelQeIdentity, "tdx"}, ItemOf("{}"));
  EXPECT_NE(access(old_file.c_str(), F_OK), 0);
  EXPECT_NE(access((folder_ + "/state/partial-1").c_str(), F_OK), 0);
  EXPECT_EQ(access((folder_ + "/mine.pem").c_str(), F_OK), 0);
}

TEST_F(CacheTest, NamesAFileThatIsCorruptedOrGone) {
  Put(kInfo, ItemOf("{}"));
  const std::string file = absl::StrCat(folder_, "/", Find(kInfo).entry.files[0]);
  Overwrite(file, "[]");
  EXPECT_EQ(Find(kInfo).entry.problem, file + " is corrupted");
  EXPECT_EQ(Find(kInfo).item.body, "");
  unlink(file.c_str());
  EXPECT_EQ(Find(kInfo).entry.problem, file + " is gone");
  EXPECT_EQ((*cache_->List())[0].problem, file + " is gone");
  Put(kInfo, ItemOf("{}"));
  EXPECT_EQ(Find(kInfo).entry.problem, "");
}

TEST_F(CacheTest, TakesAnIndexThatCannotBeReadForEmptyAndWritesAnother) {
  Put(kInfo, ItemOf("{}"));
  for (const char* index : {"entries { kind: \"tcb", "", "\x01\xff"}) {
    Overwrite(folder_ + "/state/index", index);
    EXPECT_THAT(*cache_->List(), IsEmpty());
    EXPECT_FALSE(cache_->Find(kInfo)->has_value());
  }
  Put(kInfo, ItemOf("{}"));
  EXPECT_EQ(Find(kInfo).item.body, "{}");
}

TEST_F(CacheTest, ReadsNoFileOutsideTheFolder) {
  Overwrite(folder_ + "/state/index",
            "entries { kind: \"tcb-info\" key: \"tdx/060606060606\" "
            "files { name: \"../../etc/hostname\" } }");
  EXPECT_THAT(Find(kInfo).entry.problem, HasSubstr("malformed"));
}

// Times before all others, and sizes that sum up to little.
TEST_F(CacheTest, MakesRoomWhateverTheIndexSays) {
  cache_ = *Cache::Open(folder_, {.items = 3, .bytes = 1000});
  std::string index;
  for (int i = 0; i < 2; ++i) {
    absl::StrAppend(&index, "entries { kind: \"tcb-info\" key: \"tdx/", i,
                    "\" fetched: -9223372036854775808 "
                    "files { name: \"a\" size: 9223372036854775808 } }");
  }
  Overwrite(folder_ + "/state/index", index);
  Put(kInfo, ItemOf("{}"));
  EXPECT_EQ(cache_->List()->size(), 1u);
}

TEST_F(CacheTest, MakesRoomByWhatExpiredThenByWhatIsOldest) {
  cache_ = *Cache::Open(folder_, {.items = 3, .bytes = 1000});
  const auto request = [](int i) {
    return CollateralRequest{CollateralKind::kIntelTcbInfo, absl::StrCat("tdx/", i)};
  };
  Put(request(1), ItemOf("1", kNow));
  Put(request(2), ItemOf("2", kNow + absl::Seconds(1)));
  CollateralFacts short_lived = kFacts;
  short_lived.expires = kNow + absl::Seconds(3);
  Put(request(3), ItemOf("3", kNow + absl::Seconds(2)), short_lived);
  Put(request(4), ItemOf("4", kNow + absl::Minutes(1)));  // 3 has expired
  Put(request(5), ItemOf("5", kNow + absl::Minutes(2)));  // 1 is the oldest
  std::vector<std::string> keys;
  for (const CacheEntry& entry : Entries()) keys.push_back(entry.request.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"tdx/2", "tdx/4", "tdx/5"}));
  Put(request(6), ItemOf(std::string(985, 'x'), kNow + absl::Minutes(3)));
  EXPECT_EQ(cache_->List()->size(), 2u) << "1000 bytes in all";
  EXPECT_TRUE(
      absl::IsInvalidArgument(cache_->Put(request(7), ItemOf(std::string(1001, 'x')), kFacts)));
}

TEST_F(CacheTest, LosesNothingBetweenProcessesThatPutAtOnce) {
  constexpr int kProcesses = 4, kItems = 8;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      bool ok = true;
      for (int i = 0; i < kItems; ++i) {
        const CollateralRequest request{CollateralKind::kIntelTcbInfo, absl::StrCat(p, "/", i)};
        ok = ok && cache_->Put(request, ItemOf(absl::StrCat(p, i)), kFacts).ok();
      }
      _exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(cache_->List()->size(), static_cast<size_t>(kProcesses * kItems));
  for (const CacheEntry& entry : Entries()) EXPECT_EQ(entry.problem, "");
}

TEST_F(CacheTest, LetsOneFetchAnItemAtATime) {
  {
    auto first = cache_->TryLock(kInfo);
    ASSERT_TRUE(first.ok()) << first.status();
    const auto second = (*Cache::Open(folder_))->TryLock(kInfo);
    EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
    EXPECT_THAT(std::string(second.status().message()), HasSubstr("tcb-info tdx/060606060606"));
  }
  EXPECT_TRUE(cache_->TryLock(kInfo).ok());
}

TEST(CacheFolder, IsMadeWhenItIsToBeWrittenAlone) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/absent");
  EXPECT_THAT(*Cache::OpenForReading(folder)->List(), IsEmpty());
  EXPECT_NE(access(folder.c_str(), F_OK), 0);
  EXPECT_TRUE(Cache::Open(folder).ok());
  const auto nowhere = Cache::Open(absl::StrCat(folder, "/a/b"));
  EXPECT_TRUE(absl::IsNotFound(nowhere.status())) << nowhere.status();
  Overwrite(folder + "/file", "");
  const auto file = Cache::Open(folder + "/file");
  EXPECT_TRUE(absl::IsInvalidArgument(file.status())) << file.status();
}

}  // namespace
}  // namespace caravan::collateral
