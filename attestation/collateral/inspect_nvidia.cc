// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "attestation/collateral/inspect_maker.h"
#include "attestation/nvidia/rim.h"
#include "attestation/nvidia/rim_signature.h"
#include "attestation/ocsp.h"
#include "attestation/policy/nvidia_roots.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation {
namespace {

constexpr SignatureSuite kSuite = SignatureSuite::kSha384;

bool IsRimRoot(const std::string& digest) { return digest == kNvidiaRimRootSpkiSha256; }
bool IsAnyRoot(const std::string& digest) {
  return IsRimRoot(digest) || digest == kNvidiaDeviceRootSpkiSha256;
}

// Whether the service keeps a manifest of this kind and version under the name. The board's
// numbers, which names of VBIOS manifests have, stand in no manifest.
bool IsNamed(const std::string& name, const nvidia::Rim& rim) {
  switch (rim.kind) {
    case nvidia::RimKind::kDriver:
      return (name == absl::StrCat("NV_GPU_DRIVER_", rim.product, "_", rim.version) ||
              name == absl::StrCat("NV_GPU_CC_DRIVER_", rim.product, "_", rim.version));
    case nvidia::RimKind::kVbios:
    case nvidia::RimKind::kSwitch:
      break;
  }
  const char* prefix = rim.kind == nvidia::RimKind::kVbios ? "NV_GPU_VBIOS_" : "NV_SWITCH_BIOS_";
  const std::string version = absl::AsciiStrToUpper(absl::StrReplaceAll(rim.version, {{".", ""}}));
  return name.starts_with(prefix) && name.ends_with(absl::StrCat("_", version));
}

absl::StatusOr<CollateralFacts> InspectRim(const std::string& key, const std::string& xml,
                                           const SignerPool& signers) {
  absl::StatusOr<nvidia::SignedDocument> document = nvidia::SignedDocument::Parse(xml);
  if (!document.ok()) return document.status();
  if (document->certificates().empty()) {
    return absl::InvalidArgumentError("the manifest holds no certificate of its signer");
  }
  const SignerPool own = signers.With(document->certificates());
  if (own.chain_size() == 0) return absl::InvalidArgumentError("its certificates are malformed");
  const Certificate& leaf = own.certificates().front();
  if (absl::Status status = document->CheckSignedBy(leaf); !status.ok()) {
    return status;
  }
  absl::StatusOr<std::vector<Certificate>> chain = own.Climb(leaf, kSuite, &IsRimRoot);
  if (!chain.ok()) return chain.status();
  absl::StatusOr<nvidia::Rim> rim = nvidia::ParseRim(document->content());
  if (!rim.ok()) return rim.status();
  if (!IsNamed(key, *rim)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the manifest is of ", std::string(Name(rim->kind)), " ", rim->product, " ", rim->version));
  }
  return CollateralFacts{.expires = own.chain_end()};
}

// What a responder says about the certificate whose digest is the key.
absl::StatusOr<CollateralFacts> InspectStatus(const std::string& key, const CollateralItem& item,
                                              const SignerPool& signers) {
  absl::Status failure =
      absl::InvalidArgumentError("the certificate that it should be about is not at hand");
  for (const Certificate& certificate : signers.certificates()) {
    if (base::ToHex(crypto::Sha256(crypto::AsBytes(certificate.der()))) != key) continue;
    absl::StatusOr<std::vector<Certificate>> chain = signers.Climb(certificate, kSuite, &IsAnyRoot);
    if (!chain.ok()) return chain.status();
    const OcspFinding finding = ReadOcspResponse(
        item.body, {.certificate = certificate, .issuer = chain->front(), .now = item.fetched});
    if (finding.outcome == OcspOutcome::kGood || finding.outcome == OcspOutcome::kRevoked ||
        finding.outcome == OcspOutcome::kHold) {
      return CollateralFacts{.issued = finding.this_update, .expires = finding.next_update};
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the answer is ", std::string(Name(finding.outcome)), ": ", finding.detail));
  }
  return failure;
}

}  // namespace

absl::StatusOr<CollateralFacts> InspectNvidia(const CollateralRequest& request,
                                              const CollateralItem& item,
                                              const SignerPool& signers) {
  return request.kind == CollateralKind::kNvidiaRim ? InspectRim(request.key, item.body, signers)
                                                    : InspectStatus(request.key, item, signers);
}

}  // namespace caravan::attestation
