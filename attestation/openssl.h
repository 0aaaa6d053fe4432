// SPDX-License-Identifier: Apache-2.0
//
// Owners of OpenSSL's objects.
#ifndef CARAVAN_ATTESTATION_OPENSSL_H_
#define CARAVAN_ATTESTATION_OPENSSL_H_

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>

namespace caravan::attestation {

template <auto kFree>
struct OpensslDelete {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using X509Ptr = std::unique_ptr<X509, OpensslDelete<X509_free>>;
using X509CrlPtr = std::unique_ptr<X509_CRL, OpensslDelete<X509_CRL_free>>;
using EvpPkeyPtr = std::unique_ptr<EVP_PKEY, OpensslDelete<EVP_PKEY_free>>;

// OpenSSL keeps a per-thread error queue that callers of other libraries would trip over.
class ClearErrors {
 public:
  ~ClearErrors() { ERR_clear_error(); }
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_OPENSSL_H_
