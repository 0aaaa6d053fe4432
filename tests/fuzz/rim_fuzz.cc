// SPDX-License-Identifier: Apache-2.0
//
// Manifests: what is accepted has the values that were signed; a canonical form is its own.
#include "absl/time/time.h"
#include "attestation/check_list.h"
#include "attestation/insecure_software/forge_rim.h"
#include "attestation/nvidia/rim_check.h"
#include "attestation/nvidia/rim_signature.h"
#include "attestation/nvidia/rim_xml.h"
#include "base/hex.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

namespace forge = attestation::insecure_software;
namespace nvidia = attestation::nvidia;

// One genuine manifest, and a policy that believes its root.
struct World {
  World() {
    const auto chain = forge::MakeRimChain("GH100", now);
    Require(chain.ok(), "a chain can be made");
    const auto certificates = forge::MakeCertificates(*chain);
    Require(certificates.ok(), "certificates can be made");
    nvidia::Rim rim{.tag_id = "tag", .product = "GH100", .version = "545.00"};
    crypto::Sha384Digest digest{};
    rim.golden = {{0, false, "Measurement_0", {digest}},
                  {7, true, "Measurement_7", {digest, digest}}};
    const auto made = forge::SignRim(forge::RimText(rim, *certificates), chain->leaf_key.get());
    Require(made.ok(), "a manifest can be signed");
    document = *made;
    content = nvidia::SignedDocument::Parse(document)->content();
    policy.set_allow_insecure(true);
    policy.add_insecure_root_spki_sha256(
        base::ToHex(attestation::Certificate::Parse(certificates->back())->SpkiSha256()));
  }
  static const World& Get() {
    static const World world;
    return world;
  }

  const absl::Time now = absl::FromUnixSeconds(1'780'000'000);
  std::string document, content;
  attestation::Policy policy;
};

}  // namespace

std::vector<std::string> Seeds() { return {World::Get().document, World::Get().content}; }

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  namespace nvidia = attestation::nvidia;
  const auto& world = fuzz::World::Get();
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)nvidia::ParseRim(text);
  const auto document = nvidia::SignedDocument::Parse(text);
  if (!document.ok()) return 0;
  (void)nvidia::ParseRim(document->content());
  attestation::Endorsements endorsements;
  endorsements.rims.push_back(text);
  attestation::Appraisal appraisal;
  attestation::CheckList checks(&appraisal);
  const auto found = nvidia::FindRim({"RIM", nvidia::RimKind::kDriver, "GH100", "545.00", ""},
                                     endorsements, world.policy, world.now, &checks);
  fuzz::Require(!found.has_value() || document->content() == world.content,
                "an accepted manifest is the one that was signed");
  return 0;
}
