// SPDX-License-Identifier: Apache-2.0
//
// Quotes and SEV-SNP reports inside JSON, as attestation agents and services write them.
#ifndef CARAVAN_ATTESTATION_CPU_JSON_INPUT_H_
#define CARAVAN_ATTESTATION_CPU_JSON_INPUT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace caravan::attestation {

struct CpuJson {
  std::string bytes;                      // as a file of them alone would hold them
  std::vector<std::string> certificates;  // DER, as the document lists them
};

// Takes, of the document or of the object that is its member "evidence":
//   {"quote": …}                          of TDX or SGX (Trustee, dstack, Intel's and Azure's
//   clients)
//   {"attestation_report" or "report": …} of SEV-SNP; with "aux_blob" or "auxblob", the certificate
//                                         table of Linux's configfs-tsm
//   {"SnpReport": …}                      Azure's; itself also as the bytes of "report"
//   {"evidence": …, "endorsements": …}    of Azure's confidential containers
// and certificates from "cert_chain", "VcekCertChain", "vcek", "vlek" and "endorsements"
// (json_bytes.h). Event logs, user data and nonces are not read. nullopt for a document with none
// of these; InvalidArgument, naming the member, where one is malformed, or is the report's fields
// in place of its bytes, which are what the signature covers.
absl::StatusOr<std::optional<CpuJson>> ReadCpuJson(std::string_view text);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_CPU_JSON_INPUT_H_
