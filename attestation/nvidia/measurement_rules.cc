// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/nvidia/golden.h"
#include "attestation/nvidia/rim.h"
#include "attestation/nvidia/rim_check.h"
#include "attestation/nvidia/rim_id.h"
#include "attestation/nvidia/rules.h"
#include "attestation/ocsp.h"

namespace caravan::attestation::nvidia {
namespace {

constexpr std::string_view kGoldenWhat = "measurements are those of the manifests";
constexpr std::string_view kProductionWhat = "the firmware is production's, DevTools mode is off";
constexpr char kOcspHint[] = "bring the answers of ocsp.ndis.nvidia.com";

std::vector<MeasuredBlock> BlocksOf(const Report& report) {
  std::vector<MeasuredBlock> blocks;
  for (const Measurement& measurement : report.measurements) {
    blocks.push_back({measurement.index, std::string(measurement.digest)});
  }
  return blocks;
}

}  // namespace

std::vector<RimRequest> RimRequestsOf(const Chip& chip, const DeviceInfo& info) {
  // A name that no service can have leaves its hint empty; the manifest is then not found.
  const auto id = [](absl::StatusOr<std::string> name) { return name.ok() ? *name : ""; };
  if (chip.device_class == DeviceClass::kSwitch) {
    return {{.id = "NVIDIA_SWITCH_RIM",
             .kind = RimKind::kSwitch,
             .product = chip.product(),
             .version = info.vbios_version,
             .rim_id = id(SwitchRimId(info.vbios_version))}};
  }
  const std::string product = info.chip_info.empty() ? chip.product() : info.chip_info;
  return {{.id = "NVIDIA_DRIVER_RIM",
           .kind = RimKind::kDriver,
           .product = product,
           .version = info.driver_version,
           .rim_id = id(DriverRimId(product, info.driver_version))},
          {.id = "NVIDIA_VBIOS_RIM",
           .kind = RimKind::kVbios,
           .product = product,
           .version = info.vbios_version,
           .rim_id =
               id(VbiosRimId(info.project, info.project_sku, info.chip_sku, info.vbios_version))}};
}

void CheckChainRevocation(const std::string& id, absl::Span<const Certificate> chain, bool insecure,
                          const Endorsements& endorsements, const v1::NvidiaPolicy& policy,
                          absl::Time now, CheckList* checks) {
  const OcspRule rule{
      .id = id,
      .tolerate_hold = policy.allow_certificate_hold(),
      .waived = insecure ? !policy.require_insecure_ocsp() : policy.allow_missing_ocsp(),
      .hint = kOcspHint,
      .known = endorsements.known_signatures.get()};
  CheckOcsp(rule, endorsements.ocsp_responses, chain, now, checks);
}

void CheckMeasurements(const Report& report, const DeviceInfo& info, const Chip& chip,
                       const Endorsements& endorsements, const Policy& policy, absl::Time now,
                       CheckList* checks) {
  const v1::NvidiaPolicy& rules = policy.nvidia();
  if (rules.any_measurement()) {
    checks->Skip("NVIDIA_GOLDEN", kGoldenWhat, "the policy takes any measurement");
    checks->Skip("NVIDIA_PRODUCTION", kProductionWhat,
                 "only measurements tell, of which the policy takes any");
    return;
  }
  std::vector<VerifiedRim> found;
  const std::vector<RimRequest> requests = RimRequestsOf(chip, info);
  for (const RimRequest& request : requests) {
    std::optional<VerifiedRim> rim = FindRim(request, endorsements, policy, now, checks);
    if (!rim.has_value()) continue;
    checks->appraisal().insecure |= rim->insecure;
    CheckChainRevocation(request.id, rim->chain, rim->insecure, endorsements, rules, now, checks);
    found.push_back(*std::move(rim));
  }
  if (found.size() < requests.size()) {
    checks->Missing("NVIDIA_GOLDEN", kGoldenWhat, "there is no manifest to compare all with");
    return;
  }
  std::vector<const Rim*> rims;
  for (const VerifiedRim& rim : found) rims.push_back(&rim.rim);
  // Where a report does not say, the registers count.
  const bool nvdec0_disabled = !info.nvdec0_enabled.value_or(true);
  const GoldenComparison comparison = CompareGolden(rims, BlocksOf(report), nvdec0_disabled);
  CheckGolden("NVIDIA", comparison, rules.allow_uncovered_measurements(), checks);
  if (!comparison.Matches()) return;
  if (comparison.Count(GoldenFinding::Kind::kUncovered) == 0) {
    checks->Pass("NVIDIA_PRODUCTION", kProductionWhat);
  } else if (rules.allow_uncovered_measurements()) {
    checks->Skip("NVIDIA_PRODUCTION", kProductionWhat,
                 "the policy allows measurements that no manifest speaks of, which may tell "
                 "otherwise");
  }
}

}  // namespace caravan::attestation::nvidia
