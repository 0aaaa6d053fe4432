// SPDX-License-Identifier: Apache-2.0
#include "attestation/pem.h"

#include <openssl/bio.h>
#include <openssl/pem.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "attestation/openssl.h"

namespace caravan::attestation {

absl::StatusOr<std::vector<PemBlock>> ReadPem(std::string_view text, size_t max) {
  const ClearErrors clear;
  // What others left in the queue would be taken for an end of the text.
  ERR_clear_error();
  const std::unique_ptr<BIO, OpensslDelete<BIO_free_all>> bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (bio == nullptr) return absl::ResourceExhaustedError("out of memory for a pem text");
  std::vector<PemBlock> blocks;
  for (;;) {
    char* name = nullptr;
    char* header = nullptr;
    unsigned char* data = nullptr;
    long size = 0;
    if (PEM_read_bio(bio.get(), &name, &header, &data, &size) != 1) break;
    blocks.push_back({name, std::string(reinterpret_cast<char*>(data), static_cast<size_t>(size))});
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_free(data);
    if (blocks.size() > max) {
      return absl::InvalidArgumentError(absl::StrCat("over ", max, " pem blocks"));
    }
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return absl::InvalidArgumentError(
        absl::StrCat("pem block ", blocks.size() + 1, " is malformed"));
  }
  return blocks;
}

std::string CertificatesToPem(const std::vector<std::string>& certificates) {
  constexpr size_t kLine = 64;
  std::string text;
  for (const std::string& der : certificates) {
    const std::string base64 = absl::Base64Escape(der);
    absl::StrAppend(&text, "-----BEGIN CERTIFICATE-----\n");
    for (size_t at = 0; at < base64.size(); at += kLine) {
      absl::StrAppend(&text, base64.substr(at, kLine), "\n");
    }
    absl::StrAppend(&text, "-----END CERTIFICATE-----\n");
  }
  return text;
}

}  // namespace caravan::attestation
