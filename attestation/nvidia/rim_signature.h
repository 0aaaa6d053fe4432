// SPDX-License-Identifier: Apache-2.0
//
// XML Signature (W3C "XML Signature Syntax and Processing" 1.1) in the one form that NVIDIA's
// manifests have: enveloped, over the whole document, Canonical XML 1.1, ECDSA on P-384 with
// SHA-384, the signer's certificates beside it. Any other form is refused.
#ifndef CARAVAN_ATTESTATION_NVIDIA_RIM_SIGNATURE_H_
#define CARAVAN_ATTESTATION_NVIDIA_RIM_SIGNATURE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attestation/x509.h"

namespace caravan::attestation::nvidia {

inline constexpr size_t kMaxRimCertificates = 8;

class SignedDocument {
 public:
  // InvalidArgument naming what is malformed, over a limit (rim_xml.h), or of another form.
  static absl::StatusOr<SignedDocument> Parse(std::string_view xml);

  // The canonical bytes that the signature covers: all of the document that may ever be read. They
  // prove nothing before CheckSignedBy has passed.
  const std::string& content() const { return content_; }
  // DER, leaf first, as the document has them; the signature does not cover them.
  const std::vector<std::string>& certificates() const { return certificates_; }

  // Unauthenticated when content() is not what SignedInfo names, or the key of `signer` did not
  // sign SignedInfo.
  absl::Status CheckSignedBy(const Certificate& signer, KnownSignatures* known = nullptr) const;

 private:
  SignedDocument() = default;

  std::string content_, signed_info_;  // canonical
  std::string digest_, signature_;     // 48 bytes; r ‖ s, 96 bytes
  std::vector<std::string> certificates_;
};

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_RIM_SIGNATURE_H_
