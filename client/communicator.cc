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
#include "base/utf8.h"
#include "caravan/caravan.h"
#include "client/connection.h"
#include "client/counts_area.h"
#include "client/node.h"
#include "client/operation.h"
#include "client/ring.h"
#include "client/split.h"

namespace caravan {
namespace {

using client::Arguments;
using client::Connection;
using client::Mapping;
using client::Operation;
using client::Place;
using client::Ring;

absl::Status Check(const Rendezvous& rendezvous, int rank, int size,
                   const CommunicatorOptions& options) {
  auto invalid = [](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(what...));
  };
  if (rendezvous.name.empty() || rendezvous.name.size() > kMaxCommunicatorName) {
    return invalid("the communicator's name has ", rendezvous.name.size(), " bytes, expected 1 to ",
                   kMaxCommunicatorName);
  }
  if (size_t bad = base::FindBadUtf8(rendezvous.name); bad != absl::string_view::npos) {
    return invalid("the communicator's name is not UTF-8 at byte ", bad);
  }
  if (size_t bad = base::FindBadUtf8(rendezvous.root_address); bad != absl::string_view::npos) {
    return invalid("the rendezvous' root_address is not UTF-8 at byte ", bad);
  }
  if (size < 1 || size > kMaxRanks) {
    return invalid("size ", size, ", expected 1 to ", kMaxRanks);
  }
  if (rank < 0 || rank >= size) return invalid("rank ", rank, " is not a rank of ", size);
  if (options.chunk_log2 < kMinChunkLog2 || options.chunk_log2 > kMaxChunkLog2) {
    return invalid("chunk_log2 ", options.chunk_log2, ", expected ", kMinChunkLog2, " to ",
                   kMaxChunkLog2);
  }
  if (options.ranks_per_node < 1 || options.ranks_per_node > kMaxRanksPerNode ||
      size % options.ranks_per_node != 0) {
    return invalid("ranks_per_node ", options.ranks_per_node, ", expected 1 to ", kMaxRanksPerNode,
                   ", a divisor of the size ", size);
  }
  if (options.lanes < 0 || options.lanes > kMaxLanes) {
    return invalid("lanes ", options.lanes, ", expected 1 to ", kMaxLanes,
                   ", or 0 for the root's choice");
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

Arguments Describe(Operation op, uint64_t count, DataType type,
                   Algorithm algorithm = Algorithm::kAuto) {
  Arguments a;
  a.op = op;
  a.count = count;
  a.dtype = type;
  a.algorithm = algorithm;
  return a;
}

}  // namespace

class Communicator::Impl {
 public:
  Impl(std::shared_ptr<Connection> connection, std::shared_ptr<Work::Impl> ring, uint64_t handle,
       int rank, int size, const CommunicatorOptions& options)
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

  ~Impl() {
    if (aborting_.joinable()) aborting_.join();  // bounded by the node's time-out
    ring_->Fail(absl::CancelledError("the communicator was destroyed"));
    // Waits for the answer, so that the name is free for the next communicator.
    if (connection_->alive()) connection_->workload().DestroyCommunicator(handle_).IgnoreError();
  }

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Fills in the places and submits. A place that is left out has buffer id 0.
  absl::StatusOr<Work> Submit(Arguments arguments, const BufferRef& input,
                              const BufferRef& output) {
    auto in = Locate(input);
    if (!in.ok()) return in.status();
    auto out = Locate(output);
    if (!out.ok()) return out.status();
    arguments.input = *in;
    arguments.output = *out;
    auto entry = client::BuildEntry(arguments, rank_, size_);
    if (!entry.ok()) return entry.status();
    const bool counts = !arguments.counts.empty();
    auto id = counts ? SubmitWithCounts(*entry, arguments) : ring_->Submit(*entry);
    if (!id.ok()) return id.status();
    return Work(ring_, *id);
  }

  absl::StatusOr<std::unique_ptr<Communicator>> Split(int color, int key) {
    auto choices = ExchangeChoices({color, key});
    if (!choices.ok()) return choices.status();
    if (color == kNoColor) return nullptr;
    return MakeChild(client::SplitMembers(*choices, color));
  }

  absl::StatusOr<std::unique_ptr<Communicator>> Shrink(absl::Span<const int> excluded) {
    auto members = client::ShrinkMembers(size_, rank_, excluded);
    if (!members.ok()) return members.status();
    return MakeChild(*std::move(members));
  }

  absl::Status AsyncError() const { return ring_->Failure(); }

  void Abort(const std::string& reason) {
    // The call has a thread of its own: a daemon that does not answer must not hold the caller.
    std::call_once(abort_once_,
                   [&] { aborting_ = std::thread([this, reason] { TellAbort(reason); }); });
  }

