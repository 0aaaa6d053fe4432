// SPDX-License-Identifier: Apache-2.0
//
// Bytes and certificates as tools write them into JSON.
#ifndef CARAVAN_ATTESTATION_JSON_BYTES_H_
#define CARAVAN_ATTESTATION_JSON_BYTES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/json.h"

namespace caravan::attestation {

// What text in hexadecimal (with or without 0x), base64 or base64url stands for; nullopt for other
// text.
std::optional<std::string> TextBytes(const std::string& text);

// The bytes of a member, which may also be an array of numbers from 0 to 255; nullopt for a null
// pointer and for every other value.
std::optional<std::string> JsonBytes(const base::JsonValue* value);

// Adds the certificates (DER) that a member holds: PEM, as it is or encoded as above; one in DER,
// encoded as above; a list of these; or an object that has them under "data" (beside a "cert_type"
// other than "CRL"), "vcek", "vlek", "ask", "asvk", "ark", "vcekCert" or "certificateChain", alone
// or in a list. Null and whatever is empty hold none. InvalidArgument for one that is malformed or
// over kMaxCertificateSize, and when `out` would have more than kMaxCertificates.
absl::Status AddJsonCertificates(const base::JsonValue& value, std::vector<std::string>* out);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_JSON_BYTES_H_
