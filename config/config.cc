// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/socket_address.h"
#include "config/selector_config.h"

namespace caravan::config {
namespace {

constexpr size_t kMaxStorePrefix = 512;
constexpr uint32_t kMaxInsecureDevices = 16;  // attestation/insecure_software/insecure_devices.h
constexpr uint32_t kMaxVmpl = 3;
constexpr uint32_t kMaxGpus = 64;

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

// Keeps the first syntax error: later ones follow from it.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(std::string file) : file_(std::move(file)) {}
  void AddError(int line, int column, const std::string& message) override {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat(file_, ":", line + 1, ":", column + 1, ": ", message));
  }
  const absl::Status& status() const { return status_; }

 private:
  std::string file_;
  absl::Status status_;
};

// Collects semantic errors with the place of the field they are about.
class Checker {
 public:
  Checker(std::string file, const TextFormat::ParseInfoTree* tree)
      : file_(std::move(file)), tree_(tree) {}

  // `nested` is the chain of submessage fields from the root, innermost last.
  void Fail(const Message& message, const char* field, absl::string_view what,
            const std::vector<const FieldDescriptor*>& nested = {}) {
    const TextFormat::ParseInfoTree* tree = tree_;
    // A field that is absent is reported at the submessage that lacks it, or at the top; what
    // stands in the file and is wrong comes first.
    bool absent = true;
    TextFormat::ParseLocation place(0, 0);
    std::string path;
    for (const FieldDescriptor* outer : nested) {
      if (tree == nullptr) break;
      TextFormat::ParseLocation at = tree->GetLocation(outer, outer->is_repeated() ? 0 : -1);
      if (at.line >= 0) place = at;
      absl::StrAppend(&path, outer->name(), ".");
      tree = tree->GetTreeForNested(outer, outer->is_repeated() ? 0 : -1);
    }
    const FieldDescriptor* descriptor = message.GetDescriptor()->FindFieldByName(field);
    if (tree != nullptr) {
      TextFormat::ParseLocation at =
          tree->GetLocation(descriptor, descriptor->is_repeated() ? 0 : -1);
      if (at.line >= 0) {
        place = at;
        absent = false;
      }
    }
    errors_.push_back({absent, place.line, place.column,
                       absl::StrCat(file_, ":", place.line + 1, ":", place.column + 1, ": ", path,
                                    field, ": ", what)});
  }

  absl::Status First() const {
    auto first =
        std::min_element(errors_.begin(), errors_.end(), [](const Error& a, const Error& b) {
          return std::tuple(a.absent, a.line, a.column) < std::tuple(b.absent, b.line, b.column);
        });
    return first == errors_.end() ? absl::OkStatus() : absl::InvalidArgumentError(first->text);
  }

 private:
  struct Error {
    bool absent;
    int line;
    int column;
    std::string text;
  };
  std::string file_;
  const TextFormat::ParseInfoTree* tree_;
  std::vector<Error> errors_;
};

const FieldDescriptor* Field(const Message& message, const char* name) {
  return message.GetDescriptor()->FindFieldByName(name);
}

std::string Resolve(const std::string& file, const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  size_t slash = file.rfind('/');
  return slash == std::string::npos ? path : absl::StrCat(file.substr(0, slash + 1), path);
}

void CheckNodeName(const v1::Config& config, Checker* check) {
  const std::string& name = config.node_name();
  if (name.empty()) return check->Fail(config, "node_name", "is required");
  bool fits = name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
                return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
              });
  if (!fits) {
    check->Fail(config, "node_name",
                absl::StrCat("\"", name, "\" is not 1 to 64 characters of [a-z0-9.-]"));
  }
}

// `address` must parse; where it is a wildcard, peers need an advertised address.
void CheckAddress(const v1::Config& config, const char* field, const std::string& address,
                  const char* advertised_field, const std::string& advertised, Checker* check) {
  absl::StatusOr<base::HostPort> own = base::ParseHostPort(address);
  if (!own.ok()) {
    check->Fail(config, field, own.status().message());
    return;
  }
  if (advertised.empty()) {
    if (own->wildcard()) {
      check->Fail(config, advertised_field,
                  absl::StrCat("is required, since ", field, " is the wildcard ", address,
                               ": peers need an address to dial"));
    }
    return;
  }
  absl::StatusOr<base::HostPort> told = base::ParseHostPort(advertised);
  if (!told.ok()) {
    check->Fail(config, advertised_field, told.status().message());
  } else if (told->wildcard()) {
    check->Fail(config, advertised_field,
                absl::StrCat(advertised, " is a wildcard: peers cannot dial it"));
  }
}

