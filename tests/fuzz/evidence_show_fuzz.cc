// SPDX-License-Identifier: Apache-2.0
//
// Evidence of every kind, put into words: the first byte of the input chooses the kind.
#include <string>

#include "attestation/evidence.h"
#include "attestation/insecure_software/forge.h"
#include "attestation/insecure_software/forge_intel.h"
#include "attestation/insecure_software/forge_nvidia.h"
#include "attestation/show/dump.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

using attestation::EvidenceKind;

constexpr uint8_t kFirstKind = 1;
constexpr uint8_t kKinds = 5;

std::string OfKind(EvidenceKind kind, const std::string& report) {
  return std::string(1, static_cast<char>(static_cast<int>(kind) - kFirstKind)) + report;
}

std::string MakeQuote(uint16_t version, uint32_t tee, attestation::intel::BodyType type,
                      size_t size) {
  const attestation::EvpPkeyPtr key = *attestation::insecure_software::MakeP256Key();
  attestation::insecure_software::QuoteSpec spec;
  spec.version = version;
  spec.tee_type = tee;
  spec.body_type = type;
  spec.body.assign(size, 'b');
  spec.attestation_key = spec.pck_key = key.get();
  spec.certification_data = "-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n";
  return *attestation::insecure_software::MakeQuote(spec);
}

std::string MakeDeviceReport() {
  attestation::insecure_software::DeviceReportSpec spec;
  spec.blocks = {{.index = 1, .digest = std::string(48, 'd')}};
  spec.opaque = {{3, "550.90.07"}, {6, std::string(8, '\1')}, {36, std::string(1, '\2')}};
  return attestation::insecure_software::SerializeDeviceReport(spec) + std::string(96, 's');
}

}  // namespace

std::vector<std::string> Seeds() {
  attestation::sev_snp::Report report;
  report.version = 5;
  return {
      OfKind(EvidenceKind::kSevSnp, attestation::insecure_software::SerializeReport(report)),
      OfKind(EvidenceKind::kTdx,
             MakeQuote(5, attestation::intel::kTeeTdx, attestation::intel::BodyType::kTd15, 648)),
      OfKind(EvidenceKind::kSgx,
             MakeQuote(3, attestation::intel::kTeeSgx, attestation::intel::BodyType::kSgx, 384)),
      OfKind(EvidenceKind::kNvidia, MakeDeviceReport()),
      OfKind(EvidenceKind::kVtpm, std::string("caravan vtpm 1\0\0", 16) + std::string(20, '\0'))};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto kind =
      static_cast<attestation::EvidenceKind>(fuzz::kFirstKind + data[0] % fuzz::kKinds);
  // As a report, and as a certificate beside one.
  for (const attestation::Evidence& item :
       {attestation::Evidence{kind, rest, {}}, attestation::Evidence{kind, "", {rest}}}) {
    const attestation::Dump dump = attestation::ShowEvidence(item);
    fuzz::Require(dump.kind == attestation::Name(kind), "a dump is of its evidence's kind");
    fuzz::Require(!dump.malformed || !dump.problems.empty(), "what is malformed is said");
    fuzz::Require(dump.malformed || !dump.sections.empty(), "what is well formed is shown");
    for (const attestation::DumpSection& section : dump.sections) {
      fuzz::Require(!section.title.empty(), "a section has a title");
      for (const attestation::DumpField& field : section.fields) {
        fuzz::Require(!field.name.empty(), "a field has a name");
      }
    }
  }
  return 0;
}
