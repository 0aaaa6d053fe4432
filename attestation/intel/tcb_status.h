// SPDX-License-Identifier: Apache-2.0
//
// Intel's ratings of a TCB (PCS API v4, tcbStatus) and how several become one.
#ifndef CARAVAN_ATTESTATION_INTEL_TCB_STATUS_H_
#define CARAVAN_ATTESTATION_INTEL_TCB_STATUS_H_

#include <optional>
#include <string_view>

#include "proto/caravan/v1/policy.pb.h"

namespace caravan::attestation::intel {

enum class TcbStatus {
  kUpToDate,
  kSwHardeningNeeded,
  kConfigurationNeeded,
  kConfigurationAndSwHardeningNeeded,
  kOutOfDate,
  kOutOfDateConfigurationNeeded,
  kTdRelaunchAdvised,
  kTdRelaunchAdvisedConfigurationNeeded,
  kRevoked,
};

// As Intel writes it: "UpToDate"; nullopt for any other text. Relaunch is never written: it follows
// from comparing a TD's two TCBs.
std::optional<TcbStatus> ParseTcbStatus(std::string_view text);
std::string_view Name(TcbStatus status);

// The rating of two components together: revoked outdoes all, out of date outdoes software
// hardening, and configuration stays beside either.
TcbStatus Combine(TcbStatus a, TcbStatus b);

// The rating of a TD that was launched under `launch` while the platform now stands at `current`:
// relaunch is advised where that alone would bring it up to date.
TcbStatus CombineWithRelaunch(TcbStatus launch, TcbStatus current);

bool IsOutOfDate(TcbStatus status);

// The name that a policy has for it; UNSPECIFIED for kRevoked, which no policy can name.
v1::IntelTcbStatus PolicyName(TcbStatus status);

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_TCB_STATUS_H_
