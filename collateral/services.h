// SPDX-License-Identifier: Apache-2.0
//
// Where the makers' services have what a request asks for. Sources: AMD 57230 (KDS), Intel PCS API
// version 4 and Intel's PCCS, NVIDIA's RIM service, RFC 6960 appendix A (OCSP over HTTP).
#ifndef CARAVAN_COLLATERAL_SERVICES_H_
#define CARAVAN_COLLATERAL_SERVICES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "attestation/collateral_source.h"
#include "http/http.h"

namespace caravan::collateral {

inline constexpr char kIntelPcs[] = "https://api.trustedservices.intel.com";

// Base addresses without a slash at the end, http:// or https://.
struct Services {
  std::string kds = "https://kdsintf.amd.com";
  std::string pcs = kIntelPcs;  // or a PCCS: "https://pccs.example:8081"
  // Where the CRL of Intel's root is; empty: Intel's own place, or the PCCS's where `pcs` is one.
  std::string root_crl = {};
  std::string rim = "https://rim.attestation.nvidia.com/v1/rim";
  std::string ocsp = "https://ocsp.ndis.nvidia.com";
  std::string ca_file = {};  // PEM; empty: the system's authorities
};

// InvalidArgument naming the address that is none.
absl::Status CheckServices(const Services& services);

struct Call {
  http::Request request;
  std::string chain_header;  // of the answer, lower case; empty: no chain comes with it
};

// In the order to try them: where more than one may be right, "not found" means "try the next".
std::vector<Call> CallsFor(const attestation::CollateralRequest& request, const Services& services);

}  // namespace caravan::collateral

#endif  // CARAVAN_COLLATERAL_SERVICES_H_
