// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/node.h"

namespace caravan {
namespace client {

absl::StatusOr<std::unique_ptr<Buffer>> AllocateBuffer(
    const std::shared_ptr<Connection>& connection, uint64_t bytes) {
  if (bytes == 0) return absl::InvalidArgumentError("a buffer has at least 1 byte");
  auto id = connection->workload().AllocateBuffer(bytes);
  if (!id.ok()) return id.status();

  auto map = [&]() -> absl::StatusOr<std::unique_ptr<Mapping>> {
    if (*id == 0) return absl::InternalError("the daemon gave a buffer the id 0");
    auto memory = connection->memory().Fetch(v1::MemoryRequestKind::kBuffer, *id);
    if (!memory.ok()) return memory.status();
    if (memory->size != bytes) {
      return absl::InternalError(
          absl::StrCat("the daemon gave a buffer of ", memory->size, " bytes, asked for ", bytes));
    }
    return Mapping::Map(memory->fd, bytes);
  };
  auto mapping = map();
  if (!mapping.ok()) {
    // Best effort: the daemon frees it with the connection in any case.
    connection->workload().FreeBuffer(*id).IgnoreError();
    return mapping.status();
  }
  return std::make_unique<Buffer>(
      std::make_unique<Buffer::Impl>(connection, *std::move(mapping), *id));
}

}  // namespace client

Buffer::Buffer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Buffer::~Buffer() = default;
uint8_t* Buffer::data() const { return impl_->data(); }
uint64_t Buffer::size() const { return impl_->size(); }
uint32_t Buffer::id() const { return impl_->id(); }

Buffer::Impl::~Impl() {
  memory_.reset();
  if (connection_->alive()) connection_->workload().FreeBuffer(id_).IgnoreError();
}

}  // namespace caravan
