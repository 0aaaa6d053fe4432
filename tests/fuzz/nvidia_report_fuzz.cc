// SPDX-License-Identifier: Apache-2.0
//
// Measurement reports of GPUs and switches: what is read lies inside the input, in order, and
// covers it; what a report says about its device is bounded, whichever class it is taken for.
#include <set>

#include "attestation/insecure_software/forge_nvidia.h"
#include "attestation/nvidia/opaque.h"
#include "attestation/nvidia/report.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

namespace nvidia = attestation::nvidia;
using attestation::insecure_software::DeviceReportSpec;

constexpr size_t kMaxPeers = 64;

std::string Make(size_t blocks, std::vector<std::pair<uint16_t, std::string>> opaque) {
  DeviceReportSpec spec;
  for (size_t i = 1; i <= blocks; ++i) {
    spec.blocks.push_back({.index = static_cast<uint8_t>(i),
                           .digest = std::string(nvidia::kDigestSize, static_cast<char>(i))});
  }
  spec.opaque = std::move(opaque);
  return attestation::insecure_software::SerializeDeviceReport(spec) +
         std::string(nvidia::kSignatureSize, '\x11');
}

void RequireInside(const std::string& bytes, std::string_view view) {
  Require(view.data() >= bytes.data() && view.data() + view.size() <= bytes.data() + bytes.size(),
          "a report's parts lie in its bytes");
}

}  // namespace

std::vector<std::string> Seeds() {
  return {Make(4, {{nvidia::kVbiosVersion, std::string("\x00\x9f\x00\x96\x01\x00\x00\x00", 8)},
                   {nvidia::kDriverVersion, std::string("550.90.07\0", 10)},
                   {nvidia::kNvdec0Status, "\x55"},
                   {nvidia::kFwid, std::string(nvidia::kDigestSize, 'f')},
                   {nvidia::kProtectedPcieStatus, "\xAA"},
                   {nvidia::kPdis, std::string(144, 'p')},
                   {nvidia::kFeatureFlag, std::string("\x02\x00", 2)}}),
          Make(2, {{nvidia::kVbiosVersion, "96.10.55.00.01"},
                   {nvidia::kPdis, "12345678"},
                   {nvidia::kLockSwitchStatus, std::string("\x01\x00", 2)},
                   {nvidia::kSwitchGpuPdis, std::string(128, 'g')}}),
          Make(1, {})};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  namespace nvidia = attestation::nvidia;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto report = nvidia::ParseReport(bytes);
  if (!report.ok()) return 0;
  for (std::string_view view : {report->nonce, report->responder_nonce, report->signed_bytes,
                                report->signature, report->trailing}) {
    fuzz::RequireInside(bytes, view);
  }
  fuzz::Require(report->signed_bytes.data() == bytes.data(), "the signature covers the beginning");
  fuzz::Require(report->signed_bytes.size() + report->signature.size() + report->trailing.size() ==
                    bytes.size(),
                "a report's parts leave nothing out");
  std::set<int> indices;
  for (const nvidia::Measurement& measurement : report->measurements) {
    fuzz::RequireInside(bytes, measurement.digest);
    fuzz::Require(measurement.digest.size() == nvidia::kDigestSize, "measurements are digests");
    fuzz::Require(measurement.index > 0 && indices.insert(measurement.index).second,
                  "no index stands twice");
  }
  fuzz::Require(report->opaque.size() <= nvidia::kMaxOpaqueFields, "opaque fields are bounded");
  for (nvidia::DeviceClass device_class :
       {nvidia::DeviceClass::kGpu, nvidia::DeviceClass::kSwitch}) {
    const auto info = nvidia::ReadDeviceInfo(device_class, *report);
    if (!info.ok()) continue;
    fuzz::Require(info->peers.size() <= fuzz::kMaxPeers, "links are bounded");
    if (info->fwid.has_value()) fuzz::RequireInside(bytes, *info->fwid);
  }
  return 0;
}
