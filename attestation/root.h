// SPDX-License-Identifier: Apache-2.0
//
// The root of a maker's certificates: found by name and signature, believed by its key alone.
#ifndef CARAVAN_ATTESTATION_ROOT_H_
#define CARAVAN_ATTESTATION_ROOT_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/check_list.h"
#include "attestation/policy/policy.h"
#include "attestation/x509.h"

namespace caravan::attestation {

inline constexpr std::string_view kChainWhat = "the certificate chain leads to a pinned root";

struct RootRule {
  std::string
      id;  // of the checks: "SNP" gives SNP_CHAIN, SNP_ROOT, SNP_ROOT_INSECURE, SNP_INSECURE
  SignatureSuite suite = SignatureSuite::kSha384;
  std::string_view maker;  // "AMD"
  std::string chain_hint;  // where to get the chain
  // Whether this SHA-256 of a public key, in hexadecimal, is the maker's.
  std::function<bool(const std::string& spki_sha256)> is_makers;
  KnownSignatures* known = nullptr;  // null: every signature is checked
};

struct FoundRoot {
  std::optional<Certificate> certificate;  // nothing where a check failed
  bool insecure = false;  // its key is a software stand-in's, which the policy pins
};

// The root that issued `intermediate`, among `pool`. Several certificates may share its name, and
// the maker may issue another for the same key: the key decides. What is found, or why it is
// refused, becomes checks.
FoundRoot FindRoot(const RootRule& rule, const Certificate& intermediate,
                   const std::vector<Certificate>& pool, const Policy& policy, CheckList* checks);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_ROOT_H_
