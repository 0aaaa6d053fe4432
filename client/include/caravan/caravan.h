// SPDX-License-Identifier: Apache-2.0
//
// libcaravan: collectives over attested, encrypted links, through the local daemon.
//
//   auto node = caravan::Node::Connect();                          // the daemon of this machine
//   auto comm = caravan::Communicator::Create(**node, {"train", "10.0.0.1:7400"}, rank, size);
//   auto buffer = (*node)->Allocate(bytes);                        // shared with the daemon
//   float* x = (*buffer)->As<float>();
//   auto work = (*comm)->AllReduce(
//       {.input = **buffer, .count = count, .type = caravan::DataType::kFloat32});
//   absl::Status status = work->Wait();
//
// The names and meanings are NCCL's. The library holds no key and does no cryptography.
#ifndef CARAVAN_CLIENT_INCLUDE_CARAVAN_CARAVAN_H_
#define CARAVAN_CLIENT_INCLUDE_CARAVAN_CARAVAN_H_

#include "caravan/communicator.h"
#include "caravan/node.h"
#include "caravan/operations.h"
#include "caravan/types.h"

#endif  // CARAVAN_CLIENT_INCLUDE_CARAVAN_CARAVAN_H_
