// SPDX-License-Identifier: Apache-2.0
//
// Lists of devices as NVIDIA's tools and those that use them write them: an object for each, with
// the report and the certificate chain in base64.
#ifndef CARAVAN_ATTESTATION_DEVICE_LIST_INPUT_H_
#define CARAVAN_ATTESTATION_DEVICE_LIST_INPUT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "attestation/evidence.h"
#include "base/json.h"

namespace caravan::attestation {

// No machine has more.
inline constexpr size_t kMaxListedDevices = 64;

// True when the text can be nothing but JSON.
bool LooksLikeJson(std::string_view text);

// Takes [{"evidence":…,"certificate":…},…], one such object, and the same list as a member
// "device_evidence_list" or "evidence_list". Reports are in base64 or hexadecimal, chains as
// AddJsonCertificates takes them (json_bytes.h), at least one certificate where there is a member.
// Other members ("arch", "nonce", versions) are the sender's word alone: not read. InvalidArgument
// naming what is malformed, and for a list that is empty or too long.
absl::StatusOr<EvidenceSet> ReadDeviceList(const base::JsonValue& document);

// Whether the document is or has such a list, whatever else it has.
bool ListsDevices(const base::JsonValue& document);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_DEVICE_LIST_INPUT_H_
