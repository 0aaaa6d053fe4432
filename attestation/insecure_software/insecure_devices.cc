// SPDX-License-Identifier: Apache-2.0
#include "attestation/insecure_software/insecure_devices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/insecure_software/forge_nvidia.h"
#include "attestation/nvidia/opaque.h"
#include "attestation/nvidia/report.h"
#include "crypto/hash.h"

namespace caravan::attestation {
namespace {

using insecure_software::DeviceReportSpec;

constexpr absl::Duration kLifetime = absl::Hours(24 * 365 * 10);
constexpr absl::Duration kClockSkew = absl::Hours(24);
constexpr char kGpuChip[] = "GH100", kSwitchChip[] = "LS_10";
constexpr size_t kGpuBlocks = 64, kSwitchBlocks = 31;
constexpr size_t kLinks = 18;    // NVLinks of a GPU
constexpr size_t kGpuSlots = 8;  // GPUs that a switch's report has room for
constexpr size_t kPortMap = 64;  // bytes behind them

struct DeviceParts {
  EvpPkeyPtr key;  // the leaf's
  DeviceReportSpec report;
  std::vector<std::string> certificates;  // DER, leaf first
};

// The keys that a node's devices share.
struct SharedKeys {
  EvpPkeyPtr provisioner, identity;
};

std::string PdiOf(const std::string& node_name, const char* chip, size_t index) {
  crypto::ByteWriter writer;
  writer.Label("caravan/1 insecure pdi").Prefixed(node_name).Prefixed(chip);
  writer.U32(static_cast<uint32_t>(index));
  const crypto::Sha256Digest digest = crypto::Sha256(writer.span());
  return std::string(digest.begin(), digest.begin() + nvidia::kPdiSize);
}

// What a GPU links to: the switches' identifiers, little endian; links that are off are zero.
std::string LinksTo(const std::vector<std::string>& switches) {
  std::string links;
  for (size_t i = 0; !switches.empty() && i < kLinks; ++i) {
    const std::string& pdi = switches[i % switches.size()];
    links.append(pdi.rbegin(), pdi.rend());
  }
  links.resize(kLinks * nvidia::kPdiSize, '\0');
  return links;
}

std::string PortsOf(const std::vector<std::string>& gpus) {
  std::string ports;
  for (size_t i = 0; i < std::min(gpus.size(), kGpuSlots); ++i) ports += gpus[i];
  ports.resize(kGpuSlots * nvidia::kPdiSize, '\0');
  return ports + std::string(kPortMap, '\xFF');
}

DeviceReportSpec MakeSpec(size_t blocks) {
  DeviceReportSpec spec;
  for (size_t i = 1; i <= blocks; ++i) {
    spec.blocks.push_back({.index = static_cast<uint8_t>(i),
                           .digest = std::string(nvidia::kDigestSize, static_cast<char>(i))});
  }
  return spec;
}

DeviceReportSpec DescribeGpu(const std::string& fwid, const std::vector<std::string>& switches) {
  const bool linked = !switches.empty();
  DeviceReportSpec spec = MakeSpec(kGpuBlocks);
  spec.opaque = {{nvidia::kVbiosVersion, std::string("\x00\x9f\x00\x96\x01\x00\x00\x00", 8)},
                 {nvidia::kChipSku, std::string("882\0\0\0\0\0\0", 9)},
                 {nvidia::kProject, std::string("1010\0", 5)},
                 {nvidia::kProjectSku, std::string("0200\0", 5)},
                 {nvidia::kDriverVersion, std::string("550.90.07\0", 10)},
                 {nvidia::kNvdec0Status, "\x55"},
                 {nvidia::kFwid, fwid},
                 {nvidia::kProtectedPcieStatus, linked ? "\xAA" : "\x55"},
                 {nvidia::kPdis, LinksTo(switches)},
                 {nvidia::kOpaqueDataVersion, std::string("\x01\x00", 2)},
                 {nvidia::kFeatureFlag, std::string(linked ? "\x02\x00" : "\x00\x00", 2)}};
  return spec;
}

DeviceReportSpec DescribeSwitch(const std::string& pdi, const std::vector<std::string>& gpus) {
  DeviceReportSpec spec = MakeSpec(kSwitchBlocks);
  spec.opaque = {{nvidia::kVbiosVersion, "96.10.55.00.01"},
                 {nvidia::kPdis, pdi},
                 {nvidia::kLockSwitchStatus, std::string("\x01\x00", 2)},
                 {nvidia::kSwitchGpuPdis, PortsOf(gpus)}};
  return spec;
}

absl::StatusOr<DeviceParts> MakeDevice(const char* chip, const std::string& pdi,
                                       const std::string& fwid, const InsecureRoot& root,
                                       const SharedKeys& shared, absl::Time now) {
  absl::StatusOr<EvpPkeyPtr> leaf_key = insecure_software::MakeP384Key();
  if (!leaf_key.ok()) return leaf_key.status();
  absl::StatusOr<EvpPkeyPtr> ca_key = insecure_software::MakeP384Key();
  if (!ca_key.ok()) return ca_key.status();
  DeviceParts device;
  for (const insecure_software::CertificateSpec& spec :
       insecure_software::DeviceChain({.chip = chip,
       .pdi = pdi,
       .fwid = fwid,
       .keys = {leaf_key->get(), ca_key->get(), shared.provisioner.get(), shared.identity.get(),
                root.ark_key()},
       .not_before = now - kClockSkew,
       .not_after = now + kLifetime})) {
    absl::StatusOr<std::string> der = insecure_software::MakeCertificate(spec);
    if (!der.ok()) return der.status();
    device.certificates.push_back(*std::move(der));
  }
  device.key = *std::move(leaf_key);
  return device;
}

class InsecureDevices : public DeviceAttester {
 public:
  explicit InsecureDevices(std::vector<DeviceParts> devices) : devices_(std::move(devices)) {}

