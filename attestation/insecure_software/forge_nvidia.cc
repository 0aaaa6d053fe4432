// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/forge_nvidia.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "attestation/ecdsa.h"
#include "attestation/nvidia/device_certificate.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::insecure_software {
namespace {

constexpr char kOidKeyUsage[] = "2.5.29.15";
// BIT STRING with digitalSignature alone.
constexpr std::string_view kDigitalSignature("\x03\x02\x07\x80", 4);
constexpr std::string_view kSha384Oid("\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02", 11);

void AppendLittle(std::string* out, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// A DER element of up to 255 bytes.
std::string Tlv(uint8_t tag, const std::string& content) {
  std::string out(1, static_cast<char>(tag));
  if (content.size() >= 0x80) out.push_back('\x81');
  out.push_back(static_cast<char>(content.size()));
  return out + content;
}

std::string Fwid(const std::string& fwid) {
  return Tlv(0x30, absl::StrCat(std::string(kSha384Oid), Tlv(0x04, fwid)));
}

std::string Upper(const std::string& bytes) {
  return absl::AsciiStrToUpper(base::ToHex(crypto::AsBytes(bytes)));
}

}  // namespace

std::string SerializeDeviceReport(const DeviceReportSpec& spec) {
  std::string record;
  for (const BlockSpec& block : spec.blocks) {
    AppendLittle(&record, block.index, 1);
    AppendLittle(&record, block.specification, 1);
    AppendLittle(&record, block.size.value_or(static_cast<uint16_t>(block.digest.size() + 3)), 2);
    AppendLittle(&record, block.type, 1);
    AppendLittle(&record, block.value_size.value_or(static_cast<uint16_t>(block.digest.size())), 2);
    record += block.digest;
  }
  std::string opaque;
  for (const auto& [type, value] : spec.opaque) {
    AppendLittle(&opaque, type, 2);
    AppendLittle(&opaque, value.size(), 2);
    opaque += value;
  }
  std::string out;
  for (uint8_t byte : {spec.request_version, spec.request_code, spec.attributes, spec.which}) {
    AppendLittle(&out, byte, 1);
  }
  out += spec.nonce;
  for (uint8_t byte : {spec.request_slot, spec.response_version, spec.response_code,
                       spec.parameter1, spec.response_slot}) {
    AppendLittle(&out, byte, 1);
  }
  AppendLittle(&out, spec.block_count.value_or(static_cast<uint8_t>(spec.blocks.size())), 1);
  AppendLittle(&out, spec.record_size.value_or(static_cast<uint32_t>(record.size())), 3);
  out += record + spec.responder_nonce;
  AppendLittle(&out, spec.opaque_size.value_or(static_cast<uint16_t>(opaque.size())), 2);
  return out + opaque;
}

absl::StatusOr<std::string> SignDeviceReport(EVP_PKEY* key, std::string report) {
  absl::StatusOr<std::string> signature = SignEcdsa(Curve::kP384, key, report);
  if (!signature.ok()) return signature.status();
  return report + *signature;
}

std::string& OpaqueValue(DeviceReportSpec* spec, uint16_t type) {
  for (auto& [have, value] : spec->opaque) {
    if (have == type) return value;
  }
  return spec->opaque.emplace_back(type, "").second;
}

std::string CompositeDeviceIdExtension(const std::string& fwid) {
  // Version, the device's public key (of no interest here), FWID.
  return Tlv(0x30, absl::StrCat(std::string("\x02\x01\x01\x30\x00", 5), Fwid(fwid)));
}

std::string DiceTcbInfoExtension(const std::string& fwid) {
  const std::string none = Fwid(std::string(48, '\0'));
  return Tlv(0x30, absl::StrCat(Tlv(0x80, "NVIDIA"), Tlv(0x81, "GB100 A01 GSP"), Tlv(0x82, "01"),
                                Tlv(0x83, "\x01"), Tlv(0xA6, absl::StrCat(Fwid(fwid), none)),
                                Tlv(0x87, std::string("\x00\x80\x00\x00\x01", 5))));
}

std::array<CertificateSpec, 5> DeviceChain(const DeviceChainSpec& spec) {
  const std::string prefix(kInsecureNamePrefix);
  const bool is_switch = spec.chip == "LS_10";
  const std::string processor = is_switch ? " A01 FSP" : " A01 GSP";
  const std::array<std::string, 5> names = {
      absl::StrCat(prefix, spec.chip, processor, " FMC LF"),
      absl::StrCat(prefix, spec.chip, processor, " BROM"),
      absl::StrCat(prefix, "NVIDIA ", spec.chip, " Provisioner ICA 1"),
      absl::StrCat(prefix, "NVIDIA ", is_switch ? "GH100" : spec.chip, " Identity"),
      absl::StrCat(prefix, "NVIDIA Device Identity CA")};
  std::array<CertificateSpec, 5> chain;
  for (size_t i = 0; i < chain.size(); ++i) {
    const size_t issuer = i + 1 < chain.size() ? i + 1 : i;
    chain[i].common_name = names[i];
    chain[i].issuer_name = names[issuer];
    chain[i].subject_key = spec.keys[i];
    chain[i].issuer_key = spec.keys[issuer];
    chain[i].serial = 100 - i;
    chain[i].not_before = spec.not_before;
    chain[i].not_after = spec.not_after;
    chain[i].is_ca = i > 0;
  }
  const std::string serial = (is_switch ? "50" : "41") + Upper(spec.pdi);
  chain[0].issuer_serial = chain[1].subject_serial = serial;
  chain[0].extensions = {{kOidKeyUsage, std::string(kDigitalSignature)}};
  if (spec.chip.starts_with("GB")) {
    chain[0].extensions.emplace_back(nvidia::kOidDiceTcbInfo, DiceTcbInfoExtension(spec.fwid));
  } else {
    chain[0].extensions.emplace_back(nvidia::kOidCompositeDeviceId,
                                     CompositeDeviceIdExtension(spec.fwid));
  }
  return chain;
}

}  // namespace caravan::attestation::insecure_software
