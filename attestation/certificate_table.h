// SPDX-License-Identifier: Apache-2.0
//
// The GUIDed certificate table of an extended SEV-SNP report (AMD 56421, GHCB).
#ifndef CARAVAN_ATTESTATION_CERTIFICATE_TABLE_H_
#define CARAVAN_ATTESTATION_CERTIFICATE_TABLE_H_

#include <cstdint>
#include <string_view>

namespace caravan::attestation {

inline constexpr size_t kTableEntry = 24;  // guid[16], u32 offset, u32 length
inline constexpr size_t kMaxTableEntries = 32;

// `bytes` has at least `at` + 4 bytes.
inline uint32_t Little32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

inline bool IsZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// Calls `take` with each entry's GUID (16 bytes) and bytes; false when it is no such table.
template <typename Take>
bool ForEachNamedTableEntry(std::string_view table, Take take) {
  for (size_t i = 0; i < kMaxTableEntries; ++i) {
    if (table.size() < (i + 1) * kTableEntry) return false;
    const std::string_view entry = table.substr(i * kTableEntry, kTableEntry);
    if (IsZero(entry)) return i > 0;
    const size_t offset = Little32(entry, 16);
    const size_t length = Little32(entry, 20);
    if (offset > table.size() || length > table.size() - offset || length == 0) return false;
    take(entry.substr(0, 16), table.substr(offset, length));
  }
  return false;
}

// Calls `take` for each entry's bytes; false when it is no such table.
template <typename Take>
bool ForEachTableEntry(std::string_view table, Take take) {
  return ForEachNamedTableEntry(table,
                                [&](std::string_view, std::string_view bytes) { take(bytes); });
}

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_CERTIFICATE_TABLE_H_
