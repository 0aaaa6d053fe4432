// SPDX-License-Identifier: Apache-2.0
//
// The bodies of Intel's TCB info and QE identity (Intel PCS API v4), right or wrong as the caller
// says; forge_intel.h signs them.
#ifndef CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_COLLATERAL_H_
#define CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_COLLATERAL_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace caravan::attestation::insecure_software {

// Component 1 of the SGX TCB, component 3 of the TDX TCB; every other component is zero.
struct TcbLevelSpec {
  int sgx, pce, tdx;
  std::string date, status;  // "2024-11-13", "UpToDate"
  std::vector<std::string> advisories = {};
};
struct SvnLevelSpec {
  int svn;
  std::string date, status;
  std::vector<std::string> advisories = {};
};

struct TcbInfoSpec {
  std::string id = "TDX";  // or "SGX"
  std::string fmspc, pce_id;
  int evaluation_number = 0;
  absl::Time issue_date, next_update;
  std::vector<TcbLevelSpec> levels;
  std::string module_id = "TDX_01";
  std::vector<SvnLevelSpec> module_levels;
};
std::string TcbInfoBody(const TcbInfoSpec& spec);

// The identity of a quoting enclave whose MRSIGNER is 32 times 0xDC.
struct QeIdentitySpec {
  std::string id = "TD_QE";  // or "QE"
  int evaluation_number = 0;
  absl::Time issue_date, next_update;
  std::vector<SvnLevelSpec> levels;
};
std::string QeIdentityBody(const QeIdentitySpec& spec);

// The report of that quoting enclave, at an SVN.
std::string QeReport(int svn);

}  // namespace caravan::attestation::insecure_software

#endif  // CARAVAN_ATTESTATION_INSECURE_SOFTWARE_FORGE_COLLATERAL_H_
