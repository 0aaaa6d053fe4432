// SPDX-License-Identifier: Apache-2.0
#include "cli/config_check.h"

#include <google/protobuf/text_format.h>

#include <utility>

#include "cli/text.h"
#include "config/config.h"

namespace caravan::cli {
namespace {

constexpr char kSchema[] = "caravan.config-check/1";

}  // namespace

int RunConfigCheck(const Context& context, const std::string& file) {
  auto config = config::ReadConfig(file);
  if (!config.ok()) {
    Failure failure = FailureOf(config.status(), "config check");
    failure.hint = absl::IsInvalidArgument(config.status())
                       ? "proto/caravan/v1/config.proto describes every field"
                       : "";
    return Fail(context, kSchema, failure);
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(*config, &text);
  if (context.json) {
    JsonWriter json = BeginDocument(kSchema);
    json.Member("file", file).Member("ok", true).Member("effective", text).EndObject();
    context.out << std::move(json).Take();
  } else {
    context.out << "# " << Printable(file) << ": ok; with every default:\n" << text;
  }
  return kOk;
}

}  // namespace caravan::cli
