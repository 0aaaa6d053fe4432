// SPDX-License-Identifier: Apache-2.0
//
// What AMD's and NVIDIA's certificates say of their device: the first byte names an extension of a
// certificate that is right otherwise, or the subject's serial number; the rest stands there.
#include "attestation/insecure_software/forge.h"
#include "attestation/insecure_software/forge_intel.h"
#include "attestation/insecure_software/forge_nvidia.h"
#include "attestation/nvidia/device_certificate.h"
#include "attestation/sev_snp/leaf.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

namespace forge = attestation::insecure_software;
namespace nvidia = attestation::nvidia;
namespace sev_snp = attestation::sev_snp;

// A place for a value, and its neighbours.
struct Place {
  forge::ExtensionList extensions;
  size_t index = 0;  // behind the last: the subject's serial number
};

const std::vector<Place>& Places() {
  static const auto& places = *new std::vector<Place>([] {
    const std::string fwid(48, 'f');
    std::vector<Place> all;
    for (const forge::ExtensionList& extensions :
         {forge::LeafExtensions(
              {.product_name = "Milan-B0", .tcb = {}, .hwid = std::string(64, '\4')}),
          forge::LeafExtensions({.product_name = "Turin-B0",
          .product = v1::TURIN,
          .tcb = {},
          .hwid = std::string(8, '\2'),
          .wrap_hwid = true}),
          forge::LeafExtensions({.product_name = "Milan", .tcb = {}, .csp_id = "provider"}),
          forge::ExtensionList{
              {nvidia::kOidCompositeDeviceId, forge::CompositeDeviceIdExtension(fwid)}},
          forge::ExtensionList{{nvidia::kOidDiceTcbInfo, forge::DiceTcbInfoExtension(fwid)}}}) {
      for (size_t i = 0; i < extensions.size(); ++i) all.push_back({extensions, i});
    }
    all.push_back({{}, 0});
    return all;
  }());
  return places;
}

void CheckAmd(const attestation::Certificate& certificate) {
  const auto leaf = sev_snp::ParseLeaf(certificate);
  if (!leaf.ok()) return;
  const bool vcek = leaf->kind == sev_snp::SigningKey::kVcek;
  const size_t size = leaf->product == v1::TURIN ? 8 : 64;
  Require(vcek || leaf->kind == sev_snp::SigningKey::kVlek, "a leaf is of one kind");
  Require(leaf->hwid.size() == (vcek ? size : 0), "a VCEK alone has a chip id, of its size");
}

void CheckNvidia(const attestation::Certificate& certificate) {
  const auto fwid = nvidia::CertifiedFwid(certificate);
  Require(!fwid.ok() || fwid->size() == nvidia::kDigestSize, "an FWID has its size");
  Require(!fwid.ok() || nvidia::LooksLikeLeaf(certificate), "what names firmware is a leaf");
  (void)nvidia::CertifiedPdi(certificate);
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const Place& place : Places()) {
    const bool extension = place.index < place.extensions.size();
    seeds.push_back(std::string(1, static_cast<char>(seeds.size())) +
                    (extension ? place.extensions[place.index].second : "480123456789abcdef"));
  }
  return seeds;
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  namespace forge = attestation::insecure_software;
  static EVP_PKEY* const key = forge::MakeP256Key()->release();
  if (size == 0 || size > 8192) return 0;
  fuzz::Place place = fuzz::Places()[data[0] % fuzz::Places().size()];
  const std::string value(reinterpret_cast<const char*>(data) + 1, size - 1);
  forge::CertificateSpec spec{.common_name = "leaf",
                              .issuer_name = "ca",
                              .subject_key = key,
                              .issuer_key = key,
                              .not_before = absl::UnixEpoch(),
                              .not_after = absl::UnixEpoch()};
  if (place.index < place.extensions.size()) {
    place.extensions[place.index].second = value;
  } else {
    spec.subject_serial = value;
  }
  spec.extensions = std::move(place.extensions);
  const auto der = forge::MakeCertificate(spec);
  if (!der.ok()) return 0;  // a name of that form cannot be made
  const auto certificate = attestation::Certificate::Parse(*der);
  if (!certificate.ok()) return 0;
  fuzz::CheckAmd(*certificate);
  fuzz::CheckNvidia(*certificate);
  return 0;
}
