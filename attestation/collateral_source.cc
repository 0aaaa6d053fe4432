// SPDX-License-Identifier: Apache-2.0
#include "attestation/collateral_source.h"

#include "absl/strings/str_cat.h"

namespace caravan::attestation {

std::string_view Name(CollateralKind kind) {
  switch (kind) {
    case CollateralKind::kAmdVcek:
      return "amd-vcek";
    case CollateralKind::kAmdChain:
      return "amd-chain";
    case CollateralKind::kAmdCrl:
      return "amd-crl";
    case CollateralKind::kIntelTcbInfo:
      return "tcb-info";
    case CollateralKind::kIntelQeIdentity:
      return "qe-identity";
    case CollateralKind::kIntelPckCrl:
      return "pck-crl";
    case CollateralKind::kIntelRootCrl:
      return "intel-root-crl";
    case CollateralKind::kNvidiaRim:
      return "nvidia-rim";
    case CollateralKind::kOcsp:
      return "ocsp";
  }
  return "unknown";
}

std::string CollateralRequest::ToString() const {
  return absl::StrCat(std::string(Name(kind)), " ", key);
}

}  // namespace caravan::attestation