  size_t DeviceCount() const override { return devices_.size(); }
  absl::StatusOr<Evidence> Collect(size_t index, const std::array<uint8_t, 32>& nonce) override {
    if (index >= devices_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("insecure devices: index ", index, ", there are ", devices_.size()));
    }
    const DeviceParts& device = devices_[index];
    DeviceReportSpec spec = device.report;
    spec.nonce.assign(nonce.begin(), nonce.end());
    absl::StatusOr<std::string> report = insecure_software::SignDeviceReport(
        device.key.get(), insecure_software::SerializeDeviceReport(spec));
    if (!report.ok()) return report.status();
    return Evidence{EvidenceKind::kNvidia, *std::move(report), device.certificates};
  }
  std::string Describe() const override { return "insecure nvidia"; }

 private:
  const std::vector<DeviceParts> devices_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceAttester>> MakeInsecureDevices(
    const InsecureRoot& root, const InsecureDevicesOptions& options, absl::Time now) {
  if (options.gpus == 0 || options.gpus > kMaxInsecureDevices ||
      options.switches > kMaxInsecureDevices) {
    return absl::InvalidArgumentError(absl::StrCat("insecure devices: ", options.gpus, " gpus and ",
                                                   options.switches, " switches, expected 1 to ",
                                                   kMaxInsecureDevices, " and at most as many"));
  }
  absl::StatusOr<EvpPkeyPtr> provisioner = insecure_software::MakeP384Key();
  if (!provisioner.ok()) return provisioner.status();
  absl::StatusOr<EvpPkeyPtr> identity = insecure_software::MakeP384Key();
  if (!identity.ok()) return identity.status();
  const SharedKeys shared{*std::move(provisioner), *std::move(identity)};
  std::vector<std::string> gpus, switches;
  for (size_t i = 0; i < options.gpus; ++i) gpus.push_back(PdiOf(options.node_name, kGpuChip, i));
  for (size_t i = 0; i < options.switches; ++i) {
    switches.push_back(PdiOf(options.node_name, kSwitchChip, i));
  }
  const std::string fwid(nvidia::kDigestSize, '\xF1');
  std::vector<DeviceParts> devices;
  for (const std::string& pdi : gpus) {
    absl::StatusOr<DeviceParts> device = MakeDevice(kGpuChip, pdi, fwid, root, shared, now);
    if (!device.ok()) return device.status();
    device->report = DescribeGpu(fwid, switches);
    devices.push_back(*std::move(device));
  }
  for (const std::string& pdi : switches) {
    absl::StatusOr<DeviceParts> device = MakeDevice(kSwitchChip, pdi, fwid, root, shared, now);
    if (!device.ok()) return device.status();
    device->report = DescribeSwitch(pdi, gpus);
    devices.push_back(*std::move(device));
  }
  return std::make_unique<InsecureDevices>(std::move(devices));
}

}  // namespace caravan::attestation
