// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/collateral/needs_internal.h"
#include "attestation/nvidia/device_certificate.h"
#include "attestation/nvidia/opaque.h"
#include "attestation/nvidia/report.h"
#include "attestation/nvidia/rim.h"
#include "attestation/nvidia/rim_signature.h"
#include "attestation/nvidia/rules.h"
#include "attestation/ocsp.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation {
namespace {

// OCSP's word on each certificate whose issuer is among them. A root has none to ask.
absl::Status WantStatus(const Certificates& certificates, CollateralNeeds* needs) {
  for (const Certificate& certificate : certificates) {
    // The device itself issues its leaf: no service knows it.
    if (certificate.IsSelfIssued() || nvidia::LooksLikeLeaf(certificate)) continue;
    for (const Certificate& issuer : certificates) {
      if (!certificate.IsIssuedInNameOf(issuer)) continue;
      absl::StatusOr<std::string> post = MakeOcspRequest(certificate, issuer, std::nullopt);
      if (!post.ok()) return post.status();
      Want(CollateralKind::kOcsp, base::ToHex(crypto::Sha256(crypto::AsBytes(certificate.der()))),
           needs, *std::move(post));
      break;
    }
  }
  return absl::OkStatus();
}

std::optional<nvidia::Chip> ChipOf(const Certificates& certificates) {
  for (const Certificate& certificate : certificates) {
    if (!nvidia::LooksLikeLeaf(certificate)) continue;
    return nvidia::ChipOfName(certificate.SubjectCommonName());
  }
  return std::nullopt;
}

// The signers of a manifest at hand that one of `requests` is for.
Certificates SignersOf(const std::vector<nvidia::RimRequest>& requests,
                       const Endorsements& at_hand) {
  Certificates signers;
  for (const std::string& xml : at_hand.rims) {
    const absl::StatusOr<nvidia::SignedDocument> document = nvidia::SignedDocument::Parse(xml);
    if (!document.ok()) continue;
    const absl::StatusOr<nvidia::Rim> rim = nvidia::ParseRim(document->content());
    if (!rim.ok()) continue;
    for (const nvidia::RimRequest& request : requests) {
      if (rim->kind != request.kind || rim->product != request.product ||
          rim->version != request.version) {
        continue;
      }
      for (Certificate& signer : ParseAll(document->certificates())) {
        signers.push_back(std::move(signer));
      }
    }
  }
  return signers;
}

}  // namespace

absl::Status CollectNvidia(const Evidence& evidence, const Endorsements& at_hand,
                           CollateralNeeds* needs) {
  absl::StatusOr<nvidia::Report> report = nvidia::ParseReport(evidence.report);
  if (!report.ok()) return report.status();
  const Certificates carried = ParseAll(evidence.certificates);
  if (IsInsecure(carried)) return absl::OkStatus();
  std::optional<nvidia::Chip> chip = ChipOf(carried);
  if (!chip.has_value()) chip = ChipOf(ParseAll(at_hand.certificates));
  if (!chip.has_value()) {
    needs->gaps.push_back(
        "no certificate of a known NVIDIA device came with the report: a GPU hands its chain out "
        "beside it");
    return absl::OkStatus();
  }
  absl::StatusOr<nvidia::DeviceInfo> info = nvidia::ReadDeviceInfo(chip->device_class, *report);
  if (!info.ok()) return info.status();
  const std::vector<nvidia::RimRequest> requests = nvidia::RimRequestsOf(*chip, *info);
  for (const nvidia::RimRequest& request : requests) {
    if (request.rim_id.empty()) {
      needs->gaps.push_back(absl::StrCat("the report does not tell which ",
                                         std::string(Name(request.kind)), " manifest it needs"));
    } else {
      Want(CollateralKind::kNvidiaRim, request.rim_id, needs);
    }
  }
  if (absl::Status status = WantStatus(carried, needs); !status.ok()) return status;
  return WantStatus(SignersOf(requests, at_hand), needs);
}

}  // namespace caravan::attestation
