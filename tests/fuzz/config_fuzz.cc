// SPDX-License-Identifier: Apache-2.0
//
// The daemon's configuration: every error says where it is; what loads has its defaults.
#include "base/socket_address.h"
#include "config/config.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {

std::vector<std::string> Seeds() { return {}; }

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = config::LoadConfig(text, "/etc/caravan/fuzz.textproto");
  if (!config.ok()) {
    fuzz::Require(config.status().message().find("fuzz.textproto") != absl::string_view::npos,
                  "an error names the file");
    return 0;
  }
  fuzz::Require(base::ParseHostPort(config->control_address()).ok(), "the control address is one");
  fuzz::Require(base::ParseHostPort(config->data_address()).ok(), "the data address is one");
  fuzz::Require(config->limits().max_half_open() > 0, "limits have their defaults");
  return 0;
}
