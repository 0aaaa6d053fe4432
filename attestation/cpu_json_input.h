// SPDX-License-Identifier: Apache-2.0
//
// Quotes and SEV-SNP reports inside JSON, as attestation agents and services write them.
#ifndef CARAVAN_ATTESTATION_CPU_JSON_INPUT_H_
#define CARAVAN_ATTESTATION_CPU_JSON_INPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"

namespace caravan::attestation {

struct CpuJson {
  std::string bytes;                      // as a file of them alone would hold them
  std::vector<std::string> certificates;  // DER, as the document lists them
};

// Takes one of these, of the document or of the object that is its member "evidence" or "quote":
//   {"quote": …}                         TDX or SGX: Trustee, dstack, Azure, Intel Trust Authority
//   {"attestation_report" or "report": …}   SEV-SNP
//   {"outblob": …}                       any of them: Linux's configfs-tsm
//   {"SnpReport": …}                     Azure's; itself also as the bytes of "report"
//   {"evidence": …, "endorsements": …}   Azure's confidential containers
// with certificates from "cert_chain", "VcekCertChain", "vcek", "vlek" and "endorsements"
// (json_bytes.h), and from the certificate table in "aux_blob" or "auxblob". Event logs, user data,
// nonces and all other members are not read. nullopt for a document with none of these, and for one
// that is a device's (it has a "certificate"). InvalidArgument, naming the member, where one is
// malformed, where two hold a report, and where one lists the report's fields in place of its
// bytes, which are what the signature covers.
absl::StatusOr<std::optional<CpuJson>> ReadCpuJson(const base::JsonValue& document);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_CPU_JSON_INPUT_H_
