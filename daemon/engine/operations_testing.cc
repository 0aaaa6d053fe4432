// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/operations_testing.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "collective/cost/selector.h"
#include "collective/simulate/shapes_for_test.h"
#include "gtest/gtest.h"

namespace caravan::engine {
namespace {

using Op = collective::Operation;

// The entry of one rank, with its buffers allocated and its input filled.
v1::SubmitEntry Enter(CommunicatorForTest& comm, int rank, const collective::OperationSpec& spec,
                      const collective::Bytes& in, uint64_t out_bytes, bool in_place,
                      BufferForTest* output) {
  const int p = comm.size();
  const collective::InPlace shared = spec.InPlaceOffsets(rank);
  v1::SubmitEntry entry;
  BufferForTest input;
  if (in_place && shared.allowed && spec.op != Op::kSend && spec.op != Op::kRecv) {
    *output = input = comm.Allocate(
        rank, std::max<uint64_t>(shared.output + out_bytes, shared.input + in.size()));
    entry = EntryForTest(spec.op, spec.count, spec.dtype, input, *output, spec.reduce);
    entry.input_offset = shared.input;
    entry.output_offset = shared.output;
    output->data += entry.output_offset;
  } else {
    input = comm.Allocate(rank, in.size());
    *output = comm.Allocate(rank, out_bytes);
    entry = EntryForTest(spec.op, spec.count, spec.dtype, input, *output, spec.reduce);
  }
  if (collective::HasCounts(spec.op)) {
    const BufferForTest counts = comm.Allocate(rank, 2 * sizeof(uint64_t) * p);
    auto* to = reinterpret_cast<uint64_t*>(counts.data);
    to = std::copy(spec.counts.begin(), spec.counts.end(), to);
    std::copy(spec.receive_counts.begin(), spec.receive_counts.end(), to);
    entry.counts_buffer = counts.id;
  }
  if (!in.empty()) std::memcpy(input.data + entry.input_offset, in.data(), in.size());
  entry.root = spec.root;
  entry.peer = spec.peer;
  return entry;
}

}  // namespace

int OperationForTest::RankOf(size_t index, int size) const {
  return specs[0].op == Op::kSend && index == 1 ? size - 1 : static_cast<int>(index);
}

OperationForTest SubmitForTest(CommunicatorForTest& comm, collective::OperationSpec spec,
                               uint64_t seed, bool in_place) {
  const int p = comm.size();
  OperationForTest run;
  spec.chunk_log2 = comm.chunk_log2();
  run.what = absl::StrCat(spec.Describe(), " by algorithm ", static_cast<int>(spec.algorithm),
                          in_place ? " in place" : "");
  for (collective::OperationSpec own : collective::ViewsForTest(spec, p, seed * 1000)) {
    const int r = static_cast<int>(run.specs.size());
    if (spec.op == Op::kSend) {
      own.op = r == 0 ? Op::kSend : Op::kRecv;
      own.peer = static_cast<uint16_t>(r == 0 ? p - 1 : 0);
    }
    own.algorithm = collective::Select(own, p, collective::DefaultSelectorTable())->algorithm;
    run.inputs.push_back(
        collective::RandomNumbersForTest(spec.dtype, own.InputBytes(r, p), seed * 1000 + r));
    run.specs.push_back(std::move(own));
  }
  if (spec.op == Op::kSend) {
    // Only the ends of the transfer take part.
    run.specs = {run.specs.front(), run.specs.back()};
    run.inputs = {run.inputs.front(), run.inputs.back()};
    run.expected = {{}, run.inputs.front()};
  } else {
    run.expected = collective::ExpectedOutputsForTest(run.specs, run.inputs);
  }
  run.outputs.resize(run.specs.size());
  run.ids.resize(run.specs.size());
  for (size_t i = 0; i < run.specs.size(); ++i) {
    const int rank = run.RankOf(i, p);
    if (!comm.has_engine(rank)) continue;
    v1::SubmitEntry entry = Enter(comm, rank, run.specs[i], run.inputs[i], run.expected[i].size(),
                                  in_place, &run.outputs[i]);
    // As asked: the selector's own choice is part of what runs.
    entry.algorithm = static_cast<uint8_t>(spec.algorithm);
    run.ids[i] = comm.ring(rank).Submit(entry);
  }
  return run;
}

void CheckForTest(CommunicatorForTest& comm, const OperationForTest& run) {
  for (size_t i = 0; i < run.specs.size(); ++i) {
    const int rank = run.RankOf(i, comm.size());
    if (!comm.has_engine(rank)) continue;
    const absl::Status done = comm.ring(rank).Wait(run.ids[i]);
    ASSERT_TRUE(done.ok()) << run.what << ", rank " << rank << ": " << done << " "
                           << comm.WaitFault(rank, absl::ZeroDuration()).value_or(Fault{}).message;
    if (run.expected[i].empty()) continue;
    ASSERT_EQ(std::memcmp(run.outputs[i].data, run.expected[i].data(), run.expected[i].size()), 0)
        << run.what << ", rank " << rank;
  }
}

void CheckCountersForTest(CommunicatorForTest& comm) {
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (!comm.has_engine(rank)) continue;
    const GroupStatus status = comm.Status(rank);
    EXPECT_EQ(status.counted, status.expected) << "rank " << rank;
    EXPECT_TRUE(status.failure.ok());
    EXPECT_EQ(status.tag_failures, 0u);
    EXPECT_GT(status.operations, 0u);
  }
}

}  // namespace caravan::engine
