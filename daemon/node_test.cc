// SPDX-License-Identifier: Apache-2.0
#include "daemon/node.h"

#include <dirent.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "daemon/session/loopback_testing.h"

namespace caravan {
namespace {

// Sockets have short paths.
struct Folder {
  Folder() { EXPECT_NE(mkdtemp(path), nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
  char path[32] = "/tmp/caravan-node-XXXXXX";
};

size_t OpenDescriptors() {
  size_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

// A node on the loopback with a fake TEE and sessions that live for a second.
std::unique_ptr<Node> StartNode(const std::string& folder, crypto::RecordCipherFactory& ciphers) {
  absl::StatusOr<v1::Config> config =
      config::LoadConfig(absl::StrCat(R"(node_name: "node"
          control_address: "127.0.0.1:0"
          data_address: "127.0.0.1:0"
          attester { insecure_software { root_directory: "root" } }
          policy_file: "policy.textproto"
          limits { replace_session_seconds: 1 reattest_seconds: 1 }
          )",
                                      "runtime_dir: '", folder, "'\n"),
                         absl::StrCat(folder, "/config"));
  EXPECT_TRUE(config.ok()) << config.status();
  NodeCredentials credentials;
  credentials.attester = std::make_unique<session::FakeAttester>();
  credentials.appraiser = std::make_unique<session::FakeAppraiser>();
  auto node = Node::Start(*std::move(config), std::move(credentials), ciphers);
  EXPECT_TRUE(node.ok()) << node.status();
  return node.ok() ? *std::move(node) : nullptr;
}

TEST(Node, KeepsNothingOfSessionsThatWereReplaced) {
  const auto ciphers = crypto::SealedRecords();
  const Folder first, second;
  const auto one = StartNode(first.path, *ciphers), two = StartNode(second.path, *ciphers);
  ASSERT_TRUE(one != nullptr && two != nullptr);
  const auto connect = [&] {
    return one->sessions().Connect(two->control_address(), absl::Now() + absl::Seconds(10));
  };
  ASSERT_TRUE(connect().ok());
  size_t few = 0;
  crypto::SessionId id{};
  for (int replaced = 0; replaced < 8; ++replaced) {
    // By the third the first has drained.
    if (replaced == 3) few = OpenDescriptors();
    ASSERT_TRUE(session::Eventually([&] {
      const auto newest = one->sessions().FindPeer(two->sessions().local_spki());
      if (newest == nullptr || newest->id() == id) return false;
      id = newest->id();
      return true;
    })) << "session "
        << replaced << " was not replaced";
  }
  EXPECT_TRUE(session::Eventually(
      [&] { return one->sessions().List().size() <= 3 && two->sessions().List().size() <= 3; }));
  // Each session has six at each end.
  EXPECT_TRUE(session::Eventually([&] { return OpenDescriptors() <= few + 24; }))
      << few << " descriptors after three sessions, " << OpenDescriptors() << " after eight";
}

}  // namespace
}  // namespace caravan
