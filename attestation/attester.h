// SPDX-License-Identifier: Apache-2.0
//
// The halves that a session needs: those that make evidence, of the CPU and of devices, and one
// that judges it.
#ifndef CARAVAN_ATTESTATION_ATTESTER_H_
#define CARAVAN_ATTESTATION_ATTESTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/appraisal.h"
#include "attestation/binder.h"
#include "attestation/evidence.h"
#include "crypto/hash.h"

namespace caravan::attestation {

// Thread-safe. May block for as long as the TEE takes (up to seconds).
class Attester {
 public:
  virtual ~Attester() = default;
  // Fresh evidence that carries `report_data`. Unavailable when the TEE is busy (try again).
  virtual absl::StatusOr<EvidenceSet> Collect(const ReportData& report_data) = 0;
  // Collects for a session, which is more than a CPU needs to know, and what devices beside it
  // need.
  virtual absl::StatusOr<EvidenceSet> CollectFor(const EvidenceRequest& request) {
    return Collect(request.report_data);
  }
  virtual std::string Describe() const = 0;  // "sev-snp", "insecure-software"
};

// This machine's devices, each with an identity of its own: GPUs. Thread-safe; may block as above.
class DeviceAttester {
 public:
  virtual ~DeviceAttester() = default;
  virtual size_t DeviceCount() const = 0;
  // Fresh evidence of device `index` that carries `nonce`. InvalidArgument when there is no such
  // device, Unavailable when it is busy (try again).
  virtual absl::StatusOr<Evidence> Collect(size_t index, const std::array<uint8_t, 32>& nonce) = 0;
  virtual std::string Describe() const = 0;  // "nvidia"
};

// Thread-safe, pure: a policy and its endorsements, applied to evidence at a given time.
class Appraiser {
 public:
  virtual ~Appraiser() = default;
  virtual Appraisal Appraise(const EvidenceSet& evidence, const ReportData& expected,
                             absl::Time now) const = 0;
  // Appraises for a session: devices beside the CPU can be verified by this function alone.
  virtual Appraisal AppraiseFor(const EvidenceSet& evidence, const EvidenceRequest& expected,
                                absl::Time now) const {
    return Appraise(evidence, expected.report_data, now);
  }
  // SHA-256 of the policy's canonical form: both ends put it into the binder.
  virtual crypto::Sha256Digest PolicyDigest() const = 0;
  virtual std::string PolicyName() const = 0;  // "prod"
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_ATTESTER_H_
