// SPDX-License-Identifier: Apache-2.0
//
// caravanctl verify -o ear: an appraisal as a signed token for other relying parties.
#ifndef CARAVAN_CLI_EAR_H_
#define CARAVAN_CLI_EAR_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/appraisal.h"
#include "attestation/ear.h"
#include "attestation/jws.h"

namespace caravan::cli {

struct EarFlags {
  std::string key;               // file: a private key in PEM; "": no token is asked for
  std::string nonce;             // hexadecimal, 8 to 64 bytes; "": none
  std::string profile = "ietf";  // or veraison
};

// What to sign with, read before anything is appraised.
struct EarSigner {
  attestation::JwsKey key;
  attestation::EarOptions options;
};

// nullopt when no token is asked for. InvalidArgument and the like name the flag or the file.
absl::StatusOr<std::optional<EarSigner>> ReadEarSigner(const EarFlags& flags);

// The token. Internal when signing fails.
absl::StatusOr<std::string> MakeEar(const EarSigner& signer,
                                    const attestation::Appraisal& appraisal,
                                    const std::string& policy_label, absl::Time appraised,
                                    absl::Time issued);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_EAR_H_
