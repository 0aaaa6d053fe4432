// SPDX-License-Identifier: Apache-2.0
//
// Signatures over endorsements that held before. Makers' certificates, manifests and status answers
// stay the same from one piece of evidence to the next; what changes each time, a report's own
// signature, is never here.
#ifndef CARAVAN_ATTESTATION_KNOWN_SIGNATURES_H_
#define CARAVAN_ATTESTATION_KNOWN_SIGNATURES_H_

#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "crypto/hash.h"

namespace caravan::attestation {

// Safe for use by several threads; holds at most 2 * kGeneration digests of 32 bytes.
class KnownSignatures {
 public:
  static constexpr size_t kGeneration = 2048;

  // Whether `verify` holds of `signed_object` under a key, of which `key` is the SHA-256 of its
  // SubjectPublicKeyInfo: remembered where it held before, asked
  // otherwise. What does not hold is never remembered, and neither is anything but the signature:
  // names, times, purposes and revocation are the caller's to check each time.
  //
  // `signed_object` is everything that `verify` reads, with the signature and its algorithm; `kind`
  // keeps objects of different makes apart. Without `known`, asks.
  static bool Check(KnownSignatures* known, std::string_view kind, std::string_view signed_object,
                    const crypto::Sha256Digest& key, absl::FunctionRef<bool()> verify);

 private:
  bool Knows(const crypto::Sha256Digest& digest) const;
  void Remember(const crypto::Sha256Digest& digest);

  mutable absl::Mutex mutex_;
  // A full generation becomes the older one, which then is forgotten.
  absl::flat_hash_set<crypto::Sha256Digest> recent_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<crypto::Sha256Digest> older_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_KNOWN_SIGNATURES_H_
