// SPDX-License-Identifier: Apache-2.0
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/node.h"

namespace caravan::client {

absl::StatusOr<std::unique_ptr<Buffer>> LocalNode::Allocate(uint64_t bytes) {
  if (bytes == 0) return absl::InvalidArgumentError("a buffer has at least 1 byte");
  auto id = connection_->workload().AllocateBuffer(bytes);
  if (!id.ok()) return id.status();

  auto map = [&]() -> absl::StatusOr<std::unique_ptr<Mapping>> {
    if (*id == 0) return absl::InternalError("the daemon gave a buffer the id 0");
    auto memory = connection_->memory().Fetch(v1::MemoryRequestKind::kBuffer, *id);
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
    connection_->workload().FreeBuffer(*id).IgnoreError();
    return mapping.status();
  }
  return std::make_unique<LocalBuffer>(connection_, *std::move(mapping), *id);
}

LocalBuffer::~LocalBuffer() {
  memory_.reset();
  // Waits for the answer, so that the share is there again for the next Allocate.
  if (connection_->alive()) connection_->workload().FreeBuffer(id_).IgnoreError();
}

}  // namespace caravan::client
