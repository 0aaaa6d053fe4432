// SPDX-License-Identifier: Apache-2.0
//
// CPU and devices as one set: everything that may be absent, added, moved or exchanged.
#include "attestation/composite.h"

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/insecure_software/insecure_devices.h"
#include "attestation/insecure_software/insecure_td_attester.h"
#include "attestation/verifier.h"
#include "base/hex.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'780'000'000);

constexpr char kNvidia[] =
    "nvidia { any_device: true any_firmware: true any_measurement: true modes: NVIDIA_PPCIE "
    "allow_missing_fwid: true } ";

class Composite : public testing::TestWithParam<EvidenceKind> {
 protected:
  Composite() {
    request_.report_data.bytes.fill(7);
    request_.attester = crypto::Role::kResponder;
    request_.binder.bytes.fill(9);
    attester_ = MakeAttester("node-0");
  }

  std::unique_ptr<Attester> MakeCpu(const std::string& node) const {
    if (GetParam() == EvidenceKind::kSevSnp) {
      InsecureAttesterOptions options;
      options.chip_id = DeriveInsecureChipId(node);
      return std::move(*MakeInsecureAttester(root_, options, kNow));
    }
    InsecureTdOptions options;
    options.ppid = DeriveInsecurePpid(node);
    return std::move(*MakeInsecureTdAttester(root_, options, kNow));
  }
  std::unique_ptr<Attester> MakeAttester(const std::string& node) const {
    return MakeCompositeAttester(
        MakeCpu(node),
        std::move(*MakeInsecureDevices(
            root_, {.node_name = node, .gpus = kGpus, .switches = kSwitches}, kNow)));
  }

  Policy MakePolicy(const std::string& composite) const {
    const auto policy =
        ParsePolicy("name: \"trial\" allow_insecure: true insecure_root_spki_sha256: \"" +
                        base::ToHex(root_.SpkiSha256()) + "\" insecure_root_spki_sha256: \"" +
                        base::ToHex(root_.intel()->SpkiSha256()) +
                        "\" snp { any_measurement: true any_platform: true any_tcb: true } "
                        "tdx { any_measurement: true platform { any_platform: true "
                        "min_tcb_evaluation_number: 1 } } " +
                        kNvidia + composite,
                    "trial.textproto");
    EXPECT_TRUE(policy.ok()) << policy.status();
    return policy.ok() ? *policy : Policy();
  }

  EvidenceSet Collect() const {
    auto set = attester_->CollectFor(request_);
    EXPECT_TRUE(set.ok()) << set.status();
    return set.ok() ? *std::move(set) : EvidenceSet();
  }

  Appraisal Appraise(const EvidenceSet& set, const std::string& composite = kWanted) const {
    return VerifyFor(set, *root_.MakeEndorsements(kNow), MakePolicy(composite), request_, kNow);
  }

  // Expects that the set is refused, with the check `id` among the failed ones.
  void ExpectRefused(const EvidenceSet& set, const std::string& id,
                     const std::string& composite = kWanted) const {
    const Appraisal appraisal = Appraise(set, composite);
    EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated) << Explain(appraisal);
    bool found = false;
    for (const Check& check : appraisal.checks) {
      found |= check.id == id && check.outcome == Outcome::kFailed;
    }
    EXPECT_TRUE(found) << id << " " << Explain(appraisal);
  }

  static std::string Explain(const Appraisal& appraisal) {
    std::string text(Name(appraisal.verdict));
    for (const Check& check : appraisal.checks) {
      if (check.outcome == Outcome::kPassed || check.outcome == Outcome::kSkipped) continue;
      text += "\n  " + check.id + " " + std::string(Name(check.outcome)) + ": " + check.detail;
    }
    return text;
  }

  static constexpr size_t kGpus = 2, kSwitches = 2;
  static constexpr char kWanted[] = "composite { gpus: 2 switches: 2 }";
  const InsecureRoot root_ = *InsecureRoot::Create(kNow);
  EvidenceRequest request_;
  std::unique_ptr<Attester> attester_;
};

INSTANTIATE_TEST_SUITE_P(Cpus, Composite,
                         testing::Values(EvidenceKind::kSevSnp, EvidenceKind::kTdx),
                         [](const auto& info) {
                           return info.param == EvidenceKind::kTdx ? "Tdx" : "SevSnp";
                         });

