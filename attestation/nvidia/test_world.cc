// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/test_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::nvidia {
namespace {

using insecure_software::CertificateSpec;

constexpr size_t kGpuBlocks = 64;
constexpr size_t kSwitchBlocks = 31;
constexpr size_t kLinks = 18;

// Types that are of no interest to the verifier are in real reports too.
void DescribeGpu(const std::string& chip, const std::string& fwid, TestDevice* device) {
  auto& opaque = device->report.opaque;
  opaque = {{kVbiosVersion, std::string("\x00\x9f\x00\x96\x01\x00\x00\x00", 8)},
            {14, std::string("\xb1\x03\x00\x00", 4)},
            {kChipSku, std::string("882\0\0\0\0\0\0", 9)},
            {kProject, std::string("1010\0", 5)},
            {kProjectSku, std::string("0200\0", 5)},
            {kDriverVersion, std::string("550.90.07\0", 10)},
            {kNvdec0Status, "\x55"},
            {kFwid, fwid},
            {kProtectedPcieStatus, "\x55"},
            {kOpaqueDataVersion, std::string("\x01\x00", 2)},
            {kFeatureFlag, std::string("\x00\x00", 2)}};
  if (chip != "GH100") {
    device->Opaque(kVbiosVersion) = std::string("\x00\x88\x00\x97\x0f\x00\x00\x00", 8);
    device->Opaque(kSysEnableStatus) = "\x07\x07";
  }
}

void DescribeSwitch(TestDevice* device) {
  device->report.opaque = {{kVbiosVersion, "96.10.55.00.01"},
                           {kPdis, device->pdi},
                           {23, std::string("\xec\x00", 2)},
                           {24, std::string("\x02\x00", 2)},
                           {kLockSwitchStatus, std::string("\x01\x00", 2)},
                           {kSwitchGpuPdis, std::string(8 * kPdiSize, '\0')}};
}

}  // namespace

void TestDevice::DropOpaque(uint16_t type) {
  std::erase_if(report.opaque, [type](const auto& field) { return field.first == type; });
}

TestWorld::TestWorld(const std::string& chip) {
  for (size_t i = 0; i < nonce.bytes.size(); ++i) nonce.bytes[i] = static_cast<uint8_t>(i + 1);
  expected = ReportDataExpectation::DevicesExactly(nonce);
  Add(chip);
  MakePolicy(chip);
}

TestDevice& TestWorld::Add(const std::string& chip) {
  devices_.push_back(std::make_unique<TestDevice>());
  TestDevice& device = *devices_.back();
  const bool is_switch = chip == "LS_10";
  device.device_class = is_switch ? DeviceClass::kSwitch : DeviceClass::kGpu;
  device.pdi = std::string("\xA1\xB2\xC3\xD4\xE5\xF6\x07", 7) + static_cast<char>(devices_.size());
  device.leaf_key = *insecure_software::MakeP384Key();
  device.ca_key = *insecure_software::MakeP384Key();
  device.report_key = device.leaf_key.get();
  const std::string fwid(kDigestSize, '\xF1');
  device.chain = insecure_software::DeviceChain(
      {.chip = chip,
       .pdi = device.pdi,
       .fwid = fwid,
       .keys = {device.leaf_key.get(), device.ca_key.get(), provisioner_key.get(),
                identity_key.get(), root_key.get()},
       .not_before = now - absl::Hours(24),
       .not_after = now + absl::Hours(24)});
  device.report.nonce.assign(nonce.bytes.begin(), nonce.bytes.end());
  for (size_t i = 1; i <= (is_switch ? kSwitchBlocks : kGpuBlocks); ++i) {
    device.report.blocks.push_back({.index = static_cast<uint8_t>(i),
                                    .digest = std::string(kDigestSize, static_cast<char>(i))});
  }
  if (is_switch) {
    DescribeSwitch(&device);
  } else {
    DescribeGpu(chip, fwid, &device);
  }
  return device;
}

void TestWorld::Link() {
  std::string switches, gpus;
  for (const auto& device : devices_) {
    if (device->device_class == DeviceClass::kGpu) {
      gpus += device->pdi;
    } else {
      switches += std::string(device->pdi.rbegin(), device->pdi.rend());
    }
  }
  // Links that are off are zero.
  std::string links = switches + switches;
  links.resize(kLinks * kPdiSize, '\0');
  gpus.resize(8 * kPdiSize, '\0');
  for (const auto& device : devices_) {
    if (device->device_class == DeviceClass::kGpu) {
      device->Opaque(kPdis) = links;
      device->Opaque(kProtectedPcieStatus) = "\xAA";
      device->Opaque(kFeatureFlag) = std::string("\x02\x00", 2);
    } else {
      device->Opaque(kSwitchGpuPdis) = gpus + std::string(64, '\xFF');
    }
  }
}

