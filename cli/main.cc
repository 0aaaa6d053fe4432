// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cli/command_line.h"

int main(int argc, char** argv) {
  caravan::cli::Context context{std::cout, std::cerr};
  // https://no-color.org: set to anything but nothing.
  const char* no_color = std::getenv("NO_COLOR");
  context.color = isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
  const int code =
      caravan::cli::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), context);
  std::cout.flush();
  // A full disk or a closed pipe must not look like success.
  if (!std::cout && code == caravan::cli::kOk) return caravan::cli::kInternalError;
  return code;
}