struct Limit {
  const char* field;
  uint64_t value;
  uint64_t least;
  uint64_t most;
};

void CheckLimits(const v1::Config& config, Checker* check) {
  const v1::LimitsConfig& limits = config.limits();
  const Limit table[] = {
      {"handshake_timeout_ms", limits.handshake_timeout_ms(), 100, 600'000},
      {"reattest_seconds", limits.reattest_seconds(), 1, 86'400},
      {"replace_session_seconds", limits.replace_session_seconds(), 1, 604'800},
      {"max_half_open", limits.max_half_open(), 1, 65'536},
      {"max_half_open_per_source", limits.max_half_open_per_source(), 1, 65'536},
      {"application_memory_bytes", limits.application_memory_bytes(), 1 << 20, 1ull << 46},
      {"max_applications", limits.max_applications(), 1, 4'096},
      {"max_communicators", limits.max_communicators(), 1, 4'096},
      {"send_buffer_bytes", limits.send_buffer_bytes(), 0, 1u << 30},
      {"receive_buffer_bytes", limits.receive_buffer_bytes(), 0, 1u << 30},
  };
  for (const Limit& limit : table) {
    if (limit.value >= limit.least && limit.value <= limit.most) continue;
    check->Fail(limits, limit.field,
                absl::StrCat(limit.value, " is not between ", limit.least, " and ", limit.most),
                {Field(config, "limits")});
  }
}

void CheckVmpl(const Message& message, uint32_t vmpl,
               const std::vector<const FieldDescriptor*>& nested, Checker* check) {
  if (vmpl <= kMaxVmpl) return;
  check->Fail(message, "vmpl", absl::StrCat(vmpl, " is not between 0 and ", kMaxVmpl), nested);
}

void CheckNvidiaGpus(const v1::Config& config, Checker* check) {
  const v1::AttesterConfig& attester = config.attester();
  const v1::NvidiaGpusConfig& gpus = attester.nvidia_gpus();
  const std::vector<const FieldDescriptor*> nested = {Field(config, "attester"),
                                                      Field(attester, "nvidia_gpus")};
  // The dynamic linker takes a relative path from the folder that a process happens to be in.
  if (gpus.library().find('/') != std::string::npos && gpus.library()[0] != '/') {
    check->Fail(gpus, "library",
                absl::StrCat("\"", gpus.library(), "\" is neither a file's name nor absolute"),
                nested);
  }
  if (attester.has_nvidia_gpus() && attester.insecure_software().gpus() > 0) {
    check->Fail(attester, "nvidia_gpus",
                "is set beside insecure_software.gpus: a node has real GPUs or pretended ones",
                {Field(config, "attester")});
  }
  std::set<uint32_t> seen;
  for (uint32_t index : gpus.indices()) {
    if (index >= kMaxGpus) {
      check->Fail(gpus, "indices", absl::StrCat(index, " is not between 0 and ", kMaxGpus - 1),
                  nested);
    } else if (!seen.insert(index).second) {
      check->Fail(gpus, "indices", absl::StrCat(index, " is listed twice"), nested);
    }
  }
}

void CheckInsecureDevices(const v1::Config& config, Checker* check) {
  const v1::AttesterConfig& attester = config.attester();
  const v1::InsecureSoftwareConfig& insecure = attester.insecure_software();
  const std::vector<const FieldDescriptor*> nested = {Field(config, "attester"),
                                                      Field(attester, "insecure_software")};
  const std::pair<const char*, uint32_t> counts[] = {{"gpus", insecure.gpus()},
                                                     {"switches", insecure.switches()}};
  for (const auto& [field, count] : counts) {
    if (count <= kMaxInsecureDevices) continue;
    check->Fail(insecure, field, absl::StrCat(count, " is not between 0 and ", kMaxInsecureDevices),
                nested);
  }
  if (insecure.gpus() == 0 && insecure.switches() > 0) {
    check->Fail(insecure, "switches", "is set, but there are no gpus that they could link", nested);
  }
}

void CheckAttester(const v1::Config& config, Checker* check) {
  const v1::AttesterConfig& attester = config.attester();
  CheckVmpl(attester.sev_snp(), attester.sev_snp().vmpl(),
            {Field(config, "attester"), Field(attester, "sev_snp")}, check);
  CheckVmpl(attester.configfs_tsm(), attester.configfs_tsm().vmpl(),
            {Field(config, "attester"), Field(attester, "configfs_tsm")}, check);
  CheckNvidiaGpus(config, check);
  if (attester.kind_case() == v1::AttesterConfig::KIND_NOT_SET) {
    check->Fail(config, "attester",
                "is required: sev_snp {}, tdx {}, configfs_tsm {} or insecure_software { … }");
  } else if (attester.has_insecure_software() &&
             attester.insecure_software().root_directory().empty()) {
    check->Fail(attester.insecure_software(), "root_directory",
                "is required: make one with `caravanctl insecure-root create`",
                {Field(config, "attester"), Field(attester, "insecure_software")});
  } else if (attester.has_insecure_software()) {
    CheckInsecureDevices(config, check);
  }
}

void CheckStore(const v1::Config& config, Checker* check) {
  if (!config.has_store()) return;
  const v1::StoreConfig& store = config.store();
  const v1::EtcdConfig& etcd = store.etcd();
  const std::vector<const FieldDescriptor*> nested = {Field(config, "store"), Field(store, "etcd")};
  if (!store.has_etcd()) {
    return check->Fail(store, "etcd", "is required: the only store there is",
                       {Field(config, "store")});
  }
  if (etcd.endpoints().empty()) {
    check->Fail(etcd, "endpoints", "is required, as in http://10.0.0.1:2379", nested);
  }
  for (const std::string& endpoint : etcd.endpoints()) {
    if (absl::StartsWith(endpoint, "http://") || absl::StartsWith(endpoint, "https://")) continue;
    check->Fail(etcd, "endpoints",
                absl::StrCat("\"", endpoint, "\" does not begin with http:// or https://"), nested);
  }
  if (etcd.prefix().size() > kMaxStorePrefix) {
    check->Fail(etcd, "prefix", absl::StrCat("is longer than ", kMaxStorePrefix, " bytes"), nested);
  }
  if (etcd.lease_seconds() < 2 || etcd.lease_seconds() > 3600) {
    check->Fail(etcd, "lease_seconds",
                absl::StrCat(etcd.lease_seconds(), " is not between 2 and 3600"), nested);
  }
}

void CheckSelector(const v1::Config& config, Checker* check) {
  const v1::SelectorConfig& selector = config.selector();
  if (auto choices = ConfiguredChoices(selector); !choices.ok()) {
    check->Fail(selector, "choices", choices.status().message(), {Field(config, "selector")});
  }
  constexpr uint64_t kMostMbit = 100'000'000;
  if (selector.link_mbit_per_second() > kMostMbit) {
    check->Fail(selector, "link_mbit_per_second",
                absl::StrCat(selector.link_mbit_per_second(), " is above ", kMostMbit),
                {Field(config, "selector")});
  }
}

void Check(const v1::Config& config, Checker* check) {
  CheckNodeName(config, check);
  CheckAddress(config, "control_address", config.control_address(), "advertised_control_address",
               config.advertised_control_address(), check);
  CheckAddress(config, "data_address", config.data_address(), "advertised_data_address",
               config.advertised_data_address(), check);
  size_t longest = config.runtime_dir().size() + absl::string_view("/workload.sock").size();
  if (longest > kMaxSocketPath) {
    check->Fail(config, "runtime_dir",
                absl::StrCat("is too long: ", config.runtime_dir(), "/workload.sock has ", longest,
                             " bytes, a Unix socket's path at most ", kMaxSocketPath));
  }
  CheckAttester(config, check);
  if (config.policy_file().empty()) check->Fail(config, "policy_file", "is required");
  CheckStore(config, check);
  CheckSelector(config, check);
  CheckLimits(config, check);
}

// A zero in the file means "left out" to proto3, hence the default.
void ApplyDefaults(const std::string& file, v1::Config* config) {
  if (config->control_address().empty()) config->set_control_address("0.0.0.0:7400");
  if (config->data_address().empty()) config->set_data_address("0.0.0.0:7401");
  if (config->runtime_dir().empty()) config->set_runtime_dir("/run/caravan");
  config->set_runtime_dir(Resolve(file, config->runtime_dir()));
  config->set_policy_file(Resolve(file, config->policy_file()));
  config->set_psk_file(Resolve(file, config->psk_file()));
  for (std::string& path : *config->mutable_endorsement_paths()) path = Resolve(file, path);
  if (config->attester().has_insecure_software()) {
    v1::InsecureSoftwareConfig* insecure = config->mutable_attester()->mutable_insecure_software();
    insecure->set_root_directory(Resolve(file, insecure->root_directory()));
  }
  if (config->attester().has_tdx()) {
    v1::TdxConfig* tdx = config->mutable_attester()->mutable_tdx();
    if (tdx->quote_service_port() == 0) tdx->set_quote_service_port(4050);
  }
  if (config->attester().has_configfs_tsm()) {
    v1::ConfigfsTsmConfig* tsm = config->mutable_attester()->mutable_configfs_tsm();
    if (tsm->path().empty()) tsm->set_path("/sys/kernel/config/tsm/report");
    tsm->set_path(Resolve(file, tsm->path()));
  }
  if (config->attester().has_nvidia_gpus()) {
    v1::NvidiaGpusConfig* gpus = config->mutable_attester()->mutable_nvidia_gpus();
    if (gpus->library().empty()) gpus->set_library("libnvidia-ml.so.1");
  }
  if (config->store().has_etcd()) {
    v1::EtcdConfig* etcd = config->mutable_store()->mutable_etcd();
    if (etcd->prefix().empty()) etcd->set_prefix("caravan/");
    if (etcd->lease_seconds() == 0) etcd->set_lease_seconds(10);
    etcd->set_ca_file(Resolve(file, etcd->ca_file()));
  }
  v1::SelectorConfig* selector = config->mutable_selector();
  if (selector->link_mbit_per_second() == 0) selector->set_link_mbit_per_second(25'000);
  v1::LimitsConfig* limits = config->mutable_limits();
  if (limits->handshake_timeout_ms() == 0) limits->set_handshake_timeout_ms(10'000);
  if (limits->reattest_seconds() == 0) limits->set_reattest_seconds(900);
  if (limits->replace_session_seconds() == 0) limits->set_replace_session_seconds(3'600);
  if (limits->max_half_open() == 0) limits->set_max_half_open(256);
  if (limits->max_half_open_per_source() == 0) limits->set_max_half_open_per_source(32);
  if (limits->application_memory_bytes() == 0) limits->set_application_memory_bytes(8ull << 30);
  if (limits->max_applications() == 0) limits->set_max_applications(64);
  if (limits->max_communicators() == 0) limits->set_max_communicators(256);
}

}  // namespace

absl::StatusOr<v1::Config> LoadConfig(absl::string_view text, const std::string& file) {
  if (text.size() > kMaxConfigSize) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ":1:1: is ", text.size(), " bytes, at most ", kMaxConfigSize, " are read"));
  }
  v1::Config config;
  TextFormat::Parser parser;
  TextFormat::ParseInfoTree tree;
  FirstError errors(file);
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&tree);
  if (!parser.ParseFromString(std::string(text), &config)) {
    if (!errors.status().ok()) return errors.status();
    return absl::InvalidArgumentError(absl::StrCat(file, ":1:1: does not parse"));
  }
  ApplyDefaults(file, &config);
  Checker check(file, &tree);
  Check(config, &check);
  if (absl::Status status = check.First(); !status.ok()) return status;
  return config;
}

absl::StatusOr<v1::Config> ReadConfig(const std::string& file) {
  absl::StatusOr<std::string> text = base::ReadFile(file, kMaxConfigSize);
  if (!text.ok()) return text.status();
  return LoadConfig(*text, file);
}

}  // namespace caravan::config
