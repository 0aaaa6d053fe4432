// SPDX-License-Identifier: Apache-2.0
//
// What is behind the public Node and Buffer, as the library's other files see it.
#ifndef CARAVAN_CLIENT_NODE_H_
#define CARAVAN_CLIENT_NODE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "caravan/node.h"
#include "client/connection.h"
#include "client/mapping.h"

namespace caravan {

class Buffer::Impl {
 public:
  Impl(std::shared_ptr<client::Connection> connection, std::unique_ptr<client::Mapping> memory,
       uint32_t id)
      : connection_(std::move(connection)), memory_(std::move(memory)), id_(id) {}
  // Waits for the daemon's answer, so that the share is there again for the next Allocate.
  ~Impl();

  uint8_t* data() const { return memory_->data(); }
  uint64_t size() const { return memory_->size(); }
  uint32_t id() const { return id_; }
  const client::Connection* connection() const { return connection_.get(); }

 private:
  const std::shared_ptr<client::Connection> connection_;
  std::unique_ptr<client::Mapping> memory_;
  const uint32_t id_;
};

class Node::Impl {
 public:
  explicit Impl(std::shared_ptr<client::Connection> connection)
      : connection_(std::move(connection)) {}
  const std::shared_ptr<client::Connection>& connection() const { return connection_; }

 private:
  const std::shared_ptr<client::Connection> connection_;
};

namespace client {

// InvalidArgument for 0 bytes; ResourceExhausted when over the application's share; Internal when
// the daemon answers something else than it was asked for.
absl::StatusOr<std::unique_ptr<Buffer>> AllocateBuffer(
    const std::shared_ptr<Connection>& connection, uint64_t bytes);

}  // namespace client
}  // namespace caravan

#endif  // CARAVAN_CLIENT_NODE_H_
