// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/text.h"

namespace caravan::cli {
namespace {

std::string HintFor(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
      return "is caravand running? --runtime-dir or CARAVAN_RUNTIME_DIR name its folder";
    case absl::StatusCode::kPermissionDenied:
      return "run as root, or as the user that caravand runs as";
    case absl::StatusCode::kDeadlineExceeded:
      return "the daemon is busy or stopped; --timeout gives it longer";
    case absl::StatusCode::kUnimplemented:
      return "the daemon is older than this caravanctl; update it";
    default:
      return "";
  }
}

}  // namespace

Failure FailureOf(const absl::Status& status, absl::string_view doing) {
  return {ExitCodeFor(status), absl::StatusCodeToString(status.code()),
          absl::StrCat(doing, ": ", status.message()), HintFor(status.code())};
}

int Fail(const Context& context, absl::string_view schema, const Failure& failure) {
  context.err << "caravanctl: " << Printable(failure.message) << " [" << failure.code << "]\n";
  if (!failure.hint.empty()) context.err << "hint: " << Printable(failure.hint) << "\n";
  if (context.json) {
    JsonWriter json = BeginDocument(schema);
    json.Key("error").BeginObject();
    json.Member("code", failure.code);
    json.Member("message", failure.message);
    json.Member("hint", failure.hint);
    json.EndObject().EndObject();
    context.out << std::move(json).Take();
  }
  return failure.exit;
}

JsonWriter BeginDocument(absl::string_view schema) {
  JsonWriter json;
  json.BeginObject().Member("schema", schema);
  return json;
}

}  // namespace caravan::cli
