// SPDX-License-Identifier: Apache-2.0
//
// Inspection by maker, and the certificates that it is made with.
#ifndef CARAVAN_ATTESTATION_COLLATERAL_INSPECT_MAKER_H_
#define CARAVAN_ATTESTATION_COLLATERAL_INSPECT_MAKER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attestation/collateral/inspect.h"
#include "attestation/x509.h"

namespace caravan::attestation {

class SignerPool {
 public:
  // An item's issuer chain (PEM) first, then `issuers` (DER); what cannot be read is left out.
  // `extra_roots` outlives the pool.
  SignerPool(const std::string& issuer_chain, const std::vector<std::string>& issuers,
             const std::vector<std::string>& extra_roots);

  // A pool of these PEM certificates alone, with the same extra roots.
  SignerPool WithChain(const std::string& pem) const { return SignerPool(pem, {}, extra_roots_); }
  // A pool of these DER certificates as the chain, then this pool's.
  SignerPool With(const std::vector<std::string>& chain) const;

  using IsMakersRoot = std::function<bool(const std::string& spki_sha256)>;

  // The certificates above `child`, its issuer first, the root last. Unauthenticated when
  // signatures lead to no root that is the maker's or an extra one.
  absl::StatusOr<std::vector<Certificate>> Climb(const Certificate& child, SignatureSuite suite,
                                                 const IsMakersRoot& is_makers) const;
  // Whether the self-issued certificate is such a root.
  bool IsRoot(const Certificate& certificate, const IsMakersRoot& is_makers) const;

  const std::vector<Certificate>& certificates() const { return certificates_; }
  size_t chain_size() const { return chain_size_; }  // of certificates() that came with the item
  absl::Time chain_end() const;  // when the first of those ends; the far future without any

 private:
  std::vector<Certificate> certificates_;
  size_t chain_size_ = 0;
  const std::vector<std::string>& extra_roots_;
};

// Any error's message says what is wrong with the item.
absl::StatusOr<CollateralFacts> InspectAmd(const CollateralRequest& request,
                                           const CollateralItem& item, const SignerPool& signers);
absl::StatusOr<CollateralFacts> InspectIntel(const CollateralRequest& request,
                                             const CollateralItem& item, const SignerPool& signers);

absl::StatusOr<CollateralFacts> InspectNvidia(const CollateralRequest& request,
                                              const CollateralItem& item,
                                              const SignerPool& signers);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_COLLATERAL_INSPECT_MAKER_H_
