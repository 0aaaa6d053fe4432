// SPDX-License-Identifier: Apache-2.0
//
// The evidence backends that every attack is tried on.
#ifndef CARAVAN_TESTS_ADVERSARY_BACKENDS_H_
#define CARAVAN_TESTS_ADVERSARY_BACKENDS_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "attestation/attester.h"

namespace caravan::session {

struct Backend {
  std::unique_ptr<attestation::Attester> attester;  // any number of nodes may share it
  std::unique_ptr<attestation::Appraiser> appraiser;
  absl::Time now;
  std::string report_data_check;  // decisive when the report is bound to something else
};

enum class BackendKind { kFake, kInsecureSoftware, kInsecureTdx, kComposite };

Backend MakeBackend(BackendKind kind);
std::string Name(BackendKind kind);

}  // namespace caravan::session

#endif  // CARAVAN_TESTS_ADVERSARY_BACKENDS_H_
