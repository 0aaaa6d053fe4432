// SPDX-License-Identifier: Apache-2.0
#include "attestation/known_signatures.h"

#include <utility>

namespace caravan::attestation {
namespace {

// Every part is of fixed size or has its length before it.
crypto::Sha256Digest DigestOf(std::string_view kind, std::string_view signed_object,
                              const crypto::Sha256Digest& key) {
  const crypto::Sha256Digest object_digest = crypto::Sha256(crypto::AsBytes(signed_object));
  crypto::ByteWriter writer;
  writer.Prefixed(kind).Fixed(key).Fixed(object_digest);
  return crypto::Sha256(writer.span());
}

}  // namespace

bool KnownSignatures::Check(KnownSignatures* known, std::string_view kind,
                            std::string_view signed_object, const crypto::Sha256Digest& key,
                            absl::FunctionRef<bool()> verify) {
  if (known == nullptr) return verify();
  const crypto::Sha256Digest digest = DigestOf(kind, signed_object, key);
  if (known->Knows(digest)) return true;
  if (!verify()) return false;
  known->Remember(digest);
  return true;
}

bool KnownSignatures::Knows(const crypto::Sha256Digest& digest) const {
  const absl::MutexLock lock(&mutex_);
  return recent_.contains(digest) || older_.contains(digest);
}

void KnownSignatures::Remember(const crypto::Sha256Digest& digest) {
  const absl::MutexLock lock(&mutex_);
  if (recent_.size() == kGeneration) older_ = std::exchange(recent_, {});
  recent_.insert(digest);
}

}  // namespace caravan::attestation
