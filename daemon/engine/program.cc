// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/program.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "crypto/hash.h"
#include "crypto/nonce_ledger.h"

namespace caravan::engine {
namespace {

using collective::OperationSpec;
using collective::Step;
using collective::StepKind;

constexpr size_t kMaxPrograms = 32;
constexpr size_t kMaxCachedSteps = 1 << 20;

}  // namespace

void Program::AddSends(uint32_t index, std::vector<std::vector<uint32_t>>& order) {
  const Step& step = plan_->steps[index];
  StepInfo& info = info_[index];
  info.first_send = static_cast<uint32_t>(sends_.size());
  auto add = [&](uint32_t lane) {
    sends_.push_back({lane, static_cast<uint32_t>(order[lane].size())});
    order[lane].push_back(index);
    ++info.send_count;
  };
  if (step.kind == StepKind::kLocal) return add(local_lane());
  const uint32_t lane = step.chunk % lanes_per_peer_;
  for (uint32_t t = 0; t < step.target_count; ++t) {
    add(plan_->targets[step.first_target + t] * lanes_per_peer_ + lane);
  }
  if (step.kind == StepKind::kSeal) {
    if (step.target_count > 1) info.shared = shared_steps_++;
    return;
  }
  ++lanes_[ReceiveLane(step)].receives;
  if (collective::Plan::SendsOn(step)) info.forward = forward_steps_++;
}

absl::StatusOr<std::shared_ptr<const Program>> Program::Build(
    const std::vector<OperationSpec>& views, int node, const collective::Islands& islands,
    int lanes) {
  auto plan = collective::BuildIslandPlan(views, node, islands);
  if (!plan.ok()) return plan.status();
  std::shared_ptr<Program> program(new Program());
  program->plan_ = std::move(*plan);
  const std::vector<Step>& steps = program->plan_->steps;
  const crypto::Sha256Digest digest =
      crypto::Sha256(crypto::AsBytes(program->plan_->spec.Canonical()));
  std::copy_n(digest.begin(), 8, program->digest_.begin());
  program->lanes_per_peer_ = static_cast<uint32_t>(lanes);
  program->lanes_.resize(static_cast<size_t>(islands.nodes) * lanes + 1);
  program->info_.resize(steps.size());

  std::vector<std::vector<uint32_t>> order(program->lanes_.size());
  std::map<std::tuple<bool, uint16_t, uint16_t, uint16_t, uint32_t>, uint32_t> slots;
  std::map<std::tuple<uint16_t, uint16_t, uint16_t, uint32_t>, uint32_t> previous;
  std::set<std::tuple<uint16_t, uint16_t, uint16_t>> unordered;
  for (uint32_t i = 0; i < steps.size(); ++i) {
    program->AddSends(i, order);
    if (steps[i].kind == StepKind::kLocal) continue;
    StepInfo& info = program->info_[i];
    const collective::Stream& stream = program->plan_->StreamOf(steps[i]);
    info.chunk_count = stream.chunk_count;
    info.last = steps[i].chunk == stream.last_chunk;
    KeySlot key;
    key.seal = steps[i].kind == StepKind::kSeal;
    key.source = steps[i].source;
    key.destination = steps[i].destination;
    key.phase = steps[i].phase;
    key.superchunk = crypto::SuperchunkOf(steps[i].chunk, program->plan_->spec.chunk_log2);
    if (steps[i].kind != StepKind::kRelay) {
      auto [slot, added] =
          slots.try_emplace({key.seal, key.source, key.destination, key.phase, key.superchunk},
                            static_cast<uint32_t>(program->keys_.size()));
      if (added) program->keys_.push_back(key);
      ++program->keys_[slot->second].uses;
      info.key = slot->second;
    }
    if (key.seal) continue;
    auto [before, first] = previous.try_emplace(
        {key.source, key.destination, key.phase, program->ReceiveLane(steps[i])}, i);
    if (first) continue;
    info.previous = std::exchange(before->second, i);
    if (steps[i].chunk < steps[info.previous].chunk) {
      unordered.insert({key.source, key.destination, key.phase});
    }
  }
  for (uint32_t i = 0; i < steps.size(); ++i) {
    if (unordered.count({steps[i].source, steps[i].destination, steps[i].phase}) > 0) {
      program->info_[i].previous = kNone;
    }
  }
  for (size_t lane = 0; lane < order.size(); ++lane) {
    LaneList& list = program->lanes_[lane];
    list.first_item = static_cast<uint32_t>(program->item_step_.size());
    list.items = static_cast<uint32_t>(order[lane].size());
    list.first_word = program->words_;
    list.words = (list.items + 63) / 64;
    program->words_ += list.words;
    program->item_step_.insert(program->item_step_.end(), order[lane].begin(), order[lane].end());
  }
  return std::shared_ptr<const Program>(program);
}

absl::StatusOr<std::shared_ptr<const Program>> ProgramCache::Get(
    const std::vector<OperationSpec>& views) {
  for (size_t i = 0; i < recent_.size(); ++i) {
    const collective::Plan& plan = recent_[i]->plan();
    if (plan.spec != views.front() || (islands_.local > 1 && plan.views != views)) continue;
    std::rotate(recent_.begin(), recent_.begin() + i, recent_.begin() + i + 1);
    return recent_.front();
  }
  auto program = Program::Build(views, node_, islands_, lanes_);
  if (!program.ok()) return program.status();
  recent_.insert(recent_.begin(), *program);
  size_t steps = 0;
  for (size_t i = 0; i < recent_.size(); ++i) {
    steps += recent_[i]->plan().steps.size();
    if (i > 0 && (i >= kMaxPrograms || steps > kMaxCachedSteps)) {
      recent_.resize(i);
      break;
    }
  }
  return *program;
}

}  // namespace caravan::engine
