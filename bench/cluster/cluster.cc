// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster/cluster.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "attestation/insecure_software/insecure_root.h"
#include "bench/harness/table.h"

namespace caravan::bench {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string LastLines(const std::string& text) {
  constexpr size_t kMost = 600;
  return text.size() > kMost ? text.substr(text.size() - kMost) : text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::Start(const std::string& daemon, int size,
                                                        absl::Duration timeout) {
  std::unique_ptr<Cluster> cluster(new Cluster);
  // Unix sockets live in there: their paths may be 107 bytes long, so the folder's is short.
  std::string folder = (std::filesystem::temp_directory_path() / "caravan.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return absl::ErrnoToStatus(errno, "cannot make " + folder);
  cluster->folder_ = folder;
  if (absl::Status status = cluster->WriteSharedFiles(); !status.ok()) return status;
  cluster->addresses_.resize(size);
  for (int node = 0; node < size; ++node) {
    if (absl::Status status = cluster->StartDaemon(daemon, node); !status.ok()) return status;
  }
  const absl::Time deadline = absl::Now() + timeout;
  for (int node = 0; node < size; ++node) {
    if (absl::Status status = cluster->WaitUntilReady(node, deadline); !status.ok()) return status;
  }
  return cluster;
}

Cluster::~Cluster() {
  for (const pid_t daemon : daemons_) kill(daemon, SIGTERM);
  for (const pid_t daemon : daemons_) waitpid(daemon, nullptr, 0);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::string Cluster::NodePath(int node, const std::string& name) const {
  return absl::StrCat(folder_, "/node", node, "/", name);
}

std::string Cluster::runtime_dir(int node) const { return NodePath(node, "run"); }

absl::Status Cluster::WriteSharedFiles() {
  const absl::StatusOr<attestation::InsecureRoot> root =
      attestation::InsecureRoot::Create(absl::Now());
  if (!root.ok()) return root.status();
  const absl::StatusOr<attestation::InsecureRootPem> pem = root->ToPem();
  if (!pem.ok()) return pem.status();
  mkdir(Path("root").c_str(), 0700);
  const std::string key_path = Path(absl::StrCat("root/", attestation::kInsecureKeyFile));
  const int key_file = open(key_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const auto key = pem->key.Access(crypto::SecretAccess{});
  const bool written = key_file >= 0 && write(key_file, key.data(), key.size()) ==
                                            static_cast<ssize_t>(key.size());
  if (key_file >= 0) close(key_file);
  if (!written) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", key_path));
  const crypto::Sha256Digest spki = root->SpkiSha256();
  const std::string policy = absl::StrCat(
      "name: \"bench\"\nallow_insecure: true\ninsecure_root_spki_sha256: \"",
      absl::BytesToHexString({reinterpret_cast<const char*>(spki.data()), spki.size()}),
      "\"\nsnp { any_measurement: true any_platform: true any_tcb: true }\n");
  absl::Status status =
      WriteFile(Path(absl::StrCat("root/", attestation::kInsecureChainFile)), pem->chain);
  if (status.ok()) {
    status = WriteFile(Path(absl::StrCat("root/", attestation::kInsecureCrlFile)), pem->crl);
  }
  if (status.ok()) status = WriteFile(Path("policy.textproto"), policy);
  return status;
}

absl::Status Cluster::StartDaemon(const std::string& daemon, int node) {
  std::filesystem::create_directories(runtime_dir(node));
  chmod(runtime_dir(node).c_str(), 0700);
  const std::string config = NodePath(node, "caravand.textproto");
  const absl::Status status = WriteFile(
      config, absl::StrCat("node_name: \"node", node,
                           "\"\ncontrol_address: \"127.0.0.1:0\"\ndata_address: \"127.0.0.1:0\"\n"
                           "runtime_dir: \"", runtime_dir(node),
                           "\"\nattester { insecure_software { root_directory: \"", Path("root"),
                           "\" } }\npolicy_file: \"", Path("policy.textproto"), "\"\n"));
  if (!status.ok()) return status;
  const std::string ready = NodePath(node, "ready");
  const std::string log = NodePath(node, "log");
  const pid_t child = fork();
  if (child < 0) return absl::ErrnoToStatus(errno, "cannot fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execl(daemon.c_str(), daemon.c_str(), "--config", config.c_str(), "--ready-file",
          ready.c_str(), nullptr);
    _exit(127);
  }
  daemons_.push_back(child);
  return absl::OkStatus();
}

absl::Status Cluster::WaitUntilReady(int node, absl::Time deadline) {
  for (;;) {
    std::istringstream ready(ReadAll(NodePath(node, "ready")));
    std::string line;
    while (std::getline(ready, line)) {
      if (line.rfind("control=", 0) == 0) {
        addresses_[node] = line.substr(std::string("control=").size());
        return absl::OkStatus();
      }
    }
    int how = 0;
    if (waitpid(daemons_[node], &how, WNOHANG) == daemons_[node]) {
      daemons_.erase(daemons_.begin() + node);
      return absl::InternalError(absl::StrCat("daemon ", node, " ended with wait status ", how,
                                              ": ", LastLines(ReadAll(NodePath(node, "log")))));
    }
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("daemon ", node, " is not ready: ",
                                                      LastLines(ReadAll(NodePath(node, "log")))));
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
}

}  // namespace caravan::bench
