// SPDX-License-Identifier: Apache-2.0
//
// The library's own Node and Buffer, as its other files see them.
#ifndef CARAVAN_CLIENT_NODE_H_
#define CARAVAN_CLIENT_NODE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "client/caravan.h"
#include "client/connection.h"
#include "client/mapping.h"

namespace caravan::client {

class LocalBuffer : public Buffer {
 public:
  LocalBuffer(std::shared_ptr<Connection> connection, std::unique_ptr<Mapping> memory, uint32_t id)
      : connection_(std::move(connection)), memory_(std::move(memory)), id_(id) {}
  ~LocalBuffer() override;

  uint8_t* data() override { return memory_->data(); }
  uint64_t size() const override { return memory_->size(); }
  uint32_t id() const override { return id_; }
  const Connection* connection() const { return connection_.get(); }

 private:
  const std::shared_ptr<Connection> connection_;
  std::unique_ptr<Mapping> memory_;
  const uint32_t id_;
};

class LocalNode : public Node {
 public:
  explicit LocalNode(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(uint64_t bytes) override;
  const std::shared_ptr<Connection>& connection() const { return connection_; }

 private:
  const std::shared_ptr<Connection> connection_;
};

}  // namespace caravan::client

#endif  // CARAVAN_CLIENT_NODE_H_
