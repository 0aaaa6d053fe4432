// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/forge_rim.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "attestation/ecdsa.h"
#include "attestation/nvidia/rim_xml.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::insecure_software {
namespace {

std::string Base64(std::string_view bytes) {
  return absl::Base64Escape(absl::string_view(bytes.data(), bytes.size()));
}

std::string Resource(const nvidia::GoldenEntry& entry) {
  std::string hashes;
  for (size_t i = 0; i < entry.alternatives.size(); ++i) {
    absl::StrAppend(&hashes, " ns2:Hash", i, "=\"", base::ToHex(entry.alternatives[i]), "\"");
  }
  return absl::StrCat("    <ns0:Resource type=\"Measurement\" index=\"", int{entry.index},
                      "\" active=\"", entry.active ? "True" : "False", "\" alternatives=\"",
                      entry.alternatives.size(), "\"", hashes, " name=\"", entry.name,
                      "\" size=\"48\"/>\n");
}

constexpr char kSignedInfo[] =
    "<ds:SignedInfo><ds:CanonicalizationMethod "
    "Algorithm=\"http://www.w3.org/2006/12/xml-c14n11\"/><ds:SignatureMethod "
    "Algorithm=\"http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384\"/><ds:Reference "
    "URI=\"\"><ds:Transforms><ds:Transform "
    "Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\"/><ds:Transform "
    "Algorithm=\"http://www.w3.org/2006/12/xml-c14n11\"/></ds:Transforms><ds:DigestMethod "
    "Algorithm=\"http://www.w3.org/2001/04/xmldsig-more#sha384\"/><ds:DigestValue>";

}  // namespace

absl::StatusOr<RimChain> MakeRimChain(const std::string& product, absl::Time now) {
  RimChain chain;
  for (EvpPkeyPtr* key :
       {&chain.root_key, &chain.product_key, &chain.signing_key, &chain.leaf_key}) {
    absl::StatusOr<EvpPkeyPtr> made = MakeP384Key();
    if (!made.ok()) return made.status();
    *key = *std::move(made);
  }
  const auto spec = [&](const std::string& name, const EvpPkeyPtr& key,
                        const CertificateSpec* issuer, uint64_t serial, bool is_ca) {
    CertificateSpec made;
    made.common_name = absl::StrCat("insecure ", name);
    made.issuer_name = issuer == nullptr ? made.common_name : issuer->common_name;
    made.subject_key = key.get();
    made.issuer_key = issuer == nullptr ? key.get() : issuer->subject_key;
    made.serial = serial;
    made.not_before = now - absl::Hours(24);
    made.not_after = now + absl::Hours(24);
    made.is_ca = is_ca;
    return made;
  };
  chain.root = spec("NVIDIA CoRIM signing Root CA", chain.root_key, nullptr, 1, true);
  chain.product = spec(absl::StrCat("NVIDIA Reference Value ", product, " CA"), chain.product_key,
                       &chain.root, 2, true);
  chain.signing = spec(absl::StrCat("NVIDIA Reference Value L3 ", product, " 001"),
                       chain.signing_key, &chain.product, 3, true);
  chain.signing.path_length = 0;
  chain.leaf = spec("HCC RIM L4 Signer", chain.leaf_key, &chain.signing, 4, false);
  return chain;
}

absl::StatusOr<std::vector<std::string>> MakeCertificates(const RimChain& chain) {
  std::vector<std::string> certificates;
  for (const CertificateSpec* spec : {&chain.leaf, &chain.signing, &chain.product, &chain.root}) {
    absl::StatusOr<std::string> der = MakeCertificate(*spec);
    if (!der.ok()) return der.status();
    certificates.push_back(*std::move(der));
  }
  return certificates;
}

std::string RimText(const nvidia::Rim& rim, const std::vector<std::string>& certificates) {
  std::string resources, chain;
  for (const nvidia::GoldenEntry& entry : rim.golden) resources += Resource(entry);
  for (const std::string& der : certificates) {
    absl::StrAppend(&chain, "<ds:X509Certificate>", Base64(der), "</ds:X509Certificate>");
  }
  return absl::StrCat(
      "<SoftwareIdentity xmlns=\"http://standards.iso.org/iso/19770/-2/2015/schema.xsd\" "
      "xmlns:ns0=\"http://standards.iso.org/iso/19770/-2/2015/schema.xsd\" "
      "xmlns:ns2=\"http://www.w3.org/2001/04/xmlenc#sha384\" corpus=\"false\" name=\"",
      rim.product, "\" tagId=\"", rim.tag_id,
      "\" version=\"1.0\" tagVersion=\"0\">\n  <ns0:Entity name=\"NVIDIA Corporation\" "
      "role=\"softwareCreator tagCreator\"/>\n  <ns0:Meta colloquialVersion=\"",
      rim.version, "\" edition=\"", rim.kind == nvidia::RimKind::kSwitch ? "SWITCH" : "GPU",
      "\" product=\"", rim.product,
      "\" revision=\"r1\" PayloadType=\"direct\"/>\n  <ns0:Payload>\n", resources,
      "  </ns0:Payload>\n<ds:Signature xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\">",
      kSignedInfo, kRimDigest,
      "</ds:DigestValue></ds:Reference></ds:SignedInfo><ds:SignatureValue>", kRimSignature,
      "</ds:SignatureValue><ds:KeyInfo><ds:X509Data>", chain,
      "</ds:X509Data></ds:KeyInfo></ds:Signature></SoftwareIdentity>");
}

absl::StatusOr<std::string> SignRim(std::string text, EVP_PKEY* key) {
  absl::StatusOr<nvidia::EnvelopedXml> parts = nvidia::SplitEnvelopedXml(text);
  if (!parts.ok()) return parts.status();
  const crypto::Sha384Digest digest = crypto::Sha384(crypto::AsBytes(parts->content));
  const std::string digest_text =
      Base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
  absl::StrReplaceAll({{kRimDigest, digest_text}}, &text);
  parts = nvidia::SplitEnvelopedXml(text);
  if (!parts.ok()) return parts.status();
  const absl::StatusOr<std::string> signature = SignEcdsa(Curve::kP384, key, parts->signed_info);
  if (!signature.ok()) return signature.status();
  absl::StrReplaceAll({{kRimSignature, Base64(*signature)}}, &text);
  return text;
}

}  // namespace caravan::attestation::insecure_software
