// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/forge.h"

#include <openssl/asn1.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "attestation/sev_snp/leaf.h"
#include "crypto/hash.h"

namespace caravan::attestation::insecure_software {
namespace {

constexpr char kOrganization[] = "Caravan insecure software";

absl::Status Failed(const char* what) {
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("openssl: ", what));
}

using NamePtr = std::unique_ptr<X509_NAME, OpensslDelete<X509_NAME_free>>;
using TimePtr = std::unique_ptr<ASN1_TIME, OpensslDelete<ASN1_TIME_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, OpensslDelete<X509_EXTENSION_free>>;

NamePtr MakeName(const std::string& common_name, const std::string& serial = "") {
  NamePtr name(X509_NAME_new());
  const auto add = [&](const char* field, const char* text) {
    return X509_NAME_add_entry_by_txt(name.get(), field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(text), -1, -1, 0) == 1;
  };
  if (name == nullptr || !add("O", kOrganization) || !add("CN", common_name.c_str()) ||
      (!serial.empty() && !add("serialNumber", serial.c_str()))) {
    return nullptr;
  }
  return name;
}

TimePtr MakeTime(absl::Time time) { return TimePtr(ASN1_TIME_set(nullptr, absl::ToTimeT(time))); }

bool AddRawExtension(X509* x509, const std::string& oid, const std::string& value, bool critical) {
  std::unique_ptr<ASN1_OBJECT, OpensslDelete<ASN1_OBJECT_free>> object(OBJ_txt2obj(oid.c_str(), 1));
  std::unique_ptr<ASN1_OCTET_STRING, OpensslDelete<ASN1_OCTET_STRING_free>> octets(
      ASN1_OCTET_STRING_new());
  if (object == nullptr || octets == nullptr ||
      ASN1_OCTET_STRING_set(octets.get(), reinterpret_cast<const unsigned char*>(value.data()),
                            static_cast<int>(value.size())) != 1) {
    return false;
  }
  ExtensionPtr extension(
      X509_EXTENSION_create_by_OBJ(nullptr, object.get(), critical ? 1 : 0, octets.get()));
  return extension != nullptr && X509_add_ext(x509, extension.get(), -1) == 1;
}

bool AddTextExtension(X509* x509, int nid, const std::string& text) {
  ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, nullptr, nid, text.c_str()));
  return extension != nullptr && X509_add_ext(x509, extension.get(), -1) == 1;
}

bool AddExtensions(const CertificateSpec& spec, X509* x509) {
  if (spec.is_ca) {
    std::string constraints = "critical,CA:TRUE";
    if (spec.path_length.has_value()) {
      absl::StrAppend(&constraints, ",pathlen:", *spec.path_length);
    }
    if (!AddTextExtension(x509, NID_basic_constraints, constraints) ||
        !AddTextExtension(x509, NID_key_usage, "critical,keyCertSign,cRLSign")) {
      return false;
    }
  }
  for (const auto& [oid, value] : spec.extensions) {
    if (!AddRawExtension(x509, oid, value, false)) return false;
  }
  return !spec.critical_oid.has_value() || AddRawExtension(x509, *spec.critical_oid, "\x05", true);
}

// DER of an INTEGER of 0 to 255, as AMD writes an SVN.
std::string SvnValue(uint8_t svn) {
  if (svn < 0x80) return std::string{0x02, 0x01, static_cast<char>(svn)};
  return std::string{0x02, 0x02, 0x00, static_cast<char>(svn)};
}

// DER of a short string: tag, length, text.
std::string Tagged(char tag, const std::string& text) {
  return absl::StrCat(std::string{tag, static_cast<char>(text.size())}, text);
}

}  // namespace

absl::StatusOr<EvpPkeyPtr> MakeP384Key() {
  EvpPkeyPtr key(EVP_EC_gen("P-384"));
  if (key == nullptr) return Failed("cannot make a P-384 key");
  return key;
}

