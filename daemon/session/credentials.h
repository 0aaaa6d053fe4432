// SPDX-License-Identifier: Apache-2.0
//
// What a node shows to its peers and judges them by, and the place where a manager keeps the
// current ones.
#ifndef CARAVAN_DAEMON_SESSION_CREDENTIALS_H_
#define CARAVAN_DAEMON_SESSION_CREDENTIALS_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "attestation/attester.h"
#include "crypto/secret_bytes.h"

namespace caravan::session {

// Immutable once it is shared: what changes is made anew and swapped whole.
struct Credentials {
  std::shared_ptr<attestation::Attester> attester;
  std::shared_ptr<const attestation::Appraiser> appraiser;
  crypto::SecretBytes psk;  // may be empty
  std::string offer;        // at most kMaxOfferSize bytes, given to each peer in Hello
};

// Thread-safe. Who took a pointer keeps those credentials until it lets go; a connection holds one
// for a round and no longer, so that both halves of a round, evidence and appraisal, agree.
class CredentialsHolder {
 public:
  explicit CredentialsHolder(std::shared_ptr<const Credentials> credentials)
      : credentials_(std::move(credentials)) {}

  std::shared_ptr<const Credentials> Get() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return credentials_;
  }
  void Set(std::shared_ptr<const Credentials> credentials) {
    std::lock_guard<std::mutex> lock(mutex_);
    // The old ones leave with the argument, after the lock: closing a TEE may take a while.
    credentials_.swap(credentials);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Credentials> credentials_;
};

}  // namespace caravan::session

#endif  // CARAVAN_DAEMON_SESSION_CREDENTIALS_H_
