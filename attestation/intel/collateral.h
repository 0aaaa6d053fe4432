// SPDX-License-Identifier: Apache-2.0
//
// What Intel says about platforms and quoting enclaves: TCB info (version 3; 2 for SGX) and enclave
// identity (version 2). Source: Intel PCS API v4, "Get TCB Info" and "Get Quote Enclave Identity".
#ifndef CARAVAN_ATTESTATION_INTEL_COLLATERAL_H_
#define CARAVAN_ATTESTATION_INTEL_COLLATERAL_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "attestation/intel/pck.h"
#include "attestation/intel/tcb_status.h"

namespace caravan::attestation::intel {

// What Intel says of one level, whatever it is a level of.
struct LevelRating {
  absl::Time date;
  TcbStatus status = TcbStatus::kRevoked;
  std::vector<std::string> advisories;  // "INTEL-SA-00837"
};

struct TcbLevel {
  Svns sgx{};
  uint16_t pce_svn = 0;
  Svns tdx{};                                        // zero in TCB info for SGX
  std::array<std::string, 16> sgx_names, tdx_names;  // "TDX Module", mostly empty
  LevelRating rating;
};

struct IsvSvnLevel {
  uint16_t isv_svn = 0;
  LevelRating rating;
};

struct TdxModule {
  std::string id;          // "TDX_01"; empty for the module that TCB info names without one
  std::string mr_signer;   // 48 bytes
  std::string attributes;  // 8 bytes
  std::string attributes_mask;
  std::vector<IsvSvnLevel> levels;
};

// Both documents hold from issue to the next update, inclusive.
struct Validity {
  absl::Time issue_date, next_update;
  uint32_t evaluation_number = 0;  // tcbEvaluationDataNumber
};

struct TcbInfo {
  bool tdx = false;  // id "TDX"; otherwise "SGX"
  Validity validity;
  std::string fmspc;               // 6 bytes
  std::string pce_id;              // 2 bytes
  TdxModule module;                // TDX alone
  std::vector<TdxModule> modules;  // TDX alone: identities by module version
  std::vector<TcbLevel> levels;    // from the highest down, as they came
};

struct EnclaveIdentity {
  std::string id;  // "QE", "TD_QE"
  Validity validity;
  std::string misc_select, misc_select_mask;  // 4 bytes, as in a report
  std::string attributes, attributes_mask;    // 16 bytes
  std::string mr_signer;                      // 32 bytes
  uint16_t isv_prod_id = 0;
  std::vector<IsvSvnLevel> levels;
};

// One of Intel's answers: {"tcbInfo":{…},"signature":"…"} or the same with "enclaveIdentity".
struct SignedDocument {
  std::string name;       // of the member that is signed
  std::string body;       // its exact bytes
  std::string signature;  // r ‖ s, 64 bytes
};

// NotFound when the text is JSON but neither of them; InvalidArgument when it is malformed.
absl::StatusOr<SignedDocument> ParseSignedDocument(std::string_view text);

// Parse a document's body. InvalidArgument naming the member: one that is missing, malformed, out
// of range, or a tcbStatus that is not known. Members with other names are left alone.
absl::StatusOr<TcbInfo> ParseTcbInfo(std::string_view body);
absl::StatusOr<EnclaveIdentity> ParseEnclaveIdentity(std::string_view body);

}  // namespace caravan::attestation::intel

#endif  // CARAVAN_ATTESTATION_INTEL_COLLATERAL_H_
