// SPDX-License-Identifier: Apache-2.0
//
// What every command shares: where it writes, in which form, and how it fails.
#ifndef CARAVAN_CLI_OUTPUT_H_
#define CARAVAN_CLI_OUTPUT_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/exit_code.h"
#include "cli/json.h"

namespace caravan::cli {

struct Context {
  std::ostream& out;
  std::ostream& err;
  bool json = false;   // -o json
  bool color = false;  // out is a terminal
  std::string runtime_dir = "/run/caravan";
  absl::Duration timeout = absl::Seconds(10);
};

struct Failure {
  ExitCode exit = kInternalError;
  std::string code;     // "UNAVAILABLE": for programs
  std::string message;  // lowercase: what, where, expected
  std::string hint;     // what to do; empty: none
};

// For an error of the daemon or of reaching it.
Failure FailureOf(const absl::Status& status, absl::string_view doing);

// Says so and returns failure.exit: "caravanctl: message [CODE]" and a "hint:" line on err; with
// -o json the document {"schema", "error": {"code", "message", "hint"}} on out as well.
int Fail(const Context& context, absl::string_view schema, const Failure& failure);

// A document that begins with its schema, "caravan.status/1"; the caller ends the object.
JsonWriter BeginDocument(absl::string_view schema);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_OUTPUT_H_
