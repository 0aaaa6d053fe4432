// SPDX-License-Identifier: Apache-2.0
#include "client/node.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace caravan {

absl::StatusOr<std::unique_ptr<Node>> Node::Connect(const NodeOptions& options) {
  if (options.timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("NodeOptions.timeout must be positive");
  }
  std::string folder = options.runtime_dir;
  if (folder.empty()) {
    const char* configured = std::getenv("CARAVAN_RUNTIME_DIR");
    folder = configured != nullptr && *configured != '\0' ? configured : "/run/caravan";
  }
  auto connection = client::Connection::Open(folder, options.timeout);
  if (!connection.ok()) return connection.status();
  return std::make_unique<Node>(std::make_unique<Impl>(*std::move(connection)));
}

Node::Node(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Node::~Node() = default;

absl::StatusOr<std::unique_ptr<Buffer>> Node::Allocate(uint64_t bytes) {
  return client::AllocateBuffer(impl_->connection(), bytes);
}

}  // namespace caravan
