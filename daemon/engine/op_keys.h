// SPDX-License-Identifier: Apache-2.0
//
// The keys of a group, and the record ciphers of one operation.
#ifndef CARAVAN_DAEMON_ENGINE_OP_KEYS_H_
#define CARAVAN_DAEMON_ENGINE_OP_KEYS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "crypto/record.h"
#include "crypto/secret_bytes.h"
#include "daemon/engine/program.h"

namespace caravan::engine {

// The parents that this rank holds in one epoch.
struct GroupKeys {
  struct PeerParents {
    crypto::SecretBytes pair_out;
    crypto::SecretBytes pair_in;
    crypto::SecretBytes sender;
  };

  crypto::RecordCipherFactory* factory = nullptr;
  crypto::EpochId epoch{};
  crypto::Suite suite = crypto::Suite::kAes256Gcm;
  int chunk_log2 = 17;
  uint16_t rank = 0;
  crypto::SecretBytes sender;
  std::vector<PeerParents> peers;  // by rank

  // The cipher of one op key. NotFound when this rank holds no such parent.
  absl::StatusOr<std::unique_ptr<crypto::RecordCipher>> Derive(const KeySlot& slot, uint8_t op,
                                                               uint64_t sequence) const;
  void Wipe();
};

// Ciphers of one operation by key slot. A cipher is made once, ahead of use or at first use, and
// wiped after its last planned record: none is ever made twice, so its ledger sees every nonce.
class OpKeys {
 public:
  void Reset(const GroupKeys* keys, const Program* program, uint8_t op, uint64_t sequence);
  absl::StatusOr<crypto::RecordCipher*> Get(uint32_t slot);
  // One planned record of `slot` is done.
  void Used(uint32_t slot);
  // Makes one more cipher ahead of use. False when nothing is left to make.
  bool DeriveAhead();
  void Wipe();

 private:
  struct Entry {
    std::unique_ptr<crypto::RecordCipher> cipher;
    uint32_t uses_left = 0;
  };

  const GroupKeys* keys_ = nullptr;
  const Program* program_ = nullptr;
  uint8_t op_ = 0;
  uint64_t sequence_ = 0;
  uint32_t next_ahead_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace caravan::engine

#endif  // CARAVAN_DAEMON_ENGINE_OP_KEYS_H_
