// SPDX-License-Identifier: Apache-2.0
//
// The parts of ShowEvidence, one a kind, and what they share.
#ifndef CARAVAN_ATTESTATION_SHOW_PARTS_H_
#define CARAVAN_ATTESTATION_SHOW_PARTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "attestation/show/dump.h"

namespace caravan::attestation::show {

void ShowSnp(std::string_view report, Dump* dump);
void ShowTdReport(std::string_view td_report,
                  Dump* dump);                       // 1024 bytes: no quote, its MAC is local
void ShowQuote(std::string_view quote, Dump* dump);  // TDX or SGX
void ShowNvidia(std::string_view report, Dump* dump);
void ShowVtpm(std::string_view container, Dump* dump);
// A section each, "certificate 1" and so on, with what AMD's and Intel's extensions say.
void ShowCertificates(absl::Span<const std::string> der, Dump* dump);

std::string Hex(std::string_view bytes);
template <typename Bytes>
std::string HexOf(const Bytes& bytes) {
  return Hex(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}
std::string Hex(uint64_t number);  // "0x1f"
inline bool IsZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}
// Hexadecimal; a note where every byte is zero.
void AddBytes(std::string name, std::string_view bytes, DumpSection* section);

struct Bit {
  int bit;
  const char* name;
  const char* meaning;  // when it is set
};
// The value, then each named bit as "on" or "off". Bits outside `bits` and `known` that are set
// become a field "unknown bits" and a problem.
void AddBits(std::string_view what, uint64_t value, absl::Span<const Bit> bits, uint64_t known,
             DumpSection* section, Dump* dump);

}  // namespace caravan::attestation::show

#endif  // CARAVAN_ATTESTATION_SHOW_PARTS_H_
