// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/cluster.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "attestation/insecure_software/insecure_root.h"
#include "crypto/hash.h"
#include "gtest/gtest.h"
#include "proto/caravan/v1/admin.grpc.pb.h"

namespace caravan::testing {
namespace {

template <size_t N>
std::string Hex(const std::array<uint8_t, N>& bytes) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(bytes.data()), N));
}

std::unique_ptr<v1::Admin::Stub> AdminOf(const std::string& runtime_dir) {
  return v1::Admin::NewStub(grpc::CreateChannel(absl::StrCat("unix:", runtime_dir, "/admin.sock"),
                                                grpc::InsecureChannelCredentials()));
}

void SetDeadline(grpc::ClientContext* context) {
  context->set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
}

}  // namespace

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteAll(const std::string& path, const std::string& text, int mode) {
  std::ofstream(path, std::ios::binary) << text;
  chmod(path.c_str(), mode);
}

std::string Cluster::Runfile(const std::string& path) {
  return absl::StrCat(std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"), "/", path);
}

std::string Cluster::Daemon() { return Runfile("daemon/caravand"); }
std::string Cluster::StruckDaemon() { return Runfile("tests/integration/caravand_struck"); }

Cluster::Cluster() {
  char folder[] = "/tmp/caravan-XXXXXX";
  folder_ = mkdtemp(folder);
  WriteRootAndPolicy();
}

Cluster::~Cluster() {
  daemons_.clear();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Cluster::WriteRootAndPolicy() {
  auto root = attestation::InsecureRoot::Create(absl::Now());
  ASSERT_TRUE(root.ok()) << root.status();
  auto pem = root->ToPem();
  ASSERT_TRUE(pem.ok()) << pem.status();
  std::filesystem::create_directory(folder_ + "/root");
  auto key = pem->key.Expose();
  WriteAll(absl::StrCat(folder_, "/root/", attestation::kInsecureKeyFile),
           std::string(key.begin(), key.end()), 0600);
  WriteAll(absl::StrCat(folder_, "/root/", attestation::kInsecureChainFile), pem->chain);
  WriteAll(absl::StrCat(folder_, "/root/", attestation::kInsecureCrlFile), pem->crl);
  std::string measurements, tds;
  for (const std::string& path : {Daemon(), StruckDaemon()}) {
    const std::string binary = ReadAll(path);
    const std::string name = std::filesystem::path(path).filename().string();
    const std::string digest = Hex(crypto::Sha384(crypto::AsBytes(binary)));
    absl::StrAppend(&measurements, "  measurements { name: \"", name, "\" sha384: \"", digest,
                    "\" }\n");
    absl::StrAppend(&tds, "  measurements { name: \"", name, "\" mrtd: \"", digest, "\" }\n");
  }
  WriteAll(folder_ + "/policy.textproto",
           absl::StrCat("name: \"test\"\nallow_insecure: true\ninsecure_root_spki_sha256: \"",
                        Hex(root->SpkiSha256()), "\"\ninsecure_root_spki_sha256: \"",
                        Hex(root->intel()->SpkiSha256()), "\"\nsnp {\n", measurements,
                        "  any_platform: true\n  any_tcb: true\n  allow_smt: true\n}\ntdx {\n", tds,
                        "  platform { any_platform: true min_tcb_evaluation_number: 1 }\n}\n"
                        "nvidia { any_device: true any_firmware: true any_measurement: true "
                        "modes: NVIDIA_SPT }\ncomposite { gpus: 2 allow_cpu_alone: true }\n"));
}

std::string Cluster::runtime_dir(int node) const { return absl::StrCat(folder_, "/n", node); }

std::string Cluster::WriteConfig(int node, const std::string& limits) const {
  std::string path = absl::StrCat(folder_, "/node", node, ".textproto");
  const auto pretended = insecure_.find(node);
  const std::string insecure = pretended == insecure_.end() ? "" : pretended->second;
  std::string store;
  if (!store_.empty()) {
    store = absl::StrCat("store { etcd { endpoints: \"", store_, "\" lease_seconds: 2 } }\n");
  }
  WriteAll(path, absl::StrCat("node_name: \"node-", std::string(1, static_cast<char>('a' + node)),
                              "\"\ncontrol_address: \"127.0.0.1:0\"\ndata_address: \"127.0.0.1:0\"",
                              "\nruntime_dir: \"n", node, "\"\npolicy_file: \"policy.textproto\"",
                              "\nattester { insecure_software { root_directory: \"root\" ",
                              insecure, " } }\n", "limits { ", limits, " }\n", store));
  return path;
}

void Cluster::Start(int node, const std::string& limits, const std::string& binary,
                    const std::vector<std::string>& arguments) {
  std::string ready = absl::StrCat(folder_, "/ready", node);
  std::filesystem::remove(ready);
  std::vector<std::string> command = {binary.empty() ? Daemon() : binary, "--config",
                                      WriteConfig(node, limits), "--ready-file", ready};
  command.insert(command.end(), arguments.begin(), arguments.end());
  daemons_[node] = Process();  // what ran there has ended before the next begins
  daemons_[node] = Process(command);
  for (absl::Time end = absl::Now() + absl::Seconds(60); absl::Now() < end;
       absl::SleepFor(absl::Milliseconds(20))) {
    std::string text = ReadAll(ready);
    if (text.empty()) continue;
    control_[node] = text.substr(8, text.find('\n') - 8);  // after "control="
    return;
  }
  FAIL() << "the daemon of node " << node << " is not ready";
}

void Cluster::StartAll(int nodes) {
  for (int node = 0; node < nodes; ++node) Start(node);
}

v1::GetStatusReply Cluster::Status(int node) const {
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::GetStatusReply reply;
  grpc::Status status = AdminOf(runtime_dir(node))->GetStatus(&context, {}, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return reply;
}

void Cluster::CloseSession(int node, const std::string& id) const {
  grpc::ClientContext context;
  SetDeadline(&context);
  v1::CloseSessionRequest request;
  request.set_id(id);
  v1::CloseSessionReply reply;
  grpc::Status status = AdminOf(runtime_dir(node))->CloseSession(&context, request, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

Process Cluster::Worker(int node, int size, const Job& job) const {
  return Process(
      {Runfile("tests/integration/worker"), absl::StrCat("runtime_dir=", runtime_dir(node)),
       absl::StrCat("root=", address(0)), absl::StrCat("name=", job.name),
       absl::StrCat("rank=", node), absl::StrCat("size=", size), absl::StrCat("op=", job.op),
       absl::StrCat("counts=", absl::StrJoin(job.counts, ",")),
       absl::StrCat("operations=", job.operations), absl::StrCat("deadline_ms=", job.deadline_ms),
       absl::StrCat("algorithm=", job.algorithm), absl::StrCat("linger=", job.linger)});
}

std::string Cluster::AlteredDaemon() const {
  std::string path = folder_ + "/caravand-altered";
  WriteAll(path, ReadAll(Daemon()) + "x", 0755);
  return path;
}

}  // namespace caravan::testing
