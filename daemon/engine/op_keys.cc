// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/op_keys.h"

#include "absl/strings/str_cat.h"

namespace caravan::engine {
namespace {

// Ahead of use no operation holds more ciphers than this: key schedules are locked memory.
constexpr uint32_t kMaxAhead = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<crypto::RecordCipher>> GroupKeys::Derive(const KeySlot& slot,
                                                                        uint8_t op,
                                                                        uint64_t sequence) const {
  const uint16_t far_end = slot.seal ? slot.destination : slot.source;
  const crypto::SecretBytes* parent = nullptr;
  if (slot.destination == crypto::kEveryDestination) {
    if (slot.source == rank) {
      parent = &sender;
    } else if (slot.source < peers.size()) {
      parent = &peers[slot.source].sender;
    }
  } else if (far_end < peers.size()) {
    parent = slot.seal ? &peers[far_end].pair_out : &peers[far_end].pair_in;
  }
  if (parent == nullptr || parent->empty()) {
    return absl::NotFoundError(absl::StrCat("rank ", rank, " holds no key from rank ", slot.source,
                                            " to rank ", slot.destination));
  }
  crypto::OpKeyId id;
  id.suite = suite;
  id.op = op;
  id.source = slot.source;
  id.destination = slot.destination;
  id.sequence = sequence;
  id.phase = slot.phase;
  id.superchunk = slot.superchunk;
  return factory->Create(*parent, epoch, id, chunk_log2);
}

void GroupKeys::Wipe() {
  sender = crypto::SecretBytes();
  peers.clear();
}

void OpKeys::Reset(const GroupKeys* keys, const Program* program, uint8_t op, uint64_t sequence) {
  keys_ = keys;
  program_ = program;
  op_ = op;
  sequence_ = sequence;
  next_ahead_ = 0;
  entries_.clear();
  entries_.resize(program->keys().size());
  for (size_t i = 0; i < entries_.size(); ++i) entries_[i].uses_left = program->keys()[i].uses;
}

absl::StatusOr<crypto::RecordCipher*> OpKeys::Get(uint32_t slot) {
  Entry& entry = entries_[slot];
  if (entry.uses_left == 0) return absl::InternalError("an op key is asked for after its last use");
  if (entry.cipher == nullptr) {
    auto cipher = keys_->Derive(program_->keys()[slot], op_, sequence_);
    if (!cipher.ok()) return cipher.status();
    entry.cipher = std::move(*cipher);
  }
  return entry.cipher.get();
}

void OpKeys::Used(uint32_t slot) {
  Entry& entry = entries_[slot];
  if (--entry.uses_left == 0) entry.cipher.reset();
}

bool OpKeys::DeriveAhead() {
  while (next_ahead_ < entries_.size() && next_ahead_ < kMaxAhead) {
    const uint32_t slot = next_ahead_++;
    if (entries_[slot].uses_left == 0 || entries_[slot].cipher != nullptr) continue;
    // A failure shows again, and is reported, at first use.
    return Get(slot).ok();
  }
  return false;
}

void OpKeys::Wipe() { entries_.clear(); }

}  // namespace caravan::engine
