// SPDX-License-Identifier: Apache-2.0
#include "attestation/sev_snp/tcb.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace caravan::attestation::sev_snp {
namespace {

struct Component {
  const char* name;
  uint8_t Tcb::*value;
};

constexpr Component kComponents[] = {
    {"boot loader", &Tcb::boot_loader}, {"tee", &Tcb::tee}, {"snp", &Tcb::snp},
    {"microcode", &Tcb::microcode},     {"fmc", &Tcb::fmc},
};

template <typename Differs>
std::optional<std::string> FirstWhere(const Tcb& a, const Tcb& b, std::string_view relation,
                                      Differs differs) {
  for (const Component& component : kComponents) {
    if (differs(a.*component.value, b.*component.value)) {
      return absl::StrFormat("%s SVN 0x%02x, %s 0x%02x", component.name, a.*component.value,
                             std::string(relation), b.*component.value);
    }
  }
  return std::nullopt;
}

}  // namespace

Tcb DecodeTcb(const RawTcb& raw, Product product) {
  if (product == v1::TURIN) {
    return {
        .fmc = raw[0], .boot_loader = raw[1], .tee = raw[2], .snp = raw[3], .microcode = raw[7]};
  }
  return {.boot_loader = raw[0], .tee = raw[1], .snp = raw[6], .microcode = raw[7]};
}

RawTcb EncodeTcb(const Tcb& tcb, Product product) {
  if (product == v1::TURIN) {
    return {tcb.fmc, tcb.boot_loader, tcb.tee, tcb.snp, 0, 0, 0, tcb.microcode};
  }
  return {tcb.boot_loader, tcb.tee, 0, 0, 0, 0, tcb.snp, tcb.microcode};
}

bool HasReservedTcbBits(const RawTcb& raw, Product product) {
  return raw != EncodeTcb(DecodeTcb(raw, product), product);
}

std::optional<std::string> Shortfall(const Tcb& have, const Tcb& want, std::string_view relation) {
  return FirstWhere(have, want, relation, [](uint8_t a, uint8_t b) { return a < b; });
}

std::optional<std::string> Difference(const Tcb& have, const Tcb& other,
                                      std::string_view relation) {
  return FirstWhere(have, other, relation, [](uint8_t a, uint8_t b) { return a != b; });
}

std::string Describe(const Tcb& tcb, Product product) {
  std::string text = absl::StrFormat("boot loader 0x%02x, tee 0x%02x, snp 0x%02x, microcode 0x%02x",
                                     tcb.boot_loader, tcb.tee, tcb.snp, tcb.microcode);
  if (product == v1::TURIN) absl::StrAppendFormat(&text, ", fmc 0x%02x", tcb.fmc);
  return text;
}

Product ProductOfCpuid(uint8_t family, uint8_t model) {
  const uint8_t group = model >> 4;
  if (family == 0x19 && group == 0x0) return v1::MILAN;
  if (family == 0x19 && (group == 0x1 || group == 0xA)) return v1::GENOA;
  if (family == 0x1A && group <= 0x1) return v1::TURIN;
  return v1::SNP_PRODUCT_UNSPECIFIED;
}

Product ProductOfName(std::string_view name) {
  const std::string_view line = name.substr(0, name.find('-'));
  for (Product product : {v1::MILAN, v1::GENOA, v1::TURIN}) {
    if (line == AmdName(product)) return product;
  }
  return v1::SNP_PRODUCT_UNSPECIFIED;
}

std::string_view AmdName(Product product) {
  switch (product) {
    case v1::MILAN:
      return "Milan";
    case v1::GENOA:
      return "Genoa";
    case v1::TURIN:
      return "Turin";
    default:
      return "unknown";
  }
}

}  // namespace caravan::attestation::sev_snp
