// SPDX-License-Identifier: Apache-2.0
//
// VCEK and VLEK certificates: what AMD's extensions say about the chip and its firmware
// (AMD 57230 "VCEK Certificate and KDS Interface Specification", table of OIDs).
#ifndef CARAVAN_ATTESTATION_SEV_SNP_LEAF_H_
#define CARAVAN_ATTESTATION_SEV_SNP_LEAF_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "attestation/sev_snp/report.h"
#include "attestation/sev_snp/tcb.h"
#include "attestation/x509.h"

namespace caravan::attestation::sev_snp {

inline constexpr char kOidStructVersion[] = "1.3.6.1.4.1.3704.1.1";
inline constexpr char kOidProductName[] = "1.3.6.1.4.1.3704.1.2";
inline constexpr char kOidBootLoader[] = "1.3.6.1.4.1.3704.1.3.1";
inline constexpr char kOidTee[] = "1.3.6.1.4.1.3704.1.3.2";
inline constexpr char kOidSnp[] = "1.3.6.1.4.1.3704.1.3.3";
inline constexpr char kOidMicrocode[] = "1.3.6.1.4.1.3704.1.3.8";
inline constexpr char kOidFmc[] = "1.3.6.1.4.1.3704.1.3.9";
inline constexpr char kOidHwid[] = "1.3.6.1.4.1.3704.1.4";
inline constexpr char kOidCspId[] = "1.3.6.1.4.1.3704.1.5";

struct Leaf {
  Certificate certificate;
  SigningKey kind = SigningKey::kNone;            // kVcek: has an HWID; kVlek: has a CSP_ID
  std::string product_name = {};                  // "Milan-B0"
  Product product = v1::SNP_PRODUCT_UNSPECIFIED;  // also when the name is unknown
  Tcb tcb = {};
  std::string hwid = {};    // VCEK: 64 bytes, Turin 8
  std::string csp_id = {};  // VLEK
};

// True when it carries AMD's product name: a VCEK or VLEK, whoever signed it.
bool LooksLikeLeaf(const Certificate& certificate);

// InvalidArgument naming the extension that is absent, malformed or twice there, or when the
// certificate claims to be both kinds or neither.
absl::StatusOr<Leaf> ParseLeaf(const Certificate& certificate);

// HWID as it stands in the extension: raw, or wrapped as a DER OCTET STRING. The length decides
// (64 or 8 raw, 66 or 10 wrapped), never the first byte, which a chip id may share.
absl::StatusOr<std::string> DecodeHwid(std::string_view extension);

}  // namespace caravan::attestation::sev_snp

#endif  // CARAVAN_ATTESTATION_SEV_SNP_LEAF_H_
