// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/group_testing.h"

#include <sys/socket.h>

#include <cstdlib>
#include <utility>

#include "daemon/engine/engine_testing.h"

namespace caravan::engine {
namespace {

constexpr uint8_t kEpoch = 1;
constexpr int kChunkLog2 = 14;

BufferRef NewBuffer(uint64_t bytes, bool numbered) {
  if (bytes == 0) return BufferRef();
  std::shared_ptr<SharedMemory> memory = *SharedMemory::Create("test", bytes);
  for (uint64_t i = 0; numbered && i < bytes; ++i) {
    memory->data()[i] = static_cast<uint8_t>(i % 251 + 1);
  }
  return {std::move(memory), 0, bytes};
}

}  // namespace

GroupsForTest::GroupsForTest(int size, int socket_buffer) : ciphers_(crypto::SealedRecords()) {
  std::vector<GroupConfig> configs(size);
  for (int rank = 0; rank < size; ++rank) {
    GroupConfig& config = configs[rank];
    config.epoch.fill(kEpoch);
    config.name = "test";
    config.rank = static_cast<uint16_t>(rank);
    config.size = static_cast<uint16_t>(size);
    config.chunk_log2 = kChunkLog2;
    config.sender_parent = SenderParentForTest(kEpoch, rank);
    config.local.resize(1);
    for (int other = 0; other < size; ++other) {
      if (other == rank) continue;
      Peer peer;
      peer.rank = static_cast<uint16_t>(other);
      peer.name = "node-" + std::to_string(other);
      peer.pair_parent_out = PairParentForTest(kEpoch, rank, other);
      peer.pair_parent_in = PairParentForTest(kEpoch, other, rank);
      peer.sender_parent = SenderParentForTest(kEpoch, other);
      peer.lanes.resize(1);
      config.peers.push_back(std::move(peer));
    }
  }
  for (int a = 0; a < size; ++a) {
    for (int b = a + 1; b < size; ++b) {
      const auto [first, second] = ConnectedPairForTest(/*tcp=*/false, socket_buffer);
      configs[a].peers[b - 1].lanes[0].fd = first;
      configs[b].peers[a].lanes[0].fd = second;
    }
  }
  EngineOptions options;
  options.ciphers = ciphers_.get();
  for (GroupConfig& config : configs) {
    states_.push_back(std::make_unique<GroupState>(std::move(config), options));
    states_.back()->progress().BeginTurn(1);
  }
}

Lane& GroupsForTest::lane(int rank, int peer) {
  for (const std::unique_ptr<Lane>& lane : states_[rank]->lanes()) {
    if (lane->peer == peer) return *lane;
  }
  abort();
}

Operation& GroupsForTest::Begin(int rank, const collective::OperationSpec& spec) {
  GroupState& state = *states_[rank];
  auto program = Program::Build({spec}, rank, state.islands(), 1);
  if (!program.ok()) abort();
  const collective::Plan& plan = (*program)->plan();
  LocalPart part;
  part.spec = spec;
  part.input = NewBuffer(plan.input_bytes(), /*numbered=*/true);
  part.output = NewBuffer(plan.output_bytes(), /*numbered=*/false);
  Submission submission;
  submission.id = state.window().end();
  submission.parts.push_back(std::move(part));
  state.held().MakeRoomFor(plan.forward_slots());
  auto operation = std::make_unique<Operation>();
  operation->Prepare(*program, state.window().end(), state.keys());
  operation->Bind(std::move(submission), 0);
  operation->Release();
  state.window().Push(std::move(operation));
  return *state.window().Get(state.window().end() - 1);
}

std::vector<uint8_t> GroupsForTest::InputOf(const Operation& operation) const {
  const uint8_t* data = operation.submission.parts.front().input.host();
  return {data, data + operation.plan().input_bytes()};
}

std::vector<uint8_t> GroupsForTest::OutputOf(const Operation& operation) const {
  const uint8_t* data = operation.submission.parts.front().output.host();
  return {data, data + operation.plan().output_bytes()};
}

std::string GroupsForTest::Drain(int from, int to) {
  std::string bytes;
  char some[1 << 16];
  while (true) {
    const ssize_t n = recv(lane(to, from).fd, some, sizeof(some), MSG_DONTWAIT);
    if (n <= 0) break;
    bytes.append(some, static_cast<size_t>(n));
  }
  lane(from, to).writable = true;
  return bytes;
}

void GroupsForTest::Inject(int from, int to, const std::string& bytes) {
  const auto size = static_cast<ssize_t>(bytes.size());
  if (send(lane(from, to).fd, bytes.data(), bytes.size(), MSG_DONTWAIT) != size) abort();
  lane(to, from).readable = true;
}

collective::OperationSpec SpecForTest(collective::Operation op, uint64_t count,
                                      collective::Algorithm algorithm) {
  collective::OperationSpec spec;
  spec.op = op;
  spec.count = count;
  spec.algorithm = algorithm;
  spec.chunk_log2 = kChunkLog2;
  return spec;
}

}  // namespace caravan::engine
