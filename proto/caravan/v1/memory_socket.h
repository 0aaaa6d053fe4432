// SPDX-License-Identifier: Apache-2.0
//
// The protocol of memory.sock, a SOCK_SEQPACKET Unix socket: descriptors cannot travel over gRPC.
// The application sends one MemoryRequest, the daemon answers with one MemoryReply, which carries
// a descriptor (SCM_RIGHTS) where `code` is 0. The connection is the application's life line: when
// it closes, the daemon ends the application's communicators and frees its buffers.
#ifndef CARAVAN_PROTO_CARAVAN_V1_MEMORY_SOCKET_H_
#define CARAVAN_PROTO_CARAVAN_V1_MEMORY_SOCKET_H_

#include <cstdint>

namespace caravan::v1 {

inline constexpr uint32_t kMemoryMagic = 0x4d525643;  // "CVRM"
inline constexpr uint32_t kMemoryVersion = 1;

enum class MemoryRequestKind : uint32_t {
  kHello = 1,   // first on a connection: the reply holds the token, and the wake eventfd
  kBuffer = 2,  // `id`: a buffer id from AllocateBuffer; the reply holds its memfd and size
  kRing = 3,    // `id`: a communicator handle from CreateCommunicator; its ring's memfd and size
};

struct MemoryRequest {
  uint32_t magic;
  uint32_t version;
  MemoryRequestKind kind;
  uint32_t reserved;  // zero
  uint64_t id;
};
static_assert(sizeof(MemoryRequest) == 24);

struct MemoryReply {
  uint32_t magic;
  uint32_t code;      // absl::StatusCode
  uint64_t size;      // bytes of the memory
  uint8_t token[32];  // kHello: goes with every workload RPC
  char message[128];  // zero-terminated, for a person; empty on success
};
static_assert(sizeof(MemoryReply) == 176);

}  // namespace caravan::v1

#endif  // CARAVAN_PROTO_CARAVAN_V1_MEMORY_SOCKET_H_