 private:
  void TellAbort(const std::string& reason) {
    // The daemon agrees on the first reason with the other ranks and marks the ring; only where it
    // can't be told does the reason count for this rank alone.
    const absl::Status told =
        connection_->workload().AbortCommunicator(handle_, base::ReplaceBadUtf8(reason));
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
    auto buffer = client::AllocateBuffer(connection_, size_ * kEach * sizeof(int64_t));
    if (!buffer.ok()) return buffer.status();
    int64_t* values = (*buffer)->As<int64_t>();
    values[rank_ * kEach] = own.color;
    values[rank_ * kEach + 1] = own.key;
    Arguments gather = Describe(Operation::kAllGather, kEach, DataType::kInt64);
    auto work = Submit(gather, {**buffer, rank_ * kEach * sizeof(int64_t)}, **buffer);
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

  absl::StatusOr<Place> Locate(const BufferRef& ref) const {
    if (ref.buffer == nullptr) return Place{};
    const Buffer::Impl& buffer = ref.buffer->impl();
    if (buffer.connection() != connection_.get()) {
      return absl::InvalidArgumentError("the buffer was not allocated by this communicator's node");
    }
    return Place{buffer.id(), buffer.size(), ref.offset};
  }

  absl::StatusOr<uint64_t> SubmitWithCounts(v1::SubmitEntry entry, const Arguments& arguments) {
    return counts_.Submit(
        arguments.counts, arguments.receive_counts,
        [this](uint64_t bytes) { return client::AllocateBuffer(connection_, bytes); },
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

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Impl::Make(
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
  return std::make_unique<Communicator>(
      std::make_unique<Impl>(connection, *std::move(ring), *handle, rank, size, options));
}

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Create(
    Node& node, const Rendezvous& rendezvous, int rank, int size,
    const CommunicatorOptions& options) {
  if (auto s = Check(rendezvous, rank, size, options); !s.ok()) return s;
  return Impl::Make(node.impl().connection(), rendezvous, rank, size, options, {});
}

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::~Communicator() = default;
int Communicator::rank() const { return impl_->rank(); }
int Communicator::size() const { return impl_->size(); }

absl::StatusOr<Work> Communicator::AllReduce(const AllReduceOptions& o) {
  Arguments a = Describe(Operation::kAllReduce, o.count, o.type, o.algorithm);
  a.reduce = o.op;
  return impl_->Submit(a, o.input, o.output.buffer == nullptr ? o.input : o.output);
}
absl::StatusOr<Work> Communicator::AllGather(const AllGatherOptions& o) {
  return impl_->Submit(Describe(Operation::kAllGather, o.count, o.type, o.algorithm), o.input,
                       o.output);
}
absl::StatusOr<Work> Communicator::ReduceScatter(const ReduceScatterOptions& o) {
  Arguments a = Describe(Operation::kReduceScatter, o.count, o.type, o.algorithm);
  a.reduce = o.op;
  return impl_->Submit(a, o.input, o.output);
}
absl::StatusOr<Work> Communicator::Broadcast(const BroadcastOptions& o) {
  Arguments a = Describe(Operation::kBroadcast, o.count, o.type, o.algorithm);
  a.root = o.root;
  return impl_->Submit(a, o.input, o.output);
}
absl::StatusOr<Work> Communicator::Reduce(const ReduceOptions& o) {
  Arguments a = Describe(Operation::kReduce, o.count, o.type, o.algorithm);
  a.reduce = o.op;
  a.root = o.root;
  return impl_->Submit(a, o.input, o.output);
}
absl::StatusOr<Work> Communicator::Gather(const GatherOptions& o) {
  Arguments a = Describe(Operation::kGather, o.count, o.type);
  a.root = o.root;
  return impl_->Submit(a, o.input, o.output);
}
absl::StatusOr<Work> Communicator::Scatter(const ScatterOptions& o) {
  Arguments a = Describe(Operation::kScatter, o.count, o.type);
  a.root = o.root;
  return impl_->Submit(a, o.input, o.output);
}
absl::StatusOr<Work> Communicator::AllToAll(const AllToAllOptions& o) {
  return impl_->Submit(Describe(Operation::kAllToAll, o.count, o.type, o.algorithm), o.input,
                       o.output);
}
absl::StatusOr<Work> Communicator::AllGatherV(const AllGatherVOptions& o) {
  Arguments a = Describe(Operation::kAllGatherV, 0, o.type, o.algorithm);
  a.counts = o.counts;
  return impl_->Submit(a, o.input, o.output);
}
absl::StatusOr<Work> Communicator::AllToAllV(const AllToAllVOptions& o) {
  Arguments a = Describe(Operation::kAllToAllV, 0, o.type);
  a.counts = o.send_counts;
  a.receive_counts = o.receive_counts;
  return impl_->Submit(a, o.input, o.output);
}
absl::StatusOr<Work> Communicator::Send(const SendOptions& o) {
  Arguments a = Describe(Operation::kSend, o.count, o.type);
  a.peer = o.peer;
  return impl_->Submit(a, o.input, {});
}
absl::StatusOr<Work> Communicator::Recv(const RecvOptions& o) {
  Arguments a = Describe(Operation::kRecv, o.count, o.type);
  a.peer = o.peer;
  return impl_->Submit(a, {}, o.output);
}
absl::StatusOr<Work> Communicator::Barrier() { return impl_->Submit(Arguments{}, {}, {}); }

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Split(int color, int key) {
  return impl_->Split(color, key);
}
absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Shrink(absl::Span<const int> excluded) {
  return impl_->Shrink(excluded);
}
absl::Status Communicator::AsyncError() const { return impl_->AsyncError(); }
void Communicator::Abort(const std::string& reason) { impl_->Abort(reason); }

}  // namespace caravan
