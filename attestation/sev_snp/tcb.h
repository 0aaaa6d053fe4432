// SPDX-License-Identifier: Apache-2.0
//
// TCB_VERSION: the security version numbers of AMD's firmware, component by component
// (AMD 56860 "SNP Firmware ABI", TCB_VERSION; AMD 57230).
#ifndef CARAVAN_ATTESTATION_SEV_SNP_TCB_H_
#define CARAVAN_ATTESTATION_SEV_SNP_TCB_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "proto/caravan/v1/policy.pb.h"

namespace caravan::attestation::sev_snp {

using Product = v1::SnpProduct;

struct Tcb {
  uint8_t fmc = 0;  // Turin alone
  uint8_t boot_loader = 0;
  uint8_t tee = 0;
  uint8_t snp = 0;
  uint8_t microcode = 0;

  friend bool operator==(const Tcb&, const Tcb&) = default;
};

using RawTcb = std::array<uint8_t, 8>;

// The layout depends on the product: Milan and Genoa {BL, TEE, 4 reserved, SNP, ucode},
// Turin {FMC, BL, TEE, SNP, 3 reserved, ucode}.
Tcb DecodeTcb(const RawTcb& raw, Product product);
RawTcb EncodeTcb(const Tcb& tcb, Product product);
// True when a byte that the product's layout reserves is not zero.
bool HasReservedTcbBits(const RawTcb& raw, Product product);

// The first component of `have` below `want`: "microcode SVN 0x73, <wanted> 0xd1"; nullopt when
// there is none. `relation` stands between the two: "policy wants >=".
std::optional<std::string> Shortfall(const Tcb& have, const Tcb& want, std::string_view relation);
// The first component that differs: "snp SVN 0x08, <other> 0x07".
std::optional<std::string> Difference(const Tcb& have, const Tcb& other, std::string_view relation);

std::string Describe(const Tcb& tcb, Product product);  // "boot loader 3, tee 0, snp 8, …"

// The product of a CPUID family and model (report v3 and later): 19h/00h–0Fh Milan, 19h/10h–1Fh
// and A0h–AFh Genoa (Siena and Bergamo too), 1Ah/00h–1Fh Turin; UNSPECIFIED otherwise.
Product ProductOfCpuid(uint8_t family, uint8_t model);
// The product of a certificate's name, with or without a stepping: "Milan-B0", "Turin".
Product ProductOfName(std::string_view name);
// "Milan": as AMD's certificates and key service write it.
std::string_view AmdName(Product product);

}  // namespace caravan::attestation::sev_snp

#endif  // CARAVAN_ATTESTATION_SEV_SNP_TCB_H_
