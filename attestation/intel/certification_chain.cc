// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/certification_chain.h"

#include <openssl/asn1.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/evidence.h"
#include "attestation/openssl.h"
#include "attestation/pem.h"

namespace caravan::attestation::intel {
namespace {

absl::StatusOr<std::vector<std::string>> SplitDer(std::string_view data) {
  const ClearErrors clear;
  std::vector<std::string> certificates;
  const auto* at = reinterpret_cast<const unsigned char*>(data.data());
  const auto* const end = at + data.size();
  while (at != end) {
    const auto* const begin = at;
    long length = 0;
    int tag = 0, tag_class = 0;
    const int read = ASN1_get_object(&at, &length, &tag, &tag_class, end - at);
    if ((read & 0x80) != 0 || tag != V_ASN1_SEQUENCE || length < 0 || length > end - at) {
      return absl::InvalidArgumentError("certification data is neither pem nor der");
    }
    at += length;
    certificates.emplace_back(reinterpret_cast<const char*>(begin),
                              static_cast<size_t>(at - begin));
    if (certificates.size() > kMaxCertificates) {
      return absl::InvalidArgumentError(
          absl::StrCat("certification data holds over ", kMaxCertificates, " certificates"));
    }
  }
  return certificates;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadCertificationChain(std::string_view data) {
  while (!data.empty() && data.back() == '\0') data.remove_suffix(1);
  if (data.find("-----BEGIN ") == std::string_view::npos) return SplitDer(data);
  absl::StatusOr<std::vector<PemBlock>> blocks = ReadPem(data, kMaxCertificates);
  if (!blocks.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("certification data: ", blocks.status().message()));
  }
  std::vector<std::string> certificates;
  for (PemBlock& block : *blocks) {
    if (block.type != "CERTIFICATE") {
      return absl::InvalidArgumentError("certification data holds something besides certificates");
    }
    certificates.push_back(std::move(block.bytes));
  }
  return certificates;
}

}  // namespace caravan::attestation::intel
