// SPDX-License-Identifier: Apache-2.0
#include "collective/plan/plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace caravan::collective {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

absl::StatusOr<uint32_t> Plan::FindReceive(uint16_t phase, uint16_t source, uint16_t destination,
                                           uint32_t chunk) const {
  const auto it = stream_index_.find(StreamKey(phase, source, destination));
  if (it != stream_index_.end() && chunk <= streams[it->second].last_chunk) {
    const uint32_t step = chunk_step_[stream_first_[it->second] + chunk];
    if (step != kNoStep && steps[step].kind != StepKind::kSeal) return step;
  }
  return absl::NotFoundError(absl::StrCat("no record of source ", source, ", destination ",
                                          destination, ", phase ", phase, ", chunk ", chunk,
                                          " belongs to ", spec.Describe(), " at rank ", rank));
}

const Stream& Plan::StreamOf(const Step& step) const {
  return streams[stream_index_.at(StreamKey(step.phase, step.source, step.destination))];
}

std::string Plan::Explain() const {
  std::string out =
      absl::StrFormat("%s on rank %d of %d by %s, chunks of %d KiB\n", spec.Describe(), rank, size,
                      View(Name(spec.algorithm)), 1 << (spec.chunk_log2 - 10));
  absl::StrAppendFormat(&out, "  rounds %u, crypto depth %u, %u steps, %u streams\n", rounds,
                        crypto_depth, steps.size(), streams.size());
  absl::StrAppendFormat(&out, "  sealed    %12u bytes in %u records\n", counters.sealed,
                        counters.records_sealed);
  absl::StrAppendFormat(&out, "  opened    %12u bytes in %u records\n", counters.opened,
                        counters.records_opened);
  absl::StrAppendFormat(&out, "  forwarded %12u bytes as they came\n", counters.forwarded);
  absl::StrAppendFormat(&out, "  sent      %12u bytes in %u records\n", counters.sent,
                        counters.records_sent);
  absl::StrAppendFormat(&out, "  received  %12u bytes\n", counters.received);
  absl::StrAppendFormat(&out, "  memory: %u bytes of scratch, %u forward slots\n", scratch_bytes,
                        forward_slots());
  return out;
}

}  // namespace caravan::collective
