// SPDX-License-Identifier: Apache-2.0
//
// vTPM evidence as public tools keep it: a folder of parts, or one JSON document.
#ifndef CARAVAN_ATTESTATION_TPM_INPUT_H_
#define CARAVAN_ATTESTATION_TPM_INPUT_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "attestation/evidence.h"

namespace caravan::attestation::tpm {

// Files by name: hcl-report.bin; the quote as tpm-quote.msg and tpm-quote.sig, with the values of
// its registers one after the other in tpm-quote.pcrs, or, where there is no such message, all of
// it in quote.bin (az-cvm-vtpm: signature, message, values, counted by u64); on TDX td-quote.bin;
// ak-public.bin (TPMT_PUBLIC) where there is one. Other names are left alone. InvalidArgument
// naming the file that is missing or malformed.
absl::StatusOr<Evidence> FromFiles(const std::map<std::string, std::string>& files);

// Whether these files are meant for FromFiles().
bool LooksLikeVtpm(const std::map<std::string, std::string>& files);

// {"hcl_report", "tpm_quote": {"message", "signature", "pcrs"}, "td_quote", "vcek"}, or with the
// older names "report" and "quote", alone or as the member "evidence"; bytes in hexadecimal,
// base64, base64url, or as an array. InvalidArgument naming the member.
absl::StatusOr<Evidence> FromJson(std::string_view text);

}  // namespace caravan::attestation::tpm

#endif  // CARAVAN_ATTESTATION_TPM_INPUT_H_
