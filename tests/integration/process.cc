// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/time/clock.h"

namespace caravan::testing {

Process::Process(const std::vector<std::string>& arguments, bool with_errors) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(ends[1], STDOUT_FILENO);
    if (with_errors) dup2(ends[1], STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  output_ = ends[0];
}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(buffered_, other.buffered_);
  return *this;
}

Process::~Process() {
  if (output_ >= 0) close(output_);
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::Signal(int number) const {
  kill(pid_, number);
  if (number != SIGSTOP) return;
  // Threads run on until they have seen the signal.
  siginfo_t info;
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
}

std::string Process::Line(absl::Duration timeout) {
  const absl::Time end = absl::Now() + timeout;
  size_t stop;
  while ((stop = buffered_.find('\n')) == std::string::npos) {
    pollfd wait{output_, POLLIN, 0};
    int left = static_cast<int>(absl::ToInt64Milliseconds(end - absl::Now()));
    if (left <= 0 || poll(&wait, 1, left) <= 0) return "";
    char bytes[4096];
    ssize_t size = read(output_, bytes, sizeof(bytes));
    if (size <= 0) return std::exchange(buffered_, "");
    buffered_.append(bytes, size);
  }
  std::string line = buffered_.substr(0, stop);
  buffered_.erase(0, stop + 1);
  return line;
}

std::string Process::Rest(absl::Duration timeout) {
  const absl::Time end = absl::Now() + timeout;
  std::string all, line;
  while (!(line = Line(end - absl::Now())).empty()) all += line + "\n";
  return all;
}

int Process::Wait(absl::Duration timeout) {
  for (absl::Time end = absl::Now() + timeout; absl::Now() < end;
       absl::SleepFor(absl::Milliseconds(10))) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) continue;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return -1;
}

}  // namespace caravan::testing
