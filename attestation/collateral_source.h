// SPDX-License-Identifier: Apache-2.0
//
// The seam between verifiers, which are pure, and whoever fetches and keeps what they need. A
// request says what is wanted, never where it is.
#ifndef CARAVAN_ATTESTATION_COLLATERAL_SOURCE_H_
#define CARAVAN_ATTESTATION_COLLATERAL_SOURCE_H_

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace caravan::attestation {

enum class CollateralKind {
  kAmdVcek,       // key "Milan/<hwid>?blSPL=…": DER; "Milan,Genoa/…" where either may be right
  kAmdChain,      // key "vcek/Milan" or "vlek/Milan": PEM, intermediate and root
  kAmdCrl,        // the same keys: DER, of the root
  kIntelTcbInfo,  // key "tdx/<fmspc>" or "sgx/<fmspc>": signed JSON
  kIntelQeIdentity,  // key "tdx" or "sgx": signed JSON
  kIntelPckCrl,      // key "platform" or "processor": DER, PEM or hexadecimal
  kIntelRootCrl,     // key "root": the same forms
  kNvidiaRim,        // key "NV_GPU_DRIVER_GH100_550.90.07": XML
  kOcsp,             // key: SHA-256 of the certificate that is asked about, hexadecimal: DER
};

std::string_view Name(CollateralKind kind);  // "amd-vcek", "tcb-info", …

struct CollateralRequest {
  CollateralKind kind = CollateralKind::kAmdVcek;
  std::string key;
  std::string post = {};  // kOcsp alone: the request that the key stands for, DER

  // What is posted may carry a nonce: it does not tell two requests apart.
  friend bool operator==(const CollateralRequest& a, const CollateralRequest& b) {
    return a.kind == b.kind && a.key == b.key;
  }
  std::string ToString() const;  // "tcb-info tdx/90c06f000000"
};

struct CollateralItem {
  std::string body;               // as ParseEndorsements takes it
  std::string issuer_chain = {};  // PEM that came beside the body; may be empty
  std::string url = {};           // where it came from
  absl::Time fetched = {};
  absl::Time expires = {};  // from the collateral itself
  std::string note = {};    // why this is not as fresh as was asked for; empty when it is
};

// Thread-safe.
class CollateralSource {
 public:
  virtual ~CollateralSource() = default;
  // The item, valid now. `issuers` are certificates at hand (DER), any of which may have signed it:
  // nothing is handed out that does not lead to a root that is known.
  // NotFound: there is none, anywhere or within reach. Unavailable, ResourceExhausted (asked too
  // often), DeadlineExceeded: it could not be fetched, and no valid copy is at hand.
  // Unauthenticated: what came is not what was asked for, or older than what was there.
  virtual absl::StatusOr<CollateralItem> Get(const CollateralRequest& request,
                                             const std::vector<std::string>& issuers,
                                             absl::Time deadline) = 0;
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_COLLATERAL_SOURCE_H_
