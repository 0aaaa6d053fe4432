// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/tcb_status.h"

namespace caravan::attestation::intel {
namespace {

struct Row {
  TcbStatus status;
  std::string_view name;
  v1::IntelTcbStatus policy_name;
};
constexpr Row kRows[] = {
    {TcbStatus::kUpToDate, "UpToDate", v1::UP_TO_DATE},
    {TcbStatus::kSwHardeningNeeded, "SWHardeningNeeded", v1::SW_HARDENING_NEEDED},
    {TcbStatus::kConfigurationNeeded, "ConfigurationNeeded", v1::CONFIGURATION_NEEDED},
    {TcbStatus::kConfigurationAndSwHardeningNeeded, "ConfigurationAndSWHardeningNeeded",
     v1::CONFIGURATION_AND_SW_HARDENING_NEEDED},
    {TcbStatus::kOutOfDate, "OutOfDate", v1::OUT_OF_DATE},
    {TcbStatus::kOutOfDateConfigurationNeeded, "OutOfDateConfigurationNeeded",
     v1::OUT_OF_DATE_CONFIGURATION_NEEDED},
    {TcbStatus::kTdRelaunchAdvised, "TDRelaunchAdvised", v1::TD_RELAUNCH_ADVISED},
    {TcbStatus::kTdRelaunchAdvisedConfigurationNeeded, "TDRelaunchAdvisedConfigurationNeeded",
     v1::TD_RELAUNCH_ADVISED_CONFIGURATION_NEEDED},
    {TcbStatus::kRevoked, "Revoked", v1::INTEL_TCB_STATUS_UNSPECIFIED},
};

const Row& RowOf(TcbStatus status) {
  for (const Row& row : kRows) {
    if (row.status == status) return row;
  }
  return kRows[std::size(kRows) - 1];
}

bool NeedsConfiguration(TcbStatus status) {
  return status == TcbStatus::kConfigurationNeeded ||
         status == TcbStatus::kConfigurationAndSwHardeningNeeded ||
         status == TcbStatus::kOutOfDateConfigurationNeeded ||
         status == TcbStatus::kTdRelaunchAdvisedConfigurationNeeded;
}

bool NeedsSwHardening(TcbStatus status) {
  return status == TcbStatus::kSwHardeningNeeded ||
         status == TcbStatus::kConfigurationAndSwHardeningNeeded;
}

bool AdvisesRelaunch(TcbStatus status) {
  return status == TcbStatus::kTdRelaunchAdvised ||
         status == TcbStatus::kTdRelaunchAdvisedConfigurationNeeded;
}

}  // namespace

std::optional<TcbStatus> ParseTcbStatus(std::string_view text) {
  for (const Row& row : kRows) {
    if (row.name == text && !AdvisesRelaunch(row.status)) return row.status;
  }
  return std::nullopt;
}

std::string_view Name(TcbStatus status) { return RowOf(status).name; }

v1::IntelTcbStatus PolicyName(TcbStatus status) { return RowOf(status).policy_name; }

bool IsOutOfDate(TcbStatus status) {
  return status == TcbStatus::kOutOfDate || status == TcbStatus::kOutOfDateConfigurationNeeded;
}

TcbStatus Combine(TcbStatus a, TcbStatus b) {
  if (a == TcbStatus::kRevoked || b == TcbStatus::kRevoked) return TcbStatus::kRevoked;
  const bool configuration = NeedsConfiguration(a) || NeedsConfiguration(b);
  if (IsOutOfDate(a) || IsOutOfDate(b)) {
    return configuration ? TcbStatus::kOutOfDateConfigurationNeeded : TcbStatus::kOutOfDate;
  }
  if (AdvisesRelaunch(a) || AdvisesRelaunch(b)) {
    return configuration ? TcbStatus::kTdRelaunchAdvisedConfigurationNeeded
                         : TcbStatus::kTdRelaunchAdvised;
  }
  const bool hardening = NeedsSwHardening(a) || NeedsSwHardening(b);
  if (configuration) {
    return hardening ? TcbStatus::kConfigurationAndSwHardeningNeeded
                     : TcbStatus::kConfigurationNeeded;
  }
  return hardening ? TcbStatus::kSwHardeningNeeded : TcbStatus::kUpToDate;
}

TcbStatus CombineWithRelaunch(TcbStatus launch, TcbStatus current) {
  const bool behind = current == TcbStatus::kRevoked || IsOutOfDate(current);
  if (!IsOutOfDate(launch) || behind) return Combine(launch, current);
  return NeedsConfiguration(launch) || NeedsConfiguration(current)
             ? TcbStatus::kTdRelaunchAdvisedConfigurationNeeded
             : TcbStatus::kTdRelaunchAdvised;
}

}  // namespace caravan::attestation::intel
