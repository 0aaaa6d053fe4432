// SPDX-License-Identifier: Apache-2.0
//
// What a node brings to a handshake: its measurement, its attester, its policy with endorsements,
// its pre-shared key. Read from the files that the configuration names.
#ifndef CARAVAN_DAEMON_CREDENTIALS_H_
#define CARAVAN_DAEMON_CREDENTIALS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/attester.h"
#include "crypto/hash.h"
#include "crypto/secret_bytes.h"
#include "proto/caravan/v1/config.pb.h"

namespace caravan {

struct NodeCredentials {
  std::unique_ptr<attestation::Attester> attester;
  std::unique_ptr<attestation::Appraiser> appraiser;
  crypto::SecretBytes psk;  // may be empty
  crypto::Sha384Digest measurement{};
  std::string policy_label;  // "prod@sha256:ab12…"
  bool insecure = false;     // own evidence is a software stand-in's
};

// SHA-384 of this process's executable.
absl::StatusOr<crypto::Sha384Digest> MeasureSelf();

// Loads all of it and opens the TEE. Every error names its file or device. NotFound,
// FailedPrecondition: this machine has no TEE of the kind that the configuration asks for.
absl::StatusOr<NodeCredentials> LoadCredentials(const v1::Config& config, absl::Time now);

}  // namespace caravan

#endif  // CARAVAN_DAEMON_CREDENTIALS_H_
