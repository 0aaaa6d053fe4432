// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/build_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "collective/algorithms/operations.h"
#include "collective/cost/selector.h"
#include "collective/plan/partition.h"
#include "collective/plan/plan_builder.h"

namespace caravan::collective {
namespace {

// A plan of this many chunks is about 300 MB of steps.
constexpr uint64_t kMaxChunks = uint64_t{1} << 20;
// An AllReduce has between three and four steps a chunk of its vector, and the vector is input and
// output: so much for each chunk of both. The others have fewer.
constexpr uint64_t kStepsPerChunk = 2;

// One rank alone: every operation is a copy, averages included.
absl::Status CopyAll(PlanBuilder& builder) {
  const Blocks vector = Blocks::Uniform(builder.spec(), 1);
  if (builder.spec().bytes() == 0) return absl::OkStatus();
  for (uint32_t c = 0; c < vector.max_chunks(); ++c) {
    const uint64_t offset = vector.Offset(0, c);
    builder.Local(vector.Bytes(0, c), {Place::kInput, offset}, {Place::kOutput, offset});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Plan>> BuildPlan(const OperationSpec& spec, int rank,
                                                      int size) {
  if (absl::Status status = spec.Validate(rank, size); !status.ok()) return status;
  if (spec.algorithm == Algorithm::kAuto) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.Describe(), ": the algorithm must be resolved before a plan is built"));
  }
  // Where somebody opens every rank's whole vector, it has a step for each of those chunks.
  const bool opens_all = spec.algorithm == Algorithm::kOneShot ||
                         (spec.op == Operation::kReduce && spec.algorithm == Algorithm::kDirect);
  const uint64_t opened = spec.WholeBytes(size) * (opens_all ? static_cast<uint64_t>(size) : 1);
  const uint64_t own_chunks =
      (spec.InputBytes(rank, size) + spec.OutputBytes(rank, size)) >> spec.chunk_log2;
  if (opened >> spec.chunk_log2 > kMaxChunks || own_chunks > 2 * kMaxChunks) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.Describe(), ": more than ", kMaxChunks,
                     " chunks: split the operation or use longer chunks"));
  }
  // Asked here too, so that one rank alone refuses what two would.
  const absl::Span<const Algorithm> known = AlgorithmsFor(spec.op);
  if (std::find(known.begin(), known.end(), spec.algorithm) == known.end()) {
    return DoesNotFit(spec);
  }
  PlanBuilder builder(spec, rank, size);
  builder.Reserve(kStepsPerChunk * own_chunks);
  const absl::Status status = size == 1 ? CopyAll(builder) : AddSteps(builder);
  if (!status.ok()) return status;
  return builder.Finish();
}

}  // namespace caravan::collective
