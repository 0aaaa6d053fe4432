// SPDX-License-Identifier: Apache-2.0
//
// Element types, reductions, algorithms, and the limits that hold for everybody. Names and meanings
// are NCCL's.
#ifndef CARAVAN_CLIENT_INCLUDE_CARAVAN_TYPES_H_
#define CARAVAN_CLIENT_INCLUDE_CARAVAN_TYPES_H_

#include <cstddef>
#include <cstdint>

namespace caravan {

inline constexpr int kMaxRanks = 1024;                 // of one communicator
inline constexpr int kMaxRanksPerNode = 64;            // of one communicator
inline constexpr int kMaxOutstandingOperations = 256;  // of one communicator, on one rank
inline constexpr int kMaxLanes = 16;                   // TCP connections a peer
inline constexpr int kMinChunkLog2 = 14;
inline constexpr int kMaxChunkLog2 = 18;
inline constexpr size_t kMaxCommunicatorName = 128;  // bytes of UTF-8

enum class DataType : uint8_t {
  kFloat16 = 1,
  kBfloat16 = 2,
  kFloat32 = 3,
  kFloat64 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kInt8 = 7,
  kUint8 = 8,
  kInt16 = 9,
  kUint16 = 10,
  kUint32 = 11,
  kUint64 = 12,
};

size_t SizeOf(DataType type);  // bytes of one element; 0 for an unknown type

enum class ReduceOp : uint8_t { kSum = 1, kProd = 2, kMin = 3, kMax = 4, kAvg = 5 };

// kAuto: the daemons choose by what their machines and links take, all alike.
enum class Algorithm : uint8_t {
  kAuto = 0,
  kDirect = 1,
  kRing = 2,
  kRingForward = 3,
  kChainForward = 4,
  kDoublingForward = 5,
  kOneShot = 6,
  kBinomialForward = 7,
  kBruckForward = 8,
};

}  // namespace caravan

#endif  // CARAVAN_CLIENT_INCLUDE_CARAVAN_TYPES_H_
