// SPDX-License-Identifier: Apache-2.0
//
// Bytes of files, as people and tools keep them, turned into evidence and endorsements.
#ifndef CARAVAN_ATTESTATION_VERIFY_INPUT_H_
#define CARAVAN_ATTESTATION_VERIFY_INPUT_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attestation/evidence.h"

namespace caravan::attestation {

// Largest file taken, in bytes.
inline constexpr size_t kMaxInputSize = 8 << 20;
inline constexpr size_t kMaxEndorsements = 4096;  // certificates, lists and documents together

// Takes an SEV-SNP report (1184 bytes) raw, in hexadecimal or base64, alone, behind the 32-byte
// header of SNP_GET_REPORT, zero-padded, or followed by the GUIDed certificate table of an extended
// report; a TDX or SGX quote, with or without padding; either inside JSON (cpu_json_input.h);
// NVIDIA's reports raw, in hexadecimal or base64, or listed in JSON with their chains
// (device_list_input.h); a vTPM's container, or the JSON of tools for Azure's confidential VMs
// (tpm/input.h). With `kind` the bytes, or those that JSON holds, are taken for that kind, whatever
// they look like. InvalidArgument when they look like nothing known.
absl::StatusOr<EvidenceSet> DetectEvidence(std::string_view bytes,
                                           std::optional<EvidenceKind> kind = std::nullopt);

// Takes a folder, whose files are given by name: the parts of a vTPM's evidence
// (tpm/input.h); the attributes of Linux's configfs-tsm, "outblob" and "auxblob" among them; or one
// CPU's evidence, some devices' or both, each in a file as above. Certificates in PEM, DER or a
// certificate table belong to the evidence that they are named after ("gpu.0.pem" to "gpu.0"), or
// to the only one. `kind` is that of every file that holds no certificates. InvalidArgument, naming
// the file, for any other, for evidence of two CPUs and for more devices than kMaxListedDevices
// (device_list_input.h).
absl::StatusOr<EvidenceSet> DetectEvidenceFiles(const std::map<std::string, std::string>& files,
                                                std::optional<EvidenceKind> kind = std::nullopt);

// Adds what one file holds: PEM blocks, a DER certificate, a revocation list in DER or hexadecimal,
// a GUIDed certificate table, an answer of Intel's service (TCB info, QE identity), or all of a
// quote's collateral in one file, be it JSON (tcb_info, tcb_info_signature, …) or the bytes of
// sgx_ql_qve_collateral; NVIDIA's manifests, as XML or as the RIM service's JSON; OCSP responses in
// DER. InvalidArgument when it holds none, naming what was malformed.
absl::Status ParseEndorsements(std::string_view bytes, Endorsements* endorsements);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_VERIFY_INPUT_H_
