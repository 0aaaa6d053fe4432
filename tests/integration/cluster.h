// SPDX-License-Identifier: Apache-2.0
//
// For tests: real daemons on loopback, with an insecure root and a policy of their own.
#ifndef CARAVAN_TESTS_INTEGRATION_CLUSTER_H_
#define CARAVAN_TESTS_INTEGRATION_CLUSTER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "proto/caravan/v1/admin.pb.h"
#include "tests/integration/process.h"

namespace caravan::testing {

// What an application does: worker.cc.
struct Job {
  std::string name = "train";  // of the communicator
  int op = 1;                  // as collective::Operation numbers them
  std::vector<uint64_t> counts = {4096};
  int operations = 0;  // of each count; 0: until something fails
  int deadline_ms = 30'000;
  int algorithm = 0;  // caravan::Algorithm
  bool linger = false;
};

class Cluster {
 public:
  // Makes the root, the policy and a folder for all under the system's temporary folder: a Unix
  // socket's path is short. Starts no daemon.
  Cluster();
  ~Cluster();

  // Starts a daemon for node i and waits until it is ready. `limits`: text of a LimitsConfig.
  // Where `binary` is empty, caravand. `arguments` come after the usual ones.
  void Start(int node, const std::string& limits = "", const std::string& binary = "",
             const std::vector<std::string>& arguments = {});
  void StartAll(int nodes);
  // What node i pretends to be, from its next start on: text of an InsecureSoftwareConfig behind
  // its root, such as "format: TDX gpus: 2".
  void Pretend(int node, const std::string& insecure) { insecure_[node] = insecure; }
  // From now on configurations name this etcd.
  void UseStore(const std::string& url) { store_ = url; }
  Process& daemon(int node) { return daemons_[node]; }
  std::string runtime_dir(int node) const;
  std::string address(int node) const { return control_.at(node); }  // of its control port
  v1::GetStatusReply Status(int node) const;
  // Closes the session with this prefix of its id.
  void CloseSession(int node, const std::string& id) const;

  // An application on node i as rank i of a communicator whose root is node 0.
  Process Worker(int node, int size, const Job& job) const;

  // A copy of the daemon with one more byte.
  std::string AlteredDaemon() const;
  const std::string& folder() const { return folder_; }
  static std::string Runfile(const std::string& path);
  static std::string Daemon();        // path of caravand
  static std::string StruckDaemon();  // path of caravand_struck; the policy lists it as well
  std::string WriteConfig(int node, const std::string& limits) const;

 private:
  void WriteRootAndPolicy();

  std::string folder_;
  std::string store_;
  std::map<int, Process> daemons_;
  std::map<int, std::string> control_;
  std::map<int, std::string> insecure_;
};

std::string ReadAll(const std::string& path);
void WriteAll(const std::string& path, const std::string& text, int mode = 0644);

}  // namespace caravan::testing

#endif  // CARAVAN_TESTS_INTEGRATION_CLUSTER_H_
