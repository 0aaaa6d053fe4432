// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/submissions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::engine {

absl::StatusOr<Submissions> Submissions::Create(const GroupConfig& config) {
  const collective::Islands islands{config.size, static_cast<int>(config.local.size())};
  Submissions submissions;
  submissions.selector_ = std::make_shared<const collective::SelectorTable>(config.selector);
  for (int k = 0; k < islands.local; ++k) {
    const LocalRank& local = config.local[k];
    const auto rank = static_cast<uint16_t>(config.rank * islands.local + k);
    auto ring = Ring::Create(local.ring, rank, static_cast<uint16_t>(islands.ranks()));
    if (!ring.ok()) return ring.status();
    submissions.buffers_.push_back(local.buffers);
    IntakeRules rules;
    rules.rank = rank;
    rules.islands = islands;
    rules.chunk_log2 = config.chunk_log2;
    rules.selector = submissions.selector_.get();
    rules.buffers = local.buffers.get();
    submissions.sources_.push_back({*std::move(ring), rules, local.left});
  }
  return submissions;
}

absl::Status Submissions::TakeFrom(Source& source, int64_t now_ns, bool* moved) {
  if (source.waiting.has_value()) return absl::OkStatus();
  v1::SubmitEntry entry;
  auto taken = source.ring.Take(&entry);
  if (taken.ok() && !*taken) return absl::OkStatus();
  *moved = true;
  if (!taken.ok()) return taken.status();
  auto submission = CheckEntry(entry, source.rules);
  if (!submission.ok()) return submission.status();
  source.waiting = *std::move(submission);
  waiting_since_ns_ = std::min(waiting_since_ns_, now_ns);
  return absl::OkStatus();
}

absl::Status Submissions::CheckLeft() const {
  if (waiting_since_ns_ == INT64_MAX) return absl::OkStatus();
  for (const Source& source : sources_) {
    if (source.waiting.has_value() || source.left == nullptr || !source.left->load()) continue;
    return absl::CancelledError(
        absl::StrCat("rank ", source.rules.rank, " has left the communicator [RANK_LEFT]"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Submission>> Submissions::Next(int64_t now_ns, bool* moved) {
  bool complete = true;
  for (Source& source : sources_) {
    if (absl::Status status = TakeFrom(source, now_ns, moved); !status.ok()) return status;
    complete &= source.waiting.has_value();
  }
  if (!complete) {
    if (absl::Status status = CheckLeft(); !status.ok()) return status;
    return std::optional<Submission>();
  }
  waiting_since_ns_ = INT64_MAX;
  Source& first = sources_.front();
  Submission all = *std::move(first.waiting);
  first.waiting.reset();
  for (size_t k = 1; k < sources_.size(); ++k) {
    Submission one = *std::move(sources_[k].waiting);
    sources_[k].waiting.reset();
    absl::Status alike =
        collective::CheckAlike(all.spec(), first.rules.rank, one.spec(), sources_[k].rules.rank);
    if (!alike.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(alike.message(), " as operation ", all.id, " [OPERATION_MISMATCH]"));
    }
    all.parts.push_back(std::move(one.parts.front()));
  }
  return std::optional<Submission>(std::move(all));
}

bool Submissions::HasWork() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const Source& source) {
    return !source.waiting.has_value() && source.ring.HasWork();
  });
}

void Submissions::SetSleeping(bool sleeping) {
  for (Source& source : sources_) source.ring.SetSleeping(sleeping);
}

std::string Submissions::DescribeWaiting() const {
  const Source* here = nullptr;
  const Source* missing = nullptr;
  for (const Source& source : sources_) {
    (source.waiting.has_value() ? here : missing) = &source;
  }
  if (here == nullptr || missing == nullptr) return "no local rank waits for another";
  return absl::StrCat("rank ", missing->rules.rank, " has not called what rank ", here->rules.rank,
                      " called: ", here->waiting->spec().Describe());
}

void Submissions::Complete(uint64_t id, absl::StatusCode code) {
  for (Source& source : sources_) source.ring.Complete(id, code);
}

void Submissions::Publish() {
  for (Source& source : sources_) source.ring.Publish();
}

void Submissions::MarkFailed(const absl::Status& reason) {
  for (Source& source : sources_) {
    source.ring.MarkFailed(reason);
    source.waiting.reset();
  }
  waiting_since_ns_ = INT64_MAX;
}

bool Submissions::CompleteAll(absl::StatusCode code) {
  bool moved = false;
  for (Source& source : sources_) {
    bool here = false;
    while (source.ring.completed() < source.ring.taken() || source.ring.Skip()) {
      source.ring.Complete(source.ring.completed(), code);
      here = true;
    }
    if (here) source.ring.Publish();
    moved |= here;
  }
  return moved;
}

bool Submissions::CanSkip() const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const Source& source) { return source.ring.CanSkip(); });
}

}  // namespace caravan::engine
