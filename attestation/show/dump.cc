// SPDX-License-Identifier: Apache-2.0
#include "attestation/show/dump.h"

#include "absl/strings/str_cat.h"
#include "attestation/show/parts.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation {
namespace show {

std::string Hex(std::string_view bytes) { return base::ToHex(crypto::AsBytes(bytes)); }
std::string Hex(uint64_t number) { return absl::StrCat("0x", absl::Hex(number)); }

void AddBytes(std::string name, std::string_view bytes, DumpSection* section) {
  section->Add(std::move(name), Hex(bytes), !bytes.empty() && IsZero(bytes) ? "zero" : "");
}

void AddBits(std::string_view what, uint64_t value, absl::Span<const Bit> bits, uint64_t known,
             DumpSection* section, Dump* dump) {
  section->Add("value", Hex(value));
  for (const Bit& bit : bits) {
    const bool on = (value >> bit.bit & 1) != 0;
    known |= uint64_t{1} << bit.bit;
    section->Add(bit.name, on ? "on" : "off", on ? bit.meaning : "");
  }
  if (const uint64_t unknown = value & ~known; unknown != 0) {
    section->Add("unknown_bits", Hex(unknown), "no meaning is known here");
    dump->problems.push_back(
        absl::StrCat(std::string(what), " has bits without a known meaning: ", Hex(unknown)));
  }
}

}  // namespace show

Dump ShowEvidence(const Evidence& evidence) {
  Dump dump;
  dump.kind = std::string(Name(evidence.kind));
  switch (evidence.kind) {
    case EvidenceKind::kSevSnp:
      show::ShowSnp(evidence.report, &dump);
      break;
    case EvidenceKind::kTdx:
    case EvidenceKind::kSgx:
      show::ShowQuote(evidence.report, &dump);
      break;
    case EvidenceKind::kNvidia:
      show::ShowNvidia(evidence.report, &dump);
      break;
    case EvidenceKind::kVtpm:
      show::ShowVtpm(evidence.report, &dump);
      break;
  }
  show::ShowCertificates(evidence.certificates, &dump);
  return dump;
}

}  // namespace caravan::attestation