TEST_P(Composite, PassesAsAWholeAndSaysThatItsDevicesAreNotAttached) {
  const Appraisal appraisal = Appraise(Collect());
  EXPECT_EQ(appraisal.verdict, Verdict::kWarning) << Explain(appraisal);
  EXPECT_TRUE(appraisal.insecure);
  EXPECT_NE(appraisal.platform.find("2 x GH100"), std::string::npos) << appraisal.platform;
  bool warned = false;
  for (const Check& check : appraisal.checks) {
    warned |= check.id == "GPU_NOT_ATTACHED" && check.outcome == Outcome::kWarned;
  }
  EXPECT_TRUE(warned) << Explain(appraisal);
}

// Mistake 4: every input of a device's nonce, one at a time.
TEST_P(Composite, RefusesDevicesOfAnotherSession) {
  const EvidenceSet ours = Collect();
  const auto with_their_devices = [&](const std::function<void(EvidenceRequest*)>& change) {
    EvidenceRequest other = request_;
    change(&other);
    EvidenceSet set = *attester_->CollectFor(other);
    set.items[0] = ours.items[0];
    return set;
  };
  ExpectRefused(
      with_their_devices([](EvidenceRequest* r) { r->attester = crypto::Role::kInitiator; }),
      "NVIDIA_NONCE");
  ExpectRefused(with_their_devices([](EvidenceRequest* r) { r->binder.bytes[31] ^= 1; }),
                "NVIDIA_NONCE");
}

TEST_P(Composite, RefusesDevicesBesideOtherEvidenceOfTheSameCpu) {
  EvidenceSet set = Collect();
  const EvidenceSet again = Collect();
  ASSERT_NE(CpuEvidenceDigest(set.items[0]), CpuEvidenceDigest(again.items[0]));
  set.items[0] = again.items[0];
  ExpectRefused(set, "NVIDIA_NONCE");
}

TEST_P(Composite, RefusesDevicesOfAnotherMachine) {
  EvidenceSet set = Collect();
  const EvidenceSet other = *MakeAttester("node-1")->CollectFor(request_);
  std::copy(other.items.begin() + 1, other.items.end(), set.items.begin() + 1);
  ExpectRefused(set, "NVIDIA_NONCE");
}

TEST_P(Composite, RefusesDevicesThatChangedPlaces) {
  EvidenceSet set = Collect();
  std::swap(set.items[1], set.items[2]);
  ExpectRefused(set, "NVIDIA_NONCE");
}

TEST_P(Composite, RefusesASetWithoutOneOfItsDevices) {
  EvidenceSet set = Collect();
  set.items.pop_back();
  ExpectRefused(set, "NVIDIA_NONCE");
  ExpectRefused(set, "COMPOSITE_DEVICES");
}

TEST_P(Composite, RefusesADeviceTwice) {
  EvidenceSet set = Collect();
  set.items.push_back(set.items[1]);
  ExpectRefused(set, "NVIDIA_NONCE");
  set = Collect();
  set.items[2] = set.items[1];
  ExpectRefused(set, "NVIDIA_NONCE");
}

TEST_P(Composite, RefusesACpuWithoutItsDevicesUnlessThePolicyAllows) {
  EvidenceSet set = Collect();
  set.items.resize(1);
  ExpectRefused(set, "COMPOSITE_DEVICES");
  EXPECT_TRUE(Appraise(set, "composite { gpus: 2 switches: 2 allow_cpu_alone: true }").accepted());
  EXPECT_TRUE(Appraise(set, "").accepted());
}

TEST_P(Composite, RefusesOtherNumbersThanThePolicys) {
  const EvidenceSet set = Collect();
  for (const char* composite :
       {"composite { gpus: 1 switches: 3 }", "composite { gpus: 4 }",
        "composite { gpus: 2 switches: 1 }", "composite { allow_cpu_alone: true }"}) {
    ExpectRefused(set, "COMPOSITE_DEVICES", composite);
  }
}

TEST_P(Composite, RefusesDevicesWithoutRulesForThem) {
  ExpectRefused(Collect(), "COMPOSITE_POLICY", "");
}

TEST_P(Composite, RefusesDevicesInFrontOfTheCpuOrAlone) {
  EvidenceSet set = Collect();
  std::swap(set.items[0], set.items[1]);
  ExpectRefused(set, "COMPOSITE_SHAPE");
  set = Collect();
  set.items.erase(set.items.begin());
  ExpectRefused(set, "COMPOSITE_SHAPE");
}

