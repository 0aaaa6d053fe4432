// SPDX-License-Identifier: Apache-2.0
//
// Daemons that run out of descriptors (EMFILE) or of address space (ENOMEM): what is asked of them
// then fails, alike on all ranks where it is a communicator; what stands goes on; with room again
// they serve again.
#include <dirent.h>
#include <sys/resource.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/members.h"

namespace caravan::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 3;

// The number that the next descriptor of a process would get.
rlim_t NextDescriptor(pid_t pid) {
  std::set<rlim_t> open;
  DIR* folder = opendir(absl::StrCat("/proc/", pid, "/fd").c_str());
  if (folder == nullptr) return 0;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.') open.insert(std::stoul(entry->d_name));
  }
  closedir(folder);
  rlim_t next = 0;
  while (open.count(next) > 0) ++next;
  return next;
}

rlim_t AddressSpace(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string word; status >> word;) {
    rlim_t kibibytes = 0;
    if (word == "VmSize:" && status >> kibibytes) return kibibytes << 10;
  }
  return 0;
}

// Lowers a limit of a process, and gives it back at its end.
class Limit {
 public:
  Limit(pid_t pid, __rlimit_resource resource, rlim_t value) : pid_(pid), resource_(resource) {
    EXPECT_EQ(prlimit(pid_, resource_, nullptr, &before_), 0);
    const rlimit lower = {value, before_.rlim_max};
    EXPECT_EQ(prlimit(pid_, resource_, &lower, nullptr), 0);
  }
  ~Limit() { EXPECT_EQ(prlimit(pid_, resource_, &before_, nullptr), 0); }

 private:
  const pid_t pid_;
  const __rlimit_resource resource_;
  rlimit before_{};
};

class Exhaustion : public ::testing::Test {
 protected:
  Exhaustion() {
    cluster_.StartAll(kRanks);
    members_ = ConnectMembers(cluster_, kRanks);
    StandUp(members_, cluster_.address(0), "train");
  }
  void ExpectSums() {
    AtOnce(kRanks, [&](size_t i) { EXPECT_EQ(members_[i].Sum(), absl::OkStatus()); });
  }
  // What every rank's Create of another communicator ends with.
  std::vector<absl::Status> CreateAnother(const std::string& name) {
    CommunicatorOptions options;
    options.create_timeout = absl::Seconds(4);
    std::vector<absl::Status> ends(kRanks);
    AtOnce(kRanks, [&](size_t i) {
      ends[i] = Communicator::Create(*members_[i].node, {name, cluster_.address(0)},
                                     static_cast<int>(i), kRanks, options)
                    .status();
    });
    return ends;
  }

  Cluster cluster_;
  std::vector<Member> members_;
};

TEST_F(Exhaustion, OfDescriptorsFailsWhatIsNewAndNothingElse) {
  ExpectSums();
  for (const int node : {1, 0}) {
    {
      const pid_t pid = cluster_.daemon(node).pid();
      Limit limit(pid, RLIMIT_NOFILE, NextDescriptor(pid));
      const absl::Time begun = absl::Now();
      const std::vector<absl::Status> ends = CreateAnother(absl::StrCat("more", node));
      EXPECT_LT(absl::Now() - begun, absl::Seconds(10));
      for (const absl::Status& end : ends) {
        EXPECT_FALSE(end.ok());
        EXPECT_EQ(end, ends[0]);
      }
      std::printf("node %d: %s\n", node, ends[0].ToString().c_str());
      auto buffer = members_[node].node->Allocate(4096);
      EXPECT_TRUE(absl::IsResourceExhausted(buffer.status())) << buffer.status();
    }
    ExpectSums();
    for (const absl::Status& end : CreateAnother(absl::StrCat("again", node))) {
      EXPECT_EQ(end, absl::OkStatus());
    }
  }
}

TEST_F(Exhaustion, OfAddressSpaceFailsTheBufferAndNothingElse) {
  ExpectSums();
  const pid_t pid = cluster_.daemon(1).pid();
  {
    Limit limit(pid, RLIMIT_AS, AddressSpace(pid) + (96 << 20));
    auto large = members_[1].node->Allocate(uint64_t{1} << 30);
    EXPECT_TRUE(absl::IsResourceExhausted(large.status())) << large.status();
    EXPECT_THAT(std::string(large.status().message()), HasSubstr("mmap"));
    ExpectSums();
    for (const absl::Status& end : CreateAnother("more")) EXPECT_EQ(end, absl::OkStatus());
  }
  EXPECT_TRUE(members_[1].node->Allocate(uint64_t{1} << 30).ok());
}

}  // namespace
}  // namespace caravan::testing
