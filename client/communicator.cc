// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/caravan.h"
#include "client/connection.h"
#include "client/counts_area.h"
#include "client/node.h"
#include "client/operation.h"
#include "client/ring.h"
#include "client/split.h"
#include "client/utf8.h"

namespace caravan {
namespace {

using client::Arguments;
using client::Connection;
using client::LocalBuffer;
using client::LocalNode;
using client::Mapping;
using client::Operation;
using client::Place;
using client::Ring;

constexpr size_t kLongestName = 128;
constexpr int kMostRanks = 65534;  // 0xFFFF and 0xFFFE have meanings of their own in a record

absl::Status Check(const Rendezvous& rendezvous, int rank, int size,
                   const CommunicatorOptions& options) {
  auto invalid = [](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(what...));
  };
  if (rendezvous.name.empty() || rendezvous.name.size() > kLongestName) {
    return invalid("the communicator's name has ", rendezvous.name.size(), " bytes, expected 1 to ",
                   kLongestName);
  }
  if (size_t bad = client::FindBadUtf8(rendezvous.name); bad != absl::string_view::npos) {
    return invalid("the communicator's name is not UTF-8 at byte ", bad);
  }
  if (size_t bad = client::FindBadUtf8(rendezvous.root_address); bad != absl::string_view::npos) {
    return invalid("the rendezvous' root_address is not UTF-8 at byte ", bad);
  }
  if (size < 1 || size > kMostRanks) {
    return invalid("size ", size, ", expected 1 to ", kMostRanks);
  }
  if (rank < 0 || rank >= size) return invalid("rank ", rank, " is not a rank of ", size);
  if (options.chunk_log2 < 14 || options.chunk_log2 > 18) {
    return invalid("chunk_log2 ", options.chunk_log2, ", expected 14 to 18");
  }
  constexpr int kMostRanksPerNode = 64;
  if (options.ranks_per_node < 1 || options.ranks_per_node > kMostRanksPerNode ||
      size % options.ranks_per_node != 0) {
    return invalid("ranks_per_node ", options.ranks_per_node, ", expected 1 to ", kMostRanksPerNode,
                   ", a divisor of the size ", size);
  }
  if (options.lanes < 0 || options.lanes > 16) {
    return invalid("lanes ", options.lanes, ", expected 1 to 16, or 0 for the root's choice");
  }
  if (!options.suite.empty() && options.suite != "AES_256_GCM" &&
      options.suite != "CHACHA20_POLY1305") {
    return invalid("unknown suite \"", options.suite,
                   "\", expected AES_256_GCM or CHACHA20_POLY1305");
  }
  for (absl::Duration limit : {options.create_timeout, options.deadline}) {
    if (limit < absl::Milliseconds(10) || limit > absl::Hours(24)) {
      return invalid("create_timeout and deadline must be 10 ms to 24 h, one is ",
                     absl::FormatDuration(limit));
    }
  }
  return absl::OkStatus();
}

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Connection> connection, std::shared_ptr<Work::Impl> ring,
                    uint64_t handle, int rank, int size, const CommunicatorOptions& options)
      : connection_(std::move(connection)),
        ring_(std::move(ring)),
        handle_(handle),
        rank_(rank),
        size_(size),
        options_(options),
        counts_(size) {}

  // Blocks until the communicator stands. `rendezvous` is empty where `lineage` names a parent.
  static absl::StatusOr<std::unique_ptr<Communicator>> Make(
      const std::shared_ptr<Connection>& connection, const Rendezvous& rendezvous, int rank,
      int size, const CommunicatorOptions& options, const client::Lineage& lineage);

  ~LocalCommunicator() override {
    if (aborting_.joinable()) aborting_.join();  // bounded by the node's time-out
    ring_->Fail(absl::CancelledError("the communicator was destroyed"));
    // Waits for the answer, so that the name is free for the next communicator.
    if (connection_->alive()) connection_->workload().DestroyCommunicator(handle_).IgnoreError();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  absl::StatusOr<Work> AllReduce(BufferRef input, BufferRef output, uint64_t count, DataType type,
                                 ReduceOp op, Algorithm algorithm) override {
    Arguments a = Describe(Operation::kAllReduce, count, type, algorithm);
    a.reduce = op;
    return Submit(a, &input, &output);
  }
  absl::StatusOr<Work> AllGather(BufferRef input, BufferRef output, uint64_t count, DataType type,
                                 Algorithm algorithm) override {
    return Submit(Describe(Operation::kAllGather, count, type, algorithm), &input, &output);
  }
  absl::StatusOr<Work> ReduceScatter(BufferRef input, BufferRef output, uint64_t count,
                                     DataType type, ReduceOp op, Algorithm algorithm) override {
    Arguments a = Describe(Operation::kReduceScatter, count, type, algorithm);
    a.reduce = op;
    return Submit(a, &input, &output);
  }
  absl::StatusOr<Work> Broadcast(BufferRef input, BufferRef output, uint64_t count, DataType type,
                                 int root, Algorithm algorithm) override {
    Arguments a = Describe(Operation::kBroadcast, count, type, algorithm);
    a.root = root;
    return Submit(a, &input, &output);
  }
  absl::StatusOr<Work> Reduce(BufferRef input, BufferRef output, uint64_t count, DataType type,
                              ReduceOp op, int root, Algorithm algorithm) override {
    Arguments a = Describe(Operation::kReduce, count, type, algorithm);
    a.reduce = op;
    a.root = root;
    return Submit(a, &input, &output);
  }
  absl::StatusOr<Work> Gather(BufferRef input, BufferRef output, uint64_t count, DataType type,
                              int root) override {
    Arguments a = Describe(Operation::kGather, count, type, Algorithm::kAuto);
    a.root = root;
    return Submit(a, &input, &output);
  }
  absl::StatusOr<Work> Scatter(BufferRef input, BufferRef output, uint64_t count, DataType type,
                               int root) override {
    Arguments a = Describe(Operation::kScatter, count, type, Algorithm::kAuto);
    a.root = root;
    return Submit(a, &input, &output);
  }
  absl::StatusOr<Work> AllToAll(BufferRef input, BufferRef output, uint64_t count, DataType type,
                                Algorithm algorithm) override {
    return Submit(Describe(Operation::kAllToAll, count, type, algorithm), &input, &output);
  }
  absl::StatusOr<Work> AllGatherV(BufferRef input, BufferRef output,
                                  absl::Span<const uint64_t> counts, DataType type,
                                  Algorithm algorithm) override {
    Arguments a = Describe(Operation::kAllGatherV, 0, type, algorithm);
    a.counts = counts;
    return Submit(a, &input, &output);
  }
  absl::StatusOr<Work> AllToAllV(BufferRef input, absl::Span<const uint64_t> send_counts,
                                 BufferRef output, absl::Span<const uint64_t> receive_counts,
                                 DataType type) override {
    Arguments a = Describe(Operation::kAllToAllV, 0, type, Algorithm::kAuto);
    a.counts = send_counts;
    a.receive_counts = receive_counts;
    return Submit(a, &input, &output);
  }
  absl::StatusOr<Work> Send(BufferRef input, uint64_t count, DataType type, int peer) override {
    Arguments a = Describe(Operation::kSend, count, type, Algorithm::kAuto);
    a.peer = peer;
    return Submit(a, &input, nullptr);
  }
  absl::StatusOr<Work> Recv(BufferRef output, uint64_t count, DataType type, int peer) override {
    Arguments a = Describe(Operation::kRecv, count, type, Algorithm::kAuto);
    a.peer = peer;
    return Submit(a, nullptr, &output);
  }
  absl::StatusOr<Work> Barrier() override { return Submit(Arguments{}, nullptr, nullptr); }

  absl::StatusOr<std::unique_ptr<Communicator>> Split(int color, int key) override {
    auto choices = ExchangeChoices({color, key});
    if (!choices.ok()) return choices.status();
    if (color == kNoColor) return nullptr;
    return MakeChild(client::SplitMembers(*choices, color));
  }

  absl::StatusOr<std::unique_ptr<Communicator>> Shrink(absl::Span<const int> excluded) override {
    auto members = client::ShrinkMembers(size_, rank_, excluded);
    if (!members.ok()) return members.status();
    return MakeChild(*std::move(members));
  }

  absl::Status AsyncError() const override { return ring_->Failure(); }

  void Abort(const std::string& reason) override {
    // The call has a thread of its own: a daemon that does not answer must not hold the caller.
    std::call_once(abort_once_,
                   [&] { aborting_ = std::thread([this, reason] { TellAbort(reason); }); });
  }

 private:
  void TellAbort(const std::string& reason) {
    // The daemon agrees on the first reason with the other ranks and marks the ring; only where it
    // can't be told does the reason count for this rank alone.
    const absl::Status told =
        connection_->workload().AbortCommunicator(handle_, client::ReplaceBadUtf8(reason));
    if (told.ok()) return;
    ring_->Fail(absl::CancelledError(absl::StrCat(
        "aborted here: ", reason, " (telling the daemon failed: ", told.message(), ")")));
  }

  // What every rank gave to Split, by rank.
  absl::StatusOr<std::vector<client::SplitChoice>> ExchangeChoices(client::SplitChoice own) {
    if (own.color < kNoColor) {
      return absl::InvalidArgumentError(
          absl::StrCat("color ", own.color, ", expected 0 or more, or kNoColor"));
    }
    constexpr uint64_t kEach = 2;
    LocalNode node(connection_);
    auto buffer = node.Allocate(size_ * kEach * sizeof(int64_t));
    if (!buffer.ok()) return buffer.status();
    int64_t* values = (*buffer)->As<int64_t>();
    values[rank_ * kEach] = own.color;
    values[rank_ * kEach + 1] = own.key;
    auto work = AllGather({**buffer, rank_ * kEach * sizeof(int64_t)}, **buffer, kEach,
                          DataType::kInt64, Algorithm::kAuto);
    if (!work.ok()) return work.status();
    if (absl::Status status = work->Wait(); !status.ok()) return status;
    std::vector<client::SplitChoice> all(size_);
    for (int rank = 0; rank < size_; ++rank) {
      all[rank] = {static_cast<int>(values[rank * kEach]),
                   static_cast<int>(values[rank * kEach + 1])};
    }
    return all;
  }

  absl::StatusOr<std::unique_ptr<Communicator>> MakeChild(std::vector<uint32_t> members) {
    const auto own = std::find(members.begin(), members.end(), static_cast<uint32_t>(rank_));
    const int rank = static_cast<int>(own - members.begin());
    const int size = static_cast<int>(members.size());
    return Make(connection_, Rendezvous{}, rank, size, options_, {handle_, std::move(members)});
  }

  static Arguments Describe(Operation op, uint64_t count, DataType type, Algorithm algorithm) {
    Arguments a;
    a.op = op;
    a.count = count;
    a.dtype = type;
    a.algorithm = algorithm;
    return a;
  }

  absl::StatusOr<Place> Locate(const BufferRef& ref) const {
    const auto* buffer = dynamic_cast<const LocalBuffer*>(ref.buffer);
    if (buffer == nullptr || buffer->connection() != connection_.get()) {
      return absl::InvalidArgumentError("the buffer was not allocated by this communicator's node");
    }
    return Place{buffer->id(), buffer->size(), ref.offset};
  }

  absl::StatusOr<Work> Submit(Arguments arguments, const BufferRef* input,
                              const BufferRef* output) {
    if (input != nullptr) {
      auto place = Locate(*input);
      if (!place.ok()) return place.status();
      arguments.input = *place;
    }
    if (output != nullptr) {
      auto place = Locate(*output);
      if (!place.ok()) return place.status();
      arguments.output = *place;
    }
    auto entry = client::BuildEntry(arguments, rank_, size_);
    if (!entry.ok()) return entry.status();
    const bool counts = !arguments.counts.empty();
    auto id = counts ? SubmitWithCounts(*entry, arguments) : ring_->Submit(*entry);
    if (!id.ok()) return id.status();
    return Work(ring_, *id);
  }

  absl::StatusOr<uint64_t> SubmitWithCounts(v1::SubmitEntry entry, const Arguments& arguments) {
    return counts_.Submit(
        arguments.counts, arguments.receive_counts,
        [this](uint64_t bytes) { return LocalNode(connection_).Allocate(bytes); },
        [this](uint64_t id) { return ring_->Done(id); },
        [&](Place place) {
          entry.counts_buffer = place.id;
          entry.counts_offset = place.offset;
          return ring_->Submit(entry);
        });
  }

  const std::shared_ptr<Connection> connection_;
  const std::shared_ptr<Work::Impl> ring_;
  const uint64_t handle_;
  const int rank_;
  const int size_;
  const CommunicatorOptions options_;
  client::CountsArea counts_;
  std::once_flag abort_once_;
  std::thread aborting_;  // started once, under abort_once_
};

