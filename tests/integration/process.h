// SPDX-License-Identifier: Apache-2.0
//
// For tests: a child process whose output can be waited for, line by line.
#ifndef CARAVAN_TESTS_INTEGRATION_PROCESS_H_
#define CARAVAN_TESTS_INTEGRATION_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace caravan::testing {

class Process {
 public:
  Process() = default;
  // Starts arguments[0]; its stdout comes here, its stderr too when `with_errors`.
  explicit Process(const std::vector<std::string>& arguments, bool with_errors = false);
  Process(Process&& other) noexcept { *this = static_cast<Process&&>(other); }
  Process& operator=(Process&& other) noexcept;
  ~Process();  // SIGKILL

  pid_t pid() const { return pid_; }
  // SIGSTOP: returns when the whole process has stopped.
  void Signal(int number) const;
  // The next line, without its end; "" at the end of the output or the time-out.
  std::string Line(absl::Duration timeout = absl::Seconds(60));
  // All that is still to come until the process closes its output.
  std::string Rest(absl::Duration timeout = absl::Seconds(60));
  // Waits for the end: the exit code, 128 + signal, or -1 at the time-out.
  int Wait(absl::Duration timeout = absl::Seconds(60));

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string buffered_;
};

}  // namespace caravan::testing

#endif  // CARAVAN_TESTS_INTEGRATION_PROCESS_H_
