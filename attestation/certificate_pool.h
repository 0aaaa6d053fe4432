// SPDX-License-Identifier: Apache-2.0
//
// Every certificate at hand, none of them trusted yet.
#ifndef CARAVAN_ATTESTATION_CERTIFICATE_POOL_H_
#define CARAVAN_ATTESTATION_CERTIFICATE_POOL_H_

#include <string>
#include <vector>

#include "attestation/check_list.h"
#include "attestation/evidence.h"
#include "attestation/x509.h"

namespace caravan::attestation {

class CertificatePool {
 public:
  // `id` of the checks: "SNP" gives SNP_CERTIFICATE_FORM.
  CertificatePool(std::string id, CheckList* checks);

  // One that is malformed fails a check when the peer sent it, and warns otherwise.
  void Add(const std::string& der, const std::string& where, bool from_peer);
  // The evidence's, of which there may be kMaxCertificates, then the endorsements'.
  void AddAll(const Evidence& evidence, const Endorsements& endorsements);
  // A check that fails, about certificates that are none.
  void Refuse(std::string detail);

  const std::vector<Certificate>& certificates() const { return certificates_; }

 private:
  const std::string id_;
  CheckList& checks_;
  std::vector<Certificate> certificates_;
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_CERTIFICATE_POOL_H_
