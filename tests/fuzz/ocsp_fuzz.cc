// SPDX-License-Identifier: Apache-2.0
//
// Answers of OCSP responders: nothing but a signed "good" gives good.
#include "absl/time/time.h"
#include "attestation/insecure_software/forge_ocsp.h"
#include "attestation/ocsp.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

namespace forge = attestation::insecure_software;

std::string Certify(const char* name, uint64_t serial, EVP_PKEY* key, EVP_PKEY* issuer,
                    absl::Time now, bool is_ca, forge::ExtensionList extensions = {}) {
  forge::CertificateSpec spec;
  spec.common_name = name;
  spec.issuer_name = "issuer";
  spec.subject_key = key;
  spec.issuer_key = issuer;
  spec.serial = serial;
  spec.not_before = now - absl::Hours(24);
  spec.not_after = now + absl::Hours(24);
  spec.is_ca = is_ca;
  spec.extensions = std::move(extensions);
  const auto der = forge::MakeCertificate(spec);
  Require(der.ok(), "a certificate can be made");
  return *der;
}

// The issuer's answers: every status about the certificate but good, and good about another.
struct World {
  World() {
    const EvpPkeyPtr issuer_key = *forge::MakeP384Key(), key = *forge::MakeP384Key();
    issuer = Certify("issuer", 1, issuer_key.get(), issuer_key.get(), now, true);
    leaf = Certify("leaf", 2, key.get(), issuer_key.get(), now, false);
    const std::string other = Certify("other", 9, key.get(), issuer_key.get(), now, false);
    const std::string responder = Certify("responder", 3, key.get(), issuer_key.get(), now, false,
                                          forge::OcspSigningExtensions());
    forge::OcspSpec spec{.certificate = leaf,
                         .issuer = issuer,
                         .this_update = now - absl::Hours(1),
                         .produced_at = now - absl::Hours(1),
                         .next_update = now + absl::Hours(1),
                         .signer = responder,
                         .key = key.get(),
                         .with_signer = true};
    spec.status = forge::OcspStatus::kUnknown;
    Add(spec);
    spec.status = forge::OcspStatus::kRevoked;
    spec.reason = forge::kCertificateHold;
    Add(spec);
    spec.status = forge::OcspStatus::kGood;
    spec.reason = forge::kNoReason;
    spec.certificate = other;
    spec.nonce = "nonce";
    Add(spec);
    spec.signer = issuer;
    spec.key = issuer_key.get();
    Add(spec);
  }
  using EvpPkeyPtr = attestation::EvpPkeyPtr;

  void Add(const forge::OcspSpec& spec) {
    const auto response = forge::MakeOcspResponse(spec);
    Require(response.ok(), "a response can be made");
    responses.push_back(*response);
  }
  static const World& Get() {
    static const World world;
    return world;
  }

  const absl::Time now = absl::FromUnixSeconds(1'780'000'000);
  std::string issuer, leaf;
  std::vector<std::string> responses;
};

}  // namespace

std::vector<std::string> Seeds() { return World::Get().responses; }

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  const auto& world = fuzz::World::Get();
  static const auto& leaf =
      *new attestation::Certificate(*attestation::Certificate::Parse(world.leaf));
  static const auto& issuer =
      *new attestation::Certificate(*attestation::Certificate::Parse(world.issuer));
  const std::string_view der(reinterpret_cast<const char*>(data), size);
  for (const bool asked : {false, true}) {
    const std::optional<std::string> nonce =
        asked ? std::optional<std::string>("nonce") : std::nullopt;
    const auto finding = attestation::ReadOcspResponse(der, {leaf, issuer, world.now, nonce});
    fuzz::Require(finding.outcome != attestation::OcspOutcome::kGood,
                  "nobody signed that it is good");
  }
  return 0;
}
