// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/log.h"
#include "base/version.h"
#include "config/config.h"
#include "daemon/credentials.h"
#include "daemon/node.h"
#include "daemon/ops/notify.h"

namespace caravan {
namespace {

constexpr int kOk = 0;
constexpr int kInternal = 1;
constexpr int kUsage = 2;
constexpr int kPermission = 6;

constexpr char kHelp[] =
    "usage: caravand --config FILE [--check-config] [--ready-file FILE] [--verbose]\n"
    "       caravand --version\n"
    "  --config FILE      the node's configuration (proto/caravan/v1/config.proto, text format)\n"
    "  --check-config     check it and everything that it names, then exit\n"
    "  --ready-file FILE  written once all sockets are bound: control=…, data=…, runtime=…\n"
    "  --verbose          log debugging events too\n";

struct Flags {
  std::string config;
  std::string ready_file;
  bool check = false;
  bool verbose = false;
  bool version = false;
  bool help = false;
};

absl::StatusOr<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    std::string value;
    bool has_value = false;
    if (size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
      has_value = true;
    }
    if (name == "--config" || name == "--ready-file") {
      if (!has_value && ++i < argc) {
        value = argv[i];
        has_value = true;
      }
      if (!has_value || value.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(name, " needs a file"));
      }
      (name == "--config" ? flags.config : flags.ready_file) = value;
      continue;
    }
    bool* flag = name == "--check-config" ? &flags.check
                 : name == "--verbose"    ? &flags.verbose
                 : name == "--version"    ? &flags.version
                 : name == "--help"       ? &flags.help
                                          : nullptr;
    if (flag == nullptr || has_value) {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument ", argv[i]));
    }
    *flag = true;
  }
  if (flags.config.empty() && !flags.version && !flags.help) {
    return absl::InvalidArgumentError("--config FILE is required");
  }
  return flags;
}

int Complain(const absl::Status& status, int code) {
  std::fprintf(stderr, "caravand: %s\n", std::string(status.message()).c_str());
  return absl::IsPermissionDenied(status) ? kPermission : code;
}

// Buffers, lanes and sessions are descriptors: as many as this process may have.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    base::Log(base::Level::kWarning, "the limit of descriptors stays low",
              {{"error", std::strerror(errno)}});
  }
}

// No secret may reach a core file or another process's eyes.
absl::Status Harden() {
  rlimit none{0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0) {
    return absl::ErrnoToStatus(errno, "cannot turn core dumps off");
  }
  return absl::OkStatus();
}

// Appears whole or not at all.
absl::Status WriteReadyFile(const std::string& path, const std::string& text) {
  std::string partial = absl::StrCat(path, ".partial");
  base::Descriptor file(open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", partial));
  const bool written = base::WriteAll(file.get(), text) == 0 && file.Close() == 0;
  if (!written || rename(partial.c_str(), path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

void TellServiceManager(absl::string_view state) {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  absl::Status status = ops::Notify(socket == nullptr ? "" : socket, state);
  if (!status.ok()) {
    base::Log(base::Level::kWarning, "service manager not told",
              {{"state", state}, {"error", status.message()}});
  }
}

int Serve(const Flags& flags, v1::Config config, NodeCredentials credentials, DaemonParts parts) {
  // Blocked before any thread starts, so that all inherit it and this one waits.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const std::string runtime = config.runtime_dir();
  auto node = Node::Start(std::move(config), std::move(credentials), parts.ciphers,
                          std::move(parts.step_hook));
  if (!node.ok()) return Complain(node.status(), kInternal);
  std::string text = absl::StrCat("control=", (*node)->control_address(),
                                  "\ndata=", (*node)->data_address(), "\nruntime=", runtime, "\n");
  if (!flags.ready_file.empty()) {
    absl::Status status = WriteReadyFile(flags.ready_file, text);
    if (!status.ok()) return Complain(status, kUsage);
  }
  base::Log(base::Level::kInfo, "ready",
            {{"control", (*node)->control_address()},
             {"data", (*node)->data_address()},
             {"runtime", runtime}});
  TellServiceManager("READY=1");

  int signal_number = 0;
  while (sigwait(&stop, &signal_number) != 0) {
  }
  base::Log(base::Level::kInfo, "stopping", {{"signal", signal_number}});
  TellServiceManager("STOPPING=1");
  (*node)->Stop();
  node->reset();
  base::Log(base::Level::kInfo, "stopped");
  return kOk;
}

}  // namespace

int RunDaemon(int argc, char** argv, DaemonParts parts) {
  absl::StatusOr<Flags> flags = ParseFlags(argc, argv);
  if (!flags.ok()) {
    int code = Complain(flags.status(), kUsage);
    std::fputs(kHelp, stderr);
    return code;
  }
  if (flags->help) return std::fputs(kHelp, stdout) < 0 ? kInternal : kOk;
  if (flags->version) {
    std::printf("caravand %s\n", std::string(base::kVersion).c_str());
    return kOk;
  }
  if (flags->verbose) base::SetLogLevel(base::Level::kDebug);
  if (absl::Status status = Harden(); !status.ok()) return Complain(status, kInternal);
  RaiseDescriptorLimit();
  auto config = config::ReadConfig(flags->config);
  if (!config.ok()) return Complain(config.status(), kUsage);
  auto credentials = LoadCredentials(*config, absl::Now());
  if (!credentials.ok()) return Complain(credentials.status(), kUsage);
  if (flags->check) {
    std::printf("%s: ok\n", flags->config.c_str());
    return kOk;
  }
  return Serve(*flags, *std::move(config), *std::move(credentials), std::move(parts));
}

}  // namespace caravan
