// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/group.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/engine/group_config.h"

namespace caravan::engine {
namespace {

constexpr int kLocalStepsATurn = 4;
// Planning takes time that other communicators wait for.
constexpr int kSubmissionsATurn = 16;
constexpr size_t kSpareOperations = 16;  // kept for their memory

// About how many steps a plan has: each chunk of the whole vector is sealed, opened and copied.
// Between ranks of a node it is copied once more for each.
uint64_t ExpectedSteps(const collective::OperationSpec& spec, const collective::Islands& islands) {
  const uint64_t ranks = static_cast<uint64_t>(islands.ranks());
  const uint64_t chunks = (spec.WholeBytes(islands.ranks()) >> spec.chunk_log2) + ranks;
  return (2 + 2 * static_cast<uint64_t>(islands.local)) * chunks;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Group>> Group::Create(GroupConfig config,
                                                     const EngineOptions& options) {
  auto refuse = [&config](const absl::Status& why) {
    for (const LocalRank& local : config.local) {
      if (local.wake_fd >= 0) close(local.wake_fd);
    }
    return why;
  };
  if (auto s = CheckConfig(config); !s.ok()) return refuse(s);
  auto submissions = Submissions::Create(config);
  if (!submissions.ok()) return refuse(submissions.status());
  return std::unique_ptr<Group>(new Group(std::move(config), options, *std::move(submissions)));
}

Group::Group(GroupConfig config, const EngineOptions& options, Submissions submissions)
    : options_(options),
      state_(std::move(config), options),
      submissions_(std::move(submissions)),
      standstill_(state_, submissions_),
      sender_(state_),
      receiver_(state_),
      programs_(state_.config().rank, state_.islands(), static_cast<int>(state_.lanes_per_peer())) {
}

std::unique_ptr<Operation> Group::MakeOperation(std::shared_ptr<const Program> program,
                                                uint64_t sequence) {
  std::unique_ptr<Operation> operation;
  if (spare_.empty()) {
    operation = std::make_unique<Operation>();
  } else {
    operation = std::move(spare_.back());
    spare_.pop_back();
  }
  operation->Prepare(std::move(program), sequence, state_.keys());
  return operation;
}

bool Group::StartOperation(Submission submission) {
  views_.resize(submission.parts.size());
  for (size_t k = 0; k < views_.size(); ++k) views_[k] = submission.parts[k].spec;
  auto program = programs_.Get(views_);
  if (!program.ok()) {
    state_.Raise(program.status().code(), state_.config().rank, nullptr, 0, 0,
                 absl::StrCat("no plan for ", submission.spec().Describe(), ": ",
                              program.status().message()),
                 "PLAN");
    return false;
  }
  const collective::Plan& plan = (*program)->plan();
  const uint64_t sequence = state_.sequences().Take(submission.spec());
  std::unique_ptr<Operation> operation;
  if (Sequences::IsCollective(submission.spec())) {
    if (ahead_ != nullptr && ahead_->program == *program && ahead_->sequence == sequence) {
      operation = std::move(ahead_);
    } else if (ahead_ != nullptr) {
      ahead_->Finish();
      spare_.push_back(std::move(ahead_));
    }
    last_program_ = *program;
  }
  if (operation == nullptr) operation = MakeOperation(*program, sequence);
  // Like NCCL's stream: an operation sees the results of those submitted before it.
  uint64_t conflict = 0;
  for (uint64_t id = state_.window().begin(); id < state_.window().end(); ++id) {
    if (state_.window().Get(id)->Overlaps(submission)) conflict = id + 1;
  }
  state_.held().MakeRoomFor(plan.forward_slots());
  if (state_.window().empty()) state_.progress().OldestChanged();
  recent_.Add(sequence, submission.spec());
  operation->Bind(std::move(submission), conflict);
  state_.window().Push(std::move(operation));
  state_.progress().Changed();
  return true;
}

bool Group::HasRoomFor(const collective::OperationSpec& spec) const {
  if (state_.window().empty()) return true;
  uint64_t steps = ExpectedSteps(spec, state_.islands());
  for (uint64_t id = state_.window().begin(); id < state_.window().end(); ++id) {
    steps += state_.window().Get(id)->plan().steps.size();
  }
  return steps <= options_.max_outstanding_steps;
}

bool Group::TakeSubmissions() {
  bool moved = false;
  if (held_.has_value()) {
    if (!HasRoomFor(held_->spec())) return false;
    Submission submission = *std::move(held_);
    held_.reset();
    StartOperation(std::move(submission));
    moved = true;
  }
  for (int i = 0; i < kSubmissionsATurn && !state_.faulted(); ++i) {
    auto next = submissions_.Next(state_.progress().now_ns(), &moved);
    if (!next.ok()) {
      RaiseSubmission(next.status());
      return true;
    }
    if (!next->has_value()) break;
    if (!HasRoomFor((*next)->spec())) {
      held_ = **std::move(next);
      break;
    }
    StartOperation(**std::move(next));
  }
  return moved;
}

void Group::RaiseSubmission(const absl::Status& bad) {
  const size_t word = bad.message().rfind(" [");
  absl::string_view what = bad.message().substr(0, word);
  absl::string_view name = bad.message().substr(word + 2);
  name.remove_suffix(1);
  const bool own = name == "APPLICATION_RING" || name == "APPLICATION_BUFFER";
  const bool cancelled = absl::IsCancelled(bad);
  state_.Raise(
      cancelled ? bad.code() : absl::StatusCode::kInvalidArgument, state_.config().rank, nullptr, 0,
      0, own ? absl::StrCat("the application's submission ring: ", what) : std::string(what), name);
}

bool Group::ReleaseOperations() {
  bool moved = false;
  first_unreleased_ = std::max(first_unreleased_, state_.window().begin());
  for (uint64_t id = first_unreleased_; id < state_.window().end(); ++id) {
    Operation* operation = state_.window().Get(id);
    if (!operation->released && operation->waits_for <= state_.window().begin()) {
      operation->Release();
      state_.progress().Moved(operation->progress);
      moved = true;
    }
    if (operation->released && id == first_unreleased_) ++first_unreleased_;
  }
  return moved;
}

bool Group::RunLocalSteps() {
  int done = 0;
  for (uint64_t id = state_.window().begin(); id < state_.window().end(); ++id) {
    Operation& operation = *state_.window().Get(id);
    const uint32_t lane = operation.program->local_lane();
    if (operation.unqueued[lane] == 0) continue;
    while (done < kLocalStepsATurn) {
      const uint32_t index = operation.TakeReady(lane, [](uint32_t) { return true; });
      if (index == kNone) break;
      const collective::Step& step = operation.plan().steps[index];
      const uint8_t* read = operation.At(step.read, step.bytes);
      uint8_t* write = operation.At(step.write, step.bytes);
      if (step.reduce) {
        operation.Combine(step, read, write);
      } else if (read != write) {
        std::memcpy(write, read, step.bytes);
      }
      --operation.unqueued[lane];
      operation.Ran(index);
      state_.progress().Moved(operation.progress);
      ++done;
    }
    if (done == kLocalStepsATurn) break;
  }
  return done > 0;
}

bool Group::CompleteOperations() {
  bool moved = false;
  while (!state_.window().empty() && state_.window().oldest().Done()) {
    Operation& oldest = state_.window().oldest();
    if (oldest.progress.counted() != oldest.plan().counters) {
      state_.Raise(absl::StatusCode::kInternal, state_.config().rank, &oldest, 0, 0,
                   "what was counted differs from what the plan says", "COUNTERS");
      break;
    }
    state_.progress().CountCompleted(oldest.plan().counters);
    std::unique_ptr<Operation> done = state_.window().Pop();
    submissions_.Complete(done->submission.id, absl::StatusCode::kOk);
    done->Finish();
    if (spare_.size() < kSpareOperations) spare_.push_back(std::move(done));
    state_.progress().OldestChanged();
    moved = true;
  }
  if (moved) {
    submissions_.Publish();
    state_.progress().Changed();
  }
  return moved;
}

bool Group::Turn(int64_t now_ns) {
  state_.progress().BeginTurn(now_ns);
  if (!failure_.ok()) {
    return CompleteAllFailed();
  }
  if (state_.faulted()) return false;
  bool moved = TakeSubmissions();
  moved |= ReleaseOperations();
  if (!state_.faulted()) moved |= RunLocalSteps();
  const size_t lanes = state_.lanes().size();
  for (size_t i = 0; i < lanes && !state_.faulted(); ++i) {
    moved |= sender_.Pump(*state_.lanes()[(first_lane_ + i) % lanes]);
  }
  for (size_t i = 0; i < lanes && !state_.faulted(); ++i) {
    if (!receiver_.Turn(*state_.lanes()[(first_lane_ + i) % lanes])) continue;
    moved = true;
    // What was just reduced is still in cache: seal it before the next record comes.
    for (size_t k = 0; k < lanes && !state_.faulted(); ++k) sender_.Pump(*state_.lanes()[k]);
  }
  if (lanes > 0) first_lane_ = (first_lane_ + 1) % lanes;
  if (!state_.faulted()) moved |= CompleteOperations();
  if (!state_.faulted()) standstill_.Check();
  if (state_.faulted()) ReportFault();
  return moved;
}

bool Group::HasSubmissions() const {
  if (!failure_.ok()) return submissions_.CanSkip();
  return !state_.faulted() && !held_.has_value() && submissions_.HasWork();
}

bool Group::WorkAhead() {
  if (!failure_.ok() || state_.faulted()) return false;
  if (!state_.window().empty() && state_.window().oldest().keys.DeriveAhead()) {
    return true;
  }
  if (last_program_ == nullptr) return false;
  if (ahead_ == nullptr) {
    ahead_ = MakeOperation(last_program_, state_.sequences().next_collective());
    return true;
  }
  return ahead_->keys.DeriveAhead();
}

std::vector<int> Group::wake_fds() const {
  std::vector<int> fds;
  for (const LocalRank& local : state_.config().local) {
    if (local.wake_fd >= 0) fds.push_back(local.wake_fd);
  }
  return fds;
}

void Group::ReportFault() {
  if (std::exchange(reported_, true) || !state_.config().on_fault) return;
  state_.config().on_fault(state_.fault());
}

int64_t Group::deadline_ns() const {
  return state_.faulted() || !failure_.ok() ? INT64_MAX : standstill_.deadline_ns();
}

GroupStatus Group::Status() const {
  GroupStatus status;
  status.name = state_.config().name;
  status.epoch = state_.config().epoch;
  status.local = static_cast<uint16_t>(state_.islands().local);
  status.rank = static_cast<uint16_t>(state_.config().rank * state_.islands().local);
  status.size = static_cast<uint16_t>(state_.islands().ranks());
  status.suite = options_.ciphers->Describe(state_.config().suite);
  status.lanes = state_.lanes_per_peer();
  status.selector = state_.config().selector;
  status.operations = state_.progress().operations();
  status.expected = state_.progress().expected();
  status.counted = state_.progress().counted();
  status.tag_failures = state_.progress().tag_failures();
  status.memory_bytes = state_.memory_bytes();
  status.failure = failure_;
  return status;
}

absl::StatusOr<Wait> Group::DescribeWait(int64_t now_ns) {
  if (!failure_.ok()) return absl::FailedPreconditionError("the communicator has failed");
  if (state_.faulted() && state_.fault().code != absl::StatusCode::kDeadlineExceeded) {
    return absl::FailedPreconditionError("the communicator is about to fail");
  }
  return standstill_.Describe(now_ns);
}

bool Group::CompleteAllFailed() { return submissions_.CompleteAll(failure_.code()); }

void Group::Fail(const absl::Status& reason) {
  if (!failure_.ok()) return;
  failure_ = reason.ok() ? absl::CancelledError("the communicator was ended") : reason;
  state_.CloseLanes();
  submissions_.MarkFailed(failure_);
  held_.reset();
  while (!state_.window().empty()) state_.window().Pop()->Finish();
  CompleteAllFailed();
  ahead_.reset();
  last_program_.reset();
  spare_.clear();
  state_.WipeKeys();
}

}  // namespace caravan::engine