TEST_P(Composite, RefusesDevicesBesideTwoCpus) {
  EvidenceSet set = Collect();
  const EvidenceKind other =
      GetParam() == EvidenceKind::kTdx ? EvidenceKind::kSevSnp : EvidenceKind::kTdx;
  set.items.insert(set.items.begin() + 1, Evidence{other, "report", {}});
  ExpectRefused(set, "COMPOSITE_SHAPE");
}

// Report data alone name no session: nothing says which nonces the devices should have.
TEST_P(Composite, CannotBeVerifiedAgainstReportDataAlone) {
  const Appraisal appraisal = Verify(Collect(), *root_.MakeEndorsements(kNow), MakePolicy(kWanted),
                                     request_.report_data, kNow);
  EXPECT_EQ(appraisal.verdict, Verdict::kNone) << Explain(appraisal);
  EXPECT_EQ(appraisal.Decisive()->id, "NVIDIA_NONCE");
}

TEST_P(Composite, IsCollectedForASessionAlone) {
  EXPECT_EQ(attester_->Collect(request_.report_data).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// So many devices, of which the second has failed.
class FailingDevices : public DeviceAttester {
 public:
  FailingDevices(size_t count, int* asked) : count_(count), asked_(asked) {}
  size_t DeviceCount() const override { return count_; }
  absl::StatusOr<Evidence> Collect(size_t index, const std::array<uint8_t, 32>& nonce) override {
    ++*asked_;
    if (index == 1) return absl::FailedPreconditionError("gpu 1: needs a reset");
    return Evidence{EvidenceKind::kNvidia, std::string(nonce.begin(), nonce.end()), {}};
  }
  std::string Describe() const override { return "nvidia"; }

 private:
  const size_t count_;
  int* const asked_;
};

TEST_P(Composite, IsCollectedWholeOrFailsByTheNameOfTheDevice) {
  int asked = 0;
  attester_ = MakeCompositeAttester(MakeCpu("node-0"), std::make_unique<FailingDevices>(3, &asked));
  EXPECT_EQ(attester_->CollectFor(request_).status(),
            absl::FailedPreconditionError("gpu 1: needs a reset"));
  EXPECT_EQ(asked, 2) << "what fails is not made up for by the devices behind it";
}

TEST_P(Composite, IsNotCollectedOfMoreDevicesThanASetHolds) {
  int asked = 0;
  attester_ = MakeCompositeAttester(MakeCpu("node-0"),
                                    std::make_unique<FailingDevices>(kMaxDevices + 1, &asked));
  EXPECT_EQ(attester_->CollectFor(request_).status(),
            absl::InternalError("composite evidence: 1 pieces of the cpu's and 33 devices, "
                                "expected one and at most 32"));
  EXPECT_EQ(asked, 0);
}

// Without allow_insecure nothing of a stand-in passes; of all that, attachment is one thing.
TEST_P(Composite, IsNotAttachedUnderAPolicyOfRealHardware) {
  Policy policy = MakePolicy(kWanted);
  policy.set_allow_insecure(false);
  policy.clear_insecure_root_spki_sha256();
  const Appraisal appraisal =
      VerifyFor(Collect(), *root_.MakeEndorsements(kNow), policy, request_, kNow);
  EXPECT_EQ(appraisal.verdict, Verdict::kContraindicated);
  bool failed = false;
  for (const Check& check : appraisal.checks) {
    failed |= check.id == "GPU_NOT_ATTACHED" && check.outcome == Outcome::kFailed;
  }
  EXPECT_TRUE(failed) << Explain(appraisal);
}

TEST(CompositePolicy, RefusesWhatNothingCouldMeet) {
  const std::string base =
      "name: \"p\" snp { any_measurement: true any_platform: true any_tcb: true } ";
  for (const char* composite :
       {"composite { }", "composite { gpus: 1 }",
        "nvidia { any_device: true any_firmware: true any_measurement: true modes: NVIDIA_SPT "
        "gpus: 2 } composite { gpus: 1 }",
        "nvidia { any_device: true any_firmware: true any_measurement: true modes: NVIDIA_SPT } "
        "composite { gpus: 30 switches: 3 }"}) {
    EXPECT_FALSE(ParsePolicy(base + composite, "p").ok()) << composite;
  }
  EXPECT_TRUE(ParsePolicy(base + "composite { allow_cpu_alone: true }", "p").ok());
}

}  // namespace
}  // namespace caravan::attestation
