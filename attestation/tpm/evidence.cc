// SPDX-License-Identifier: Apache-2.0
#include "attestation/tpm/evidence.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::attestation::tpm {

std::string Encode(const VtpmEvidence& evidence) {
  crypto::ByteWriter writer;
  writer.Label(kContainerMagic);
  for (const std::string* part : {&evidence.hcl_report, &evidence.td_quote, &evidence.quote,
                                  &evidence.signature, &evidence.ak_public}) {
    writer.Prefixed(*part);
  }
  writer.U8(static_cast<uint8_t>(evidence.pcrs.size()));
  for (const auto& [index, value] : evidence.pcrs) writer.U8(index).Fixed(value);
  return std::move(writer).Take();
}

absl::StatusOr<VtpmEvidence> DecodeVtpmEvidence(std::string_view bytes) {
  if (!bytes.starts_with(kContainerMagic)) {
    return absl::InvalidArgumentError("vtpm evidence: does not begin with \"caravan vtpm 1\"");
  }
  crypto::ByteReader reader(crypto::AsBytes(bytes.substr(kContainerMagic.size())));
  VtpmEvidence evidence;
  const struct {
    std::string* out;
    size_t max;
    const char* what;
  } parts[] = {
      {&evidence.hcl_report, kMaxHclReport, "vtpm evidence: hcl report"},
      {&evidence.td_quote, kMaxTdQuote, "vtpm evidence: td quote"},
      {&evidence.quote, kMaxTpmStructure, "vtpm evidence: tpm quote"},
      {&evidence.signature, kMaxTpmStructure, "vtpm evidence: signature"},
      {&evidence.ak_public, kMaxTpmStructure, "vtpm evidence: public area of the ak"},
  };
  for (const auto& part : parts) {
    const auto read = reader.Prefixed(part.max, part.what);
    if (!read.ok()) return read.status();
    part.out->assign(read->begin(), read->end());
  }
  const absl::StatusOr<uint8_t> count = reader.U8("vtpm evidence: pcr count");
  if (!count.ok()) return count.status();
  for (uint8_t i = 0; i < *count; ++i) {
    const absl::StatusOr<uint8_t> index = reader.U8("vtpm evidence: pcr index");
    if (!index.ok()) return index.status();
    const bool rising = evidence.pcrs.empty() || *index > evidence.pcrs.rbegin()->first;
    if (*index >= kPcrs || !rising) {
      return absl::InvalidArgumentError(absl::StrCat("vtpm evidence: pcr index ", *index,
                                                     ", expected rising indices below ", kPcrs));
    }
    const auto value = reader.Fixed(crypto::Sha256Digest{}.size(), "vtpm evidence: pcr value");
    if (!value.ok()) return value.status();
    std::copy(value->begin(), value->end(), evidence.pcrs[*index].begin());
  }
  if (absl::Status end = reader.Finish("vtpm evidence"); !end.ok()) return end;
  return evidence;
}

}  // namespace caravan::attestation::tpm