absl::StatusOr<std::unique_ptr<Communicator>> LocalCommunicator::Make(
    const std::shared_ptr<Connection>& connection, const Rendezvous& rendezvous, int rank, int size,
    const CommunicatorOptions& options, const client::Lineage& lineage) {
  auto handle = connection->workload().CreateCommunicator(rendezvous, rank, size, options, lineage);
  if (!handle.ok()) return handle.status();
  auto open = [&]() -> absl::StatusOr<std::shared_ptr<Work::Impl>> {
    auto memory = connection->memory().Fetch(v1::MemoryRequestKind::kRing, *handle);
    if (!memory.ok()) return memory.status();
    auto mapping = Mapping::Map(memory->fd, memory->size);
    if (!mapping.ok()) return mapping.status();
    return Ring::Open(*std::move(mapping), rank, size, connection->memory().wake_fd());
  };
  auto ring = open();
  if (!ring.ok()) {
    connection->workload().DestroyCommunicator(*handle).IgnoreError();
    return ring.status();
  }
  connection->Watch(*ring);
  return std::make_unique<LocalCommunicator>(connection, *std::move(ring), *handle, rank, size,
                                             options);
}

}  // namespace

absl::StatusOr<Work> Communicator::AllReduce(BufferRef buffer, uint64_t count, DataType type,
                                             ReduceOp op, Algorithm algorithm) {
  return AllReduce(buffer, buffer, count, type, op, algorithm);
}

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Create(
    Node& node, const Rendezvous& rendezvous, int rank, int size,
    const CommunicatorOptions& options) {
  auto* local = dynamic_cast<LocalNode*>(&node);
  if (local == nullptr) return absl::InvalidArgumentError("the node is not from Node::Connect");
  if (auto s = Check(rendezvous, rank, size, options); !s.ok()) return s;
  return LocalCommunicator::Make(local->connection(), rendezvous, rank, size, options, {});
}

}  // namespace caravan
