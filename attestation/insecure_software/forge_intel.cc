// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/forge_intel.h"

#include <openssl/ec.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/ecdsa.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::insecure_software {
namespace {

constexpr char kSequence = 0x30, kInteger = 0x02, kOctets = 0x04, kEnumerated = 0x0A, kOid = 0x06,
               kBoolean = 0x01;
constexpr std::string_view kIntelVendor(
    "\x93\x9a\x72\x33\xf7\x9c\x4c\xa9\x94\x0a\x0d\xb3\x95\x7f\x06\x07", 16);
constexpr size_t kQeReportData = 320;

std::string Tlv(char tag, const std::string& content) {
  std::string out(1, tag);
  if (content.size() >= 256) {
    out += {'\x82', static_cast<char>(content.size() >> 8), static_cast<char>(content.size())};
  } else if (content.size() >= 128) {
    out += {'\x81', static_cast<char>(content.size())};
  } else {
    out += static_cast<char>(content.size());
  }
  return out + content;
}

std::string IntegerValue(uint32_t value) {
  std::string bytes;
  do {
    bytes.insert(bytes.begin(), static_cast<char>(value));
    value >>= 8;
  } while (value != 0);
  // A set top bit would make it negative.
  if (static_cast<uint8_t>(bytes[0]) >= 0x80) bytes.insert(bytes.begin(), '\0');
  return Tlv(kInteger, bytes);
}

// SEQUENCE { kOidSgxExtensions + arcs, value }.
std::string Part(std::initializer_list<uint8_t> arcs, const std::string& value) {
  std::string oid("\x2A\x86\x48\x86\xF8\x4D\x01\x0D\x01", 9);
  for (uint8_t arc : arcs) oid += static_cast<char>(arc);
  return Tlv(kSequence, Tlv(kOid, oid) + value);
}

}  // namespace

absl::StatusOr<EvpPkeyPtr> MakeP256Key() {
  EvpPkeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return absl::InternalError("openssl: cannot make a P-256 key");
  return key;
}

std::string PckExtension(const PckSpec& spec) {
  std::string tcb;
  for (uint8_t i = 0; i < spec.sgx_svns.size(); ++i) {
    tcb += Part({2, static_cast<uint8_t>(i + 1)}, IntegerValue(spec.sgx_svns[i]));
  }
  tcb += Part({2, 17}, IntegerValue(spec.pce_svn));
  tcb += Part({2, 18}, Tlv(kOctets, std::string(spec.sgx_svns.begin(), spec.sgx_svns.end())));
  std::string parts = Part({1}, Tlv(kOctets, spec.ppid)) + Part({2}, Tlv(kSequence, tcb)) +
                      Part({3}, Tlv(kOctets, spec.pce_id)) + Part({4}, Tlv(kOctets, spec.fmspc)) +
                      Part({5}, Tlv(kEnumerated, std::string(1, static_cast<char>(spec.sgx_type))));
  if (spec.platform_instance_id.has_value()) {
    parts += Part({6}, Tlv(kOctets, *spec.platform_instance_id));
    parts += Part({7}, Tlv(kSequence, Part({7, 1}, Tlv(kBoolean, std::string(1, '\xFF'))) +
                                          Part({7, 2}, Tlv(kBoolean, std::string(1, '\0'))) +
                                          Part({7, 3}, Tlv(kBoolean, std::string(1, '\xFF')))));
  }
  return Tlv(kSequence, parts);
}

absl::StatusOr<std::string> MakeQuote(const QuoteSpec& spec) {
  crypto::ByteWriter head;
  head.U16(spec.version).U16(spec.key_type).U32(spec.tee_type).U16(0).U16(0);
  const std::string vendor = spec.vendor_id.empty() ? std::string(kIntelVendor) : spec.vendor_id;
  head.Fixed(crypto::AsBytes(vendor)).Fixed(std::vector<uint8_t>(20));
  if (spec.version >= 5) {
    head.U16(static_cast<uint16_t>(spec.body_type)).U32(static_cast<uint32_t>(spec.body.size()));
  }
  head.Fixed(crypto::AsBytes(spec.body));
  absl::StatusOr<std::string> point = P256Point(spec.attestation_key);
  if (!point.ok()) return point.status();
  absl::StatusOr<std::string> signature = SignEcdsa(Curve::kP256, spec.attestation_key, head.str());
  if (!signature.ok()) return signature.status();

  std::string qe_report = spec.qe_report;
  qe_report.resize(intel::kSgxReportSize, '\0');
  if (spec.bind_attestation_key) {
    const std::string bound = *point + spec.qe_auth_data;
    const crypto::Sha256Digest digest = crypto::Sha256(crypto::AsBytes(bound));
    std::copy(digest.begin(), digest.end(), qe_report.begin() + kQeReportData);
  }
  absl::StatusOr<std::string> qe_signature = SignEcdsa(Curve::kP256, spec.pck_key, qe_report);
  if (!qe_signature.ok()) return qe_signature.status();
  crypto::ByteWriter tail;
  tail.Fixed(crypto::AsBytes(qe_report)).Fixed(crypto::AsBytes(*qe_signature));
  tail.U16(static_cast<uint16_t>(spec.qe_auth_data.size()));
  tail.Fixed(crypto::AsBytes(spec.qe_auth_data));
  tail.U16(spec.certification_type).Prefixed(spec.certification_data);

  crypto::ByteWriter data;
  data.Fixed(crypto::AsBytes(*signature)).Fixed(crypto::AsBytes(*point));
  if (spec.version == 3) {
    data.Fixed(tail.span());
  } else {
    data.U16(intel::kQeReportCertification).Prefixed(tail.str());
  }
  head.Prefixed(data.str());
  return std::move(head).Take();
}

absl::StatusOr<std::string> SignDocument(const std::string& name, const std::string& body,
                                         EVP_PKEY* key) {
  absl::StatusOr<std::string> signature = SignEcdsa(Curve::kP256, key, body);
  if (!signature.ok()) return signature.status();
  return absl::StrCat("{\"", name, "\":", body, ",\"signature\":\"",
                      base::ToHex(crypto::AsBytes(*signature)), "\"}");
}

}  // namespace caravan::attestation::insecure_software