absl::StatusOr<std::string> MakeCertificate(const CertificateSpec& spec) {
  X509Ptr x509(X509_new());
  const NamePtr subject = MakeName(spec.common_name, spec.subject_serial);
  const NamePtr issuer = MakeName(spec.issuer_name, spec.issuer_serial);
  const TimePtr from = MakeTime(spec.not_before);
  const TimePtr until = MakeTime(spec.not_after);
  const bool built = x509 != nullptr && subject != nullptr && issuer != nullptr &&
                     from != nullptr && until != nullptr && X509_set_version(x509.get(), 2) == 1 &&
                     ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509.get()), spec.serial) == 1 &&
                     X509_set_subject_name(x509.get(), subject.get()) == 1 &&
                     X509_set_issuer_name(x509.get(), issuer.get()) == 1 &&
                     X509_set1_notBefore(x509.get(), from.get()) == 1 &&
                     X509_set1_notAfter(x509.get(), until.get()) == 1 &&
                     X509_set_pubkey(x509.get(), spec.subject_key) == 1 &&
                     AddExtensions(spec, x509.get()) &&
                     X509_sign(x509.get(), spec.issuer_key, spec.digest) > 0;
  unsigned char* der = nullptr;
  const int size = built ? i2d_X509(x509.get(), &der) : -1;
  if (size <= 0) return Failed("cannot make a certificate");
  std::string out(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

absl::StatusOr<std::string> MakeCrl(const CrlSpec& spec) {
  X509CrlPtr crl(X509_CRL_new());
  const NamePtr issuer = MakeName(spec.issuer_name);
  const TimePtr from = MakeTime(spec.this_update);
  bool built = crl != nullptr && issuer != nullptr && from != nullptr &&
               X509_CRL_set_version(crl.get(), 1) == 1 &&
               X509_CRL_set_issuer_name(crl.get(), issuer.get()) == 1 &&
               X509_CRL_set1_lastUpdate(crl.get(), from.get()) == 1;
  if (built && spec.next_update.has_value()) {
    const TimePtr until = MakeTime(*spec.next_update);
    built = until != nullptr && X509_CRL_set1_nextUpdate(crl.get(), until.get()) == 1;
  }
  for (uint64_t serial : spec.revoked) {
    std::unique_ptr<X509_REVOKED, OpensslDelete<X509_REVOKED_free>> entry(X509_REVOKED_new());
    std::unique_ptr<ASN1_INTEGER, OpensslDelete<ASN1_INTEGER_free>> number(ASN1_INTEGER_new());
    built = built && entry != nullptr && number != nullptr &&
            ASN1_INTEGER_set_uint64(number.get(), serial) == 1 &&
            X509_REVOKED_set_serialNumber(entry.get(), number.get()) == 1 &&
            X509_REVOKED_set_revocationDate(entry.get(), from.get()) == 1 &&
            X509_CRL_add0_revoked(crl.get(), entry.get()) == 1;
    if (built) entry.release();
  }
  built = built && X509_CRL_sort(crl.get()) == 1 &&
          X509_CRL_sign(crl.get(), spec.issuer_key, spec.digest) > 0;
  unsigned char* der = nullptr;
  const int size = built ? i2d_X509_CRL(crl.get(), &der) : -1;
  if (size <= 0) return Failed("cannot make a revocation list");
  std::string out(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

ExtensionList LeafExtensions(const LeafSpec& spec) {
  ExtensionList list = {
      {sev_snp::kOidStructVersion, SvnValue(1)},
      {sev_snp::kOidProductName, Tagged(0x16, spec.product_name)},
      {sev_snp::kOidBootLoader, SvnValue(spec.tcb.boot_loader)},
      {sev_snp::kOidTee, SvnValue(spec.tcb.tee)},
      {sev_snp::kOidSnp, SvnValue(spec.tcb.snp)},
      {sev_snp::kOidMicrocode, SvnValue(spec.tcb.microcode)},
  };
  if (spec.product == v1::TURIN) list.emplace_back(sev_snp::kOidFmc, SvnValue(spec.tcb.fmc));
  if (!spec.hwid.empty()) {
    list.emplace_back(sev_snp::kOidHwid, spec.wrap_hwid ? Tagged(0x04, spec.hwid) : spec.hwid);
  }
  if (!spec.csp_id.empty()) list.emplace_back(sev_snp::kOidCspId, Tagged(0x16, spec.csp_id));
  return list;
}

std::string SerializeReport(const sev_snp::Report& report) {
  crypto::ByteWriter writer;
  const auto version = [&writer](const sev_snp::FirmwareVersion& firmware) {
    writer.U8(firmware.build).U8(firmware.minor).U8(firmware.major).U8(0);
  };
  const auto zeros = [&writer](size_t end) {
    writer.Fixed(std::vector<uint8_t>(end - writer.str().size()));
  };
  const uint32_t keys = (report.author_key_enabled ? 1u : 0u) | (report.mask_chip_key ? 2u : 0u) |
                        static_cast<uint32_t>(report.signing_key) << 2;
  writer.U32(report.version).U32(report.guest_svn).U64(report.policy);
  writer.Fixed(report.family_id).Fixed(report.image_id);
  writer.U32(report.vmpl).U32(report.signature_algorithm).Fixed(report.current_tcb);
  writer.U64(report.platform_info).U32(keys).U32(0);
  writer.Fixed(report.report_data).Fixed(report.measurement).Fixed(report.host_data);
  writer.Fixed(report.id_key_digest).Fixed(report.author_key_digest);
  writer.Fixed(report.report_id).Fixed(report.report_id_ma).Fixed(report.reported_tcb);
  writer.U8(report.cpuid_family).U8(report.cpuid_model).U8(report.cpuid_stepping);
  zeros(0x1A0);
  writer.Fixed(report.chip_id).Fixed(report.committed_tcb);
  version(report.current);
  version(report.committed);
  writer.Fixed(report.launch_tcb);
  writer.U64(report.launch_mitigations).U64(report.current_mitigations);
  zeros(sev_snp::kReportSize);
  return std::move(writer).Take();
}

}  // namespace caravan::attestation::insecure_software
