// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "attestation/policy/explain.h"

namespace caravan::attestation {
namespace {

void ExplainDevices(const v1::NvidiaPolicy& nvidia, ExplainLines* lines) {
  lines->push_back(nvidia.any_device()
                       ? "accepts any genuine device"
                       : absl::StrCat("accepts ", nvidia.pdis_size(), " listed device",
                                      nvidia.pdis_size() == 1 ? "" : "s", ": ",
                                      ShortHexList(nvidia.pdis())));
  const auto count = [lines](uint32_t number, const char* what) {
    lines->push_back(number == 0 ? absl::StrCat("accepts any number of ", what)
                                 : absl::StrCat("requires exactly ", number, " ", what));
  };
  count(nvidia.gpus(), "gpus");
  count(nvidia.switches(), "switches");
  lines->push_back(nvidia.allow_incomplete_set()
                       ? "accepts sets without devices that others are linked to"
                       : "requires every device that others are linked to");
}

void ExplainFirmware(const v1::NvidiaPolicy& nvidia, ExplainLines* lines) {
  if (nvidia.any_firmware()) lines->push_back("ACCEPTS ANY DRIVER AND VBIOS, known holes included");
  for (const v1::NvidiaFloor& floor : nvidia.floors()) {
    std::string line = absl::StrCat("requires on ", floor.chip(), ": vbios >= ", floor.vbios());
    if (!floor.driver().empty()) absl::StrAppend(&line, ", driver >= ", floor.driver());
    lines->push_back(line);
  }
  if (nvidia.any_measurement()) {
    lines->push_back(
        "ACCEPTS ANY MEASUREMENT: debug firmware and DevTools mode "
        "pass unseen");
  } else {
    lines->push_back("requires measurements as in NVIDIA's reference values (RIM)");
    lines->push_back(nvidia.allow_uncovered_measurements()
                         ? "accepts measurements that no reference value speaks of"
                         : "refuses measurements that no reference value speaks of");
  }
  lines->push_back(nvidia.allow_missing_fwid()
                       ? "accepts reports that do not say which firmware signed them"
                       : "requires reports to name the firmware that their certificate is for");
}

const char* ModeText(int mode) {
  switch (mode) {
    case v1::NVIDIA_SPT:
      return "single passthrough (SPT)";
    case v1::NVIDIA_MPT:
      return "multi passthrough (MPT)";
    case v1::NVIDIA_PPCIE:
      return "protected PCIe (PPCIE), IN WHICH NVLINK IS NOT ENCRYPTED";
    default:
      return "modes that their reports do not name";
  }
}

}  // namespace

ExplainLines ExplainNvidia(const v1::NvidiaPolicy& nvidia, bool allow_insecure) {
  ExplainLines lines;
  ExplainDevices(nvidia, &lines);
  ExplainFirmware(nvidia, &lines);
  for (int mode : nvidia.modes()) {
    lines.push_back(absl::StrCat("accepts gpus in ", ModeText(mode)));
  }
  lines.push_back(nvidia.allow_unlocked_switches() ? "accepts switches that are not locked"
                                                   : "requires switches to be locked");
  lines.push_back(nvidia.allow_missing_ocsp()
                      ? "ACCEPTS GENUINE CHAINS WITHOUT A FRESH OCSP ANSWER"
                      : "requires fresh OCSP answers for every CA below the root");
  lines.push_back(nvidia.allow_certificate_hold() ? "accepts certificates on hold"
                                                  : "refuses certificates on hold");
  if (allow_insecure) {
    lines.push_back(nvidia.require_insecure_ocsp()
                        ? "requires fresh OCSP answers of the insecure root's CAs"
                        : "takes an insecure chain without OCSP answers");
  }
  return lines;
}

}  // namespace caravan::attestation
