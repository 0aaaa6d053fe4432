// SPDX-License-Identifier: Apache-2.0
//
// The online certificate status protocol as bytes (RFC 6960): what a responder said about one
// certificate, at a given time, and what to ask it. No socket, no clock.
#ifndef CARAVAN_ATTESTATION_OCSP_H_
#define CARAVAN_ATTESTATION_OCSP_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "attestation/check_list.h"
#include "attestation/x509.h"

namespace caravan::attestation {

inline constexpr size_t kMaxOcspSize = 1 << 16;  // bytes of DER
inline constexpr size_t kMaxOcspNonce = 32;      // bytes (RFC 8954)

// From the most to the least that is known.
enum class OcspOutcome {
  kRevoked,  // signed; a stale answer counts too, as a revocation is for ever
  kHold,     // revoked with reason certificateHold, which may be lifted
  kGood,
  kUnknown,           // the responder does not know the certificate
  kStale,             // outside its time, of the future, or without the nonce that was asked
  kUntrusted,         // neither the issuer nor a responder that it appointed signed it
  kWrongCertificate,  // about others
  kNone,              // no answer: malformed, an error of the responder's, or none at hand
};

std::string_view Name(OcspOutcome outcome);  // "revoked", "certificate-hold", …

struct OcspFinding {
  OcspOutcome outcome = OcspOutcome::kNone;
  std::string detail;  // the shortfall, with times
  absl::Time this_update = absl::InfinitePast();
  absl::Time next_update = absl::InfinitePast();
};

struct OcspQuery {
  const Certificate& certificate;
  const Certificate& issuer;  // it issued the certificate, and its own chain was checked
  absl::Time now;
  std::optional<std::string> nonce = std::nullopt;  // that was sent; nothing for stored answers
  KnownSignatures* known = nullptr;                 // null: every signature is checked
};

// InvalidArgument unless `der` is one whole response; says nothing about what is in it.
absl::Status CheckOcspForm(std::string_view der);

// Signatures are ECDSA by a key on P-256 or P-384, over the bytes as they came. A responder that
// the issuer appointed is a certificate of the issuer's, within its time, with the purpose
// OCSPSigning, no CA, that the response holds.
OcspFinding ReadOcspResponse(std::string_view der, const OcspQuery& query);

// The finding that counts of several: a revocation; else the latest of those that hold; else the
// one that falls short by least.
OcspFinding FindOcspStatus(absl::Span<const std::string> responses, const OcspQuery& query);

struct OcspRule {
  std::string id;              // of the checks: "NVIDIA_GPU" gives NVIDIA_GPU_OCSP, _REVOKED, _HOLD
  bool tolerate_hold = false;  // a hold warns; it fails otherwise
  bool waived = false;         // the policy does without answers; a revocation at hand still counts
  std::string hint = {};       // where to get one
  KnownSignatures* known = nullptr;  // null: every signature is checked
};

// One after the other, `chain[i]` by answers of `chain[i + 1]`: leaf or CA first, root last, which
// has no issuer to ask. NVIDIA's responder knows no device's leaf: there, begin above it.
void CheckOcsp(const OcspRule& rule, absl::Span<const std::string> responses,
               absl::Span<const Certificate> chain, absl::Time now, CheckList* checks);

// DER of a request about one certificate, with certID over SHA-384 as NVIDIA's responder takes it.
// InvalidArgument for a nonce over kMaxOcspNonce.
absl::StatusOr<std::string> MakeOcspRequest(const Certificate& certificate,
                                            const Certificate& issuer,
                                            const std::optional<std::string>& nonce);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_OCSP_H_
