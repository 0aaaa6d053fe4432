// SPDX-License-Identifier: Apache-2.0
//
// Sets of GPUs and switches: each way to add, drop or double a device, and to mix machines.
#include <string>

#include "attestation/nvidia/test_world.h"
#include "gtest/gtest.h"

namespace caravan::attestation::nvidia {
namespace {

TEST(NvidiaSet, PassesWhole) {
  TestWorld world = TestWorld::Machine(8, 4);
  world.ExpectAccepted();
  EXPECT_EQ(world.Appraise().platform, "insecure nvidia 8 x GH100, 4 x LS_10");
}

// One device's evidence counted twice.
TEST(NvidiaSet, RefusesADeviceThatStandsTwice) {
  for (size_t which : {0, 2}) {
    TestWorld world = TestWorld::Machine(2, 2);
    world.edit_evidence = [which](EvidenceSet* set) { set->items[which + 1] = set->items[which]; };
    world.ExpectRefusedBy("NVIDIA_SET_DUPLICATE");
  }
}

// Another key of the same device, such as that of its firmware before an update.
TEST(NvidiaSet, RefusesADeviceUnderTwoKeys) {
  TestWorld world = TestWorld::Machine(2, 0);
  world.device(1).pdi = world.device(0).pdi;
  world.device(1).device_ca().subject_serial = world.device(0).device_ca().subject_serial;
  world.device(1).leaf().issuer_serial = world.device(0).leaf().issuer_serial;
  world.ExpectRefusedBy("NVIDIA_SET_DUPLICATE");
}

TEST(NvidiaSet, RefusesAMissingDevice) {
  for (size_t missing : {0, 1, 2, 3}) {
    TestWorld world = TestWorld::Machine(2, 2);
    world.nvidia().set_gpus(0);
    world.nvidia().set_switches(0);
    world.edit_evidence = [missing](EvidenceSet* set) {
      set->items.erase(set->items.begin() + static_cast<std::ptrdiff_t>(missing));
    };
    world.ExpectRefusedBy("NVIDIA_SET_COMPLETE");
    world.nvidia().set_allow_incomplete_set(true);
    world.ExpectAccepted();
  }
}

TEST(NvidiaSet, RefusesOtherCountsThanThePolicys) {
  TestWorld gpus = TestWorld::Machine(2, 2);
  gpus.nvidia().set_gpus(8);
  gpus.ExpectRefusedBy("NVIDIA_SET_COUNT");
  TestWorld switches = TestWorld::Machine(2, 2);
  switches.nvidia().set_switches(4);
  switches.ExpectRefusedBy("NVIDIA_SET_COUNT");
  // GPUs do not count as switches.
  TestWorld classes = TestWorld::Machine(4, 0);
  classes.nvidia().set_gpus(2);
  classes.nvidia().set_switches(2);
  classes.ExpectRefusedBy("NVIDIA_SET_COUNT");
}

TEST(NvidiaSet, RefusesADeviceThatTheOthersDoNotKnow) {
  for (const char* chip : {"GH100", "LS_10"}) {
    TestWorld world = TestWorld::Machine(2, 2);
    world.nvidia().set_gpus(0);
    world.nvidia().set_switches(0);
    TestDevice& extra = world.Add(chip);
    if (extra.device_class == DeviceClass::kGpu) {
      extra.Opaque(kFeatureFlag) = std::string("\x02\x00", 2);
      extra.Opaque(kProtectedPcieStatus) = "\xAA";
    }
    world.ExpectRefusedBy("NVIDIA_SET_TOPOLOGY");
    // No policy takes links that contradict each other.
    world.nvidia().set_allow_incomplete_set(true);
    world.ExpectRefusedBy("NVIDIA_SET_TOPOLOGY");
  }
}

TEST(NvidiaSet, RefusesALinkThatOnlyOneEndKnows) {
  TestWorld world = TestWorld::Machine(2, 2);
  // The second switch knows the first GPU alone.
  std::string& gpus = world.device(3).Opaque(kSwitchGpuPdis);
  std::fill(gpus.begin() + 8, gpus.begin() + 16, '\0');
  world.ExpectRefusedBy("NVIDIA_SET_TOPOLOGY");
}

TEST(NvidiaSet, RefusesAGpuThatAnotherTakesForASwitch) {
  TestWorld world = TestWorld::Machine(2, 0);
  const std::string& pdi = world.device(1).pdi;
  world.device(0).Opaque(kPdis) = std::string(pdi.rbegin(), pdi.rend());
  world.ExpectRefusedBy("NVIDIA_SET_TOPOLOGY");
}

// Two machines' devices in one set.
TEST(NvidiaSet, RefusesTwoHalves) {
  TestWorld world = TestWorld::Machine(2, 2);
  TestWorld other = TestWorld::Machine(2, 2);
  for (size_t i = 0; i < other.size(); ++i) {
    std::string& pdi = other.device(i).pdi;
    pdi[0] = '\x77';
    for (std::string* serial :
         {&other.device(i).device_ca().subject_serial, &other.device(i).leaf().issuer_serial}) {
      serial->replace(2, 2, "77");
    }
    if (i >= 2) other.device(i).Opaque(kPdis) = pdi;
  }
  other.Link();
  other.ExpectAccepted();
  world.edit_evidence = [&](EvidenceSet* set) {
    const EvidenceSet others = other.MakeEvidence();
    set->items[1] = others.items[1];
    set->items[3] = others.items[3];
  };
  world.policy.add_insecure_root_spki_sha256(other.policy.insecure_root_spki_sha256(0));
  world.ExpectRefusedBy("NVIDIA_SET_COMPLETE");
}

TEST(NvidiaSet, RefusesGpusInDifferentModes) {
  TestWorld world = TestWorld::Machine(3, 0);
  world.device(1).Opaque(kFeatureFlag) = std::string("\x00\x00", 2);
  world.device(1).Opaque(kProtectedPcieStatus) = "\x55";
  world.ExpectRefusedBy("NVIDIA_SET_MODE");
}

// One nonce for all.
TEST(NvidiaSet, RefusesADeviceWithAnotherNonce) {
  for (size_t which : {0, 3}) {
    TestWorld world = TestWorld::Machine(2, 2);
    world.device(which).report.nonce[31] ^= 1;
    world.ExpectRefusedBy("NVIDIA_NONCE");
  }
}

TEST(NvidiaSet, WarnsOfDifferentNoncesWhereNoneIsExpected) {
  TestWorld world = TestWorld::Machine(2, 0);
  world.expected = ReportDataExpectation::NotChecked();
  EXPECT_EQ(TestWorld::OutcomeOf(world.Appraise(), "NVIDIA_SET_NONCE"), "absent");
  world.device(1).report.nonce[31] ^= 1;
  const Appraisal appraisal = world.Appraise();
  EXPECT_EQ(appraisal.verdict, Verdict::kWarning);
  EXPECT_EQ(TestWorld::OutcomeOf(appraisal, "NVIDIA_SET_NONCE"), "warned");
}

// A set is accepted only as a whole.
TEST(NvidiaSet, RefusesAllForOne) {
  for (size_t which : {0, 1, 2, 3}) {
    TestWorld world = TestWorld::Machine(2, 2);
    world.device(which).edit_signed_report = [](std::string* report) { (*report)[100] ^= 1; };
    EXPECT_EQ(world.Appraise().verdict, Verdict::kContraindicated) << which;
  }
}

TEST(NvidiaSet, CannotTellLinksOfDevicesWithoutAPdi) {
  TestWorld world = TestWorld::Machine(2, 0);
  world.device(1).device_ca().subject_serial = world.device(1).leaf().issuer_serial = "12AB";
  world.ExpectRefusedBy("NVIDIA_SET_COMPLETE", Verdict::kNone);
}

// Beside a CPU whose evidence is refused, devices that pass do not help, and the reverse.
TEST(NvidiaSet, StandsBesideACpuThatIsRefused) {
  TestWorld world;
  world.edit_evidence = [](EvidenceSet* set) {
    set->items.insert(set->items.begin(), {EvidenceKind::kSevSnp, "no report", {}});
  };
  world.policy.mutable_snp()->set_any_measurement(true);
  world.policy.mutable_snp()->set_any_platform(true);
  world.policy.mutable_snp()->set_any_tcb(true);
  const Appraisal appraisal = world.Appraise();
  EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
  EXPECT_EQ(TestWorld::OutcomeOf(appraisal, "SNP_REPORT_FORM"), "failed");
  EXPECT_EQ(TestWorld::OutcomeOf(appraisal, "NVIDIA_SIGNATURE"), "passed");
}

}  // namespace
}  // namespace caravan::attestation::nvidia