TestWorld TestWorld::Machine(int gpus, int switches) {
  TestWorld world;
  for (int i = 1; i < gpus; ++i) world.Add("GH100");
  for (int i = 0; i < switches; ++i) world.Add("LS_10");
  world.Link();
  v1::NvidiaFloor* floor = world.nvidia().add_floors();
  floor->set_chip("LS_10");
  floor->set_vbios("96.10.55.00.01");
  world.nvidia().add_modes(v1::NVIDIA_PPCIE);
  world.nvidia().set_allow_missing_fwid(true);
  world.nvidia().clear_pdis();
  world.nvidia().set_any_device(true);
  world.nvidia().set_gpus(static_cast<uint32_t>(gpus));
  world.nvidia().set_switches(static_cast<uint32_t>(switches));
  return world;
}

void TestWorld::MakePolicy(const std::string& chip) {
  policy.set_name("world");
  policy.set_allow_insecure(true);
  nvidia().add_pdis(base::ToHex(crypto::AsBytes(device().pdi)));
  nvidia().set_any_measurement(true);
  v1::NvidiaFloor* floor = nvidia().add_floors();
  floor->set_chip(chip);
  if (chip == "LS_10") {
    floor->set_vbios("96.10.55.00.01");
    nvidia().set_allow_missing_fwid(true);
  } else {
    floor->set_vbios(chip == "GH100" ? "96.00.9F.00.01" : "97.00.88.00.0F");
    floor->set_driver("550.90.07");
  }
  nvidia().add_modes(v1::NVIDIA_SPT);
}

EvidenceSet TestWorld::MakeEvidence() {
  EvidenceSet set;
  for (const auto& device : devices_) {
    Evidence item{
        EvidenceKind::kNvidia, insecure_software::SerializeDeviceReport(device->report), {}};
    device->edit_report(&item.report);
    auto report = insecure_software::SignDeviceReport(device->report_key, item.report);
    EXPECT_TRUE(report.ok()) << report.status();
    item.report = *std::move(report);
    device->edit_signed_report(&item.report);
    for (const CertificateSpec& spec : device->chain) {
      auto der = insecure_software::MakeCertificate(spec);
      EXPECT_TRUE(der.ok()) << der.status();
      item.certificates.push_back(*std::move(der));
    }
    if (pin_root) Pin(item.certificates.back());
    device->edit_certificates(&item.certificates);
    set.items.push_back(std::move(item));
  }
  edit_evidence(&set);
  return set;
}

Appraisal TestWorld::Appraise() {
  const EvidenceSet set = MakeEvidence();
  endorsements.known_signatures = known_;
  return VerifyStored(set, endorsements, policy, expected, now);
}

void TestWorld::Pin(const std::string& der) {
  auto certificate = Certificate::Parse(der);
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  const std::string digest = base::ToHex(certificate->SpkiSha256());
  const auto& pins = policy.insecure_root_spki_sha256();
  if (std::find(pins.begin(), pins.end(), digest) == pins.end()) {
    policy.add_insecure_root_spki_sha256(digest);
  }
}

std::string TestWorld::OutcomeOf(const Appraisal& appraisal, std::string_view id) {
  std::string outcome = "absent";
  for (const Check& check : appraisal.checks) {
    if (check.id != id) continue;
    if (check.outcome != Outcome::kPassed) return std::string(Name(check.outcome));
    outcome = "passed";
  }
  return outcome;
}

std::string TestWorld::Explain(const Appraisal& appraisal) {
  std::string text(Name(appraisal.verdict));
  for (const Check& check : appraisal.checks) {
    if (check.outcome == Outcome::kPassed) continue;
    absl::StrAppend(&text, "\n  ", check.id, " ", std::string(Name(check.outcome)), " (",
                    check.what, "): ", check.detail);
  }
  return text;
}

void TestWorld::ExpectRefusedBy(std::string_view id, Verdict verdict) {
  const Appraisal appraisal = Appraise();
  EXPECT_EQ(appraisal.verdict, verdict) << Explain(appraisal);
  ASSERT_NE(appraisal.Decisive(), nullptr) << Explain(appraisal);
  EXPECT_EQ(appraisal.Decisive()->id, id) << Explain(appraisal);
  EXPECT_FALSE(appraisal.Decisive()->detail.empty());
}

void TestWorld::ExpectAccepted() {
  const Appraisal appraisal = Appraise();
  EXPECT_EQ(appraisal.verdict, Verdict::kWarning) << Explain(appraisal);
  EXPECT_TRUE(appraisal.insecure);
}

}  // namespace caravan::attestation::nvidia
