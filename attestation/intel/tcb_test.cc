// SPDX-License-Identifier: Apache-2.0
//
// Intel's TCB algorithm and what a policy makes of it.
#include <string>

#include "attestation/intel/tcb_evaluation.h"
#include "attestation/intel/tcb_status.h"
#include "attestation/intel/test_world.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attestation::intel {
namespace {

using testing::HasSubstr;
using S = TcbStatus;

// A TD 1.5 that was launched under module SVN 5 and runs under 3.
TEST(TcbEvaluation, NamesWhatIsKnownAgainstTheModuleThatRunsNow) {
  TcbInfo info;
  info.tdx = true;
  info.levels.emplace_back().rating = {absl::FromUnixSeconds(9), S::kUpToDate, {}};
  TdxModule& module = info.modules.emplace_back();
  module.id = "TDX_01";
  module.levels = {{5, {absl::FromUnixSeconds(8), S::kUpToDate, {"LAUNCH"}}},
                   {3, {absl::FromUnixSeconds(7), S::kOutOfDate, {"NOW"}}}};
  EnclaveIdentity identity;
  identity.levels = {{0, {absl::FromUnixSeconds(9), S::kUpToDate, {}}}};
  PlatformTcb platform;
  platform.tee_tcb_svn = Svns{5, 1};
  platform.tee_tcb_svn2 = Svns{3, 1};
  const auto evaluation = EvaluateTcb(platform, info, identity);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_THAT(evaluation->advisories, testing::ElementsAre("LAUNCH", "NOW"));
  EXPECT_EQ(evaluation->date, absl::FromUnixSeconds(7));
}

TEST(TcbStatus, CombinesAsTheWorst) {
  EXPECT_EQ(Combine(S::kUpToDate, S::kUpToDate), S::kUpToDate);
  // One revoked part is enough.
  for (const S other : {S::kUpToDate, S::kOutOfDate, S::kConfigurationNeeded, S::kRevoked}) {
    EXPECT_EQ(Combine(S::kRevoked, other), S::kRevoked);
    EXPECT_EQ(Combine(other, S::kRevoked), S::kRevoked);
  }
  EXPECT_EQ(Combine(S::kSwHardeningNeeded, S::kOutOfDate), S::kOutOfDate);
  EXPECT_EQ(Combine(S::kConfigurationNeeded, S::kOutOfDate), S::kOutOfDateConfigurationNeeded);
  EXPECT_EQ(Combine(S::kConfigurationAndSwHardeningNeeded, S::kOutOfDate),
            S::kOutOfDateConfigurationNeeded);
  EXPECT_EQ(Combine(S::kSwHardeningNeeded, S::kConfigurationNeeded),
            S::kConfigurationAndSwHardeningNeeded);
}

TEST(TcbStatus, AdvisesRelaunchWhereThatIsAllItTakes) {
  EXPECT_EQ(CombineWithRelaunch(S::kOutOfDate, S::kUpToDate), S::kTdRelaunchAdvised);
  EXPECT_EQ(CombineWithRelaunch(S::kOutOfDate, S::kSwHardeningNeeded), S::kTdRelaunchAdvised);
  EXPECT_EQ(CombineWithRelaunch(S::kOutOfDate, S::kConfigurationNeeded),
            S::kTdRelaunchAdvisedConfigurationNeeded);
  EXPECT_EQ(CombineWithRelaunch(S::kOutOfDateConfigurationNeeded, S::kUpToDate),
            S::kTdRelaunchAdvisedConfigurationNeeded);
  EXPECT_EQ(CombineWithRelaunch(S::kOutOfDate, S::kOutOfDate), S::kOutOfDate);
  EXPECT_EQ(CombineWithRelaunch(S::kUpToDate, S::kUpToDate), S::kUpToDate);
  EXPECT_EQ(CombineWithRelaunch(S::kUpToDate, S::kRevoked), S::kRevoked);
  EXPECT_EQ(CombineWithRelaunch(S::kRevoked, S::kUpToDate), S::kRevoked);
}

TEST(TcbStatus, HasNoOtherNames) {
  EXPECT_EQ(ParseTcbStatus("SWHardeningNeeded"), S::kSwHardeningNeeded);
  EXPECT_FALSE(ParseTcbStatus("TDRelaunchAdvised").has_value());
  EXPECT_FALSE(ParseTcbStatus("uptodate").has_value());
  EXPECT_FALSE(ParseTcbStatus("").has_value());
  EXPECT_EQ(PolicyName(S::kRevoked), v1::INTEL_TCB_STATUS_UNSPECIFIED);
}

// The claim that the verifier makes, refused or not.
std::string StatusOf(TestWorld* world) { return world->Appraise().claims["tcb_status"]; }

class Statuses : public testing::TestWithParam<std::pair<const char*, v1::IntelTcbStatus>> {};

// What is not up to date is not OK, unless the policy says so.
TEST_P(Statuses, AreRefusedUnlessThePolicyNamesThem) {
  const auto& [name, status] = GetParam();
  for (WorldKind kind : {WorldKind::kTd10, WorldKind::kSgx3}) {
    TestWorld world(kind);
    world.levels[0].status = name;
    EXPECT_EQ(StatusOf(&world), name);
    if (status == v1::UP_TO_DATE || status == v1::SW_HARDENING_NEEDED) {
      world.ExpectAccepted();
      world.Accept({v1::CONFIGURATION_NEEDED});
      world.ExpectRefusedBy("TCB_STATUS");
    } else {
      world.ExpectRefusedBy("TCB_STATUS");
      world.Accept({v1::UP_TO_DATE, status});
      world.ExpectAccepted();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Statuses,
                         testing::Values(std::pair("UpToDate", v1::UP_TO_DATE),
                                         std::pair("SWHardeningNeeded", v1::SW_HARDENING_NEEDED),
                                         std::pair("ConfigurationNeeded", v1::CONFIGURATION_NEEDED),
                                         std::pair("ConfigurationAndSWHardeningNeeded",
                                                   v1::CONFIGURATION_AND_SW_HARDENING_NEEDED),
                                         std::pair("OutOfDate", v1::OUT_OF_DATE),
                                         std::pair("OutOfDateConfigurationNeeded",
                                                   v1::OUT_OF_DATE_CONFIGURATION_NEEDED)),
                         [](const auto& info) { return std::string(info.param.first); });

TEST(TcbLevels, RefuseARevokedPartWhateverThePolicyTakes) {
  const auto accept_all = [](TestWorld* world) {
    world->Accept({v1::UP_TO_DATE, v1::SW_HARDENING_NEEDED, v1::CONFIGURATION_NEEDED,
                   v1::CONFIGURATION_AND_SW_HARDENING_NEEDED, v1::OUT_OF_DATE,
                   v1::OUT_OF_DATE_CONFIGURATION_NEEDED, v1::TD_RELAUNCH_ADVISED,
                   v1::TD_RELAUNCH_ADVISED_CONFIGURATION_NEEDED});
  };
  TestWorld platform, module, enclave;
  platform.levels[0].status = "Revoked";
  module.module_levels[0].status = "Revoked";
  enclave.qe_levels[0].status = "Revoked";
  for (TestWorld* world : {&platform, &module, &enclave}) {
    accept_all(world);
    world->ExpectRefusedBy("TCB_STATUS");
    EXPECT_EQ(StatusOf(world), "Revoked");
  }
}

TEST(TcbLevels, AreMatchedOnEveryComponent) {
  for (auto spoil : {+[](TestWorld* w) { w->pck_spec.sgx_svns[0] = 7; },
                     +[](TestWorld* w) {
                       w->pck_spec.pce_svn = 10;
                       w->levels[1].pce = 10;
                     },
                     +[](TestWorld* w) { w->body[2] = 4; }}) {
    TestWorld world;
    spoil(&world);
    world.levels[1].sgx = 7;
    EXPECT_EQ(StatusOf(&world), "OutOfDate");
    world.ExpectRefusedBy("TCB_STATUS");
  }
}

TEST(TcbLevels, NoneMatching) {
  for (auto spoil :
       {+[](TestWorld* w) { w->pck_spec.sgx_svns[0] = 4; },
        +[](TestWorld* w) { w->pck_spec.pce_svn = 4; }, +[](TestWorld* w) { w->body[2] = 2; },
        +[](TestWorld* w) { w->body[0] = 1; },            // below every module level
        +[](TestWorld* w) { w->qe_report[258] = 1; }}) {  // below every QE level
    TestWorld world;
    spoil(&world);
    world.ExpectRefusedBy("TCB_LEVEL");
  }
}

// With a module identity the first two components are the module's, not the level's.
TEST(TcbLevels, LeaveTheModulesComponentsToItsIdentity) {
  TestWorld world;
  world.edit_tcb_info = [](std::string* text) {
    // Component 1 of the highest level wants 9, which module SVN 3 does not reach.
    const std::string zero = "\"tdxtcbcomponents\":[{\"svn\":0}";
    const size_t at = text->find(zero);
    ASSERT_NE(at, std::string::npos);
    text->replace(at, zero.size(), "\"tdxtcbcomponents\":[{\"svn\":9}");
  };
  world.ExpectAccepted();
  TestWorld version_zero;
  version_zero.body[1] = 0;
  version_zero.edit_tcb_info = world.edit_tcb_info;
  EXPECT_EQ(StatusOf(&version_zero), "OutOfDate");
}

// The module's status joins the platform's and does not replace it.
TEST(TcbLevels, KeepThePlatformsStatusBesideTheModules) {
  TestWorld platform;
  platform.body[2] = 4;  // platform behind, module up to date
  platform.levels[1].sgx = 8;
  EXPECT_EQ(StatusOf(&platform), "OutOfDate");
  TestWorld module;
  module.body[0] = 2;
  EXPECT_EQ(StatusOf(&module), "OutOfDate");
  TestWorld both;
  both.body[0] = 2;
  both.levels[0].status = "ConfigurationNeeded";
  EXPECT_EQ(StatusOf(&both), "OutOfDateConfigurationNeeded");
  TestWorld enclave(WorldKind::kSgx3);
  enclave.qe_report[258] = 3;
  EXPECT_EQ(StatusOf(&enclave), "OutOfDate");
}

TEST(TcbLevels, CannotRateAModuleThatIntelDoesNotName) {
  TestWorld world;
  world.module_id = "TDX_03";
  world.ExpectRefusedBy("MODULE");
  EXPECT_EQ(world.OutcomeOf(world.Appraise(), "TCB_LEVEL"), "failed");
  TestWorld lower;
  lower.module_id = "tdx_01";
  lower.ExpectAccepted();
}

// The module that runs now.
TEST(TcbLevels, AdviseRelaunchByTheSecondSvn) {
  TestWorld world(WorldKind::kTd15);
  world.body[0] = 2;  // launched under an older module; the newer one runs
  EXPECT_EQ(StatusOf(&world), "TDRelaunchAdvised");
  world.ExpectRefusedBy("TCB_STATUS");
  world.Accept({v1::UP_TO_DATE, v1::OUT_OF_DATE});
  world.ExpectRefusedBy("TCB_STATUS");
  world.Accept({v1::TD_RELAUNCH_ADVISED});
  world.ExpectAccepted();
  world.levels[0].status = "ConfigurationNeeded";
  EXPECT_EQ(StatusOf(&world), "TDRelaunchAdvisedConfigurationNeeded");
  world.ExpectRefusedBy("TCB_STATUS");
  world.Accept({v1::TD_RELAUNCH_ADVISED_CONFIGURATION_NEEDED});
  world.ExpectAccepted();
  TestWorld behind(WorldKind::kTd15);
  behind.body[0] = 2;
  behind.body[584] = 2;
  EXPECT_EQ(StatusOf(&behind), "OutOfDate");
  TestWorld unknown(WorldKind::kTd15);
  unknown.body[585] = 9;
  unknown.ExpectRefusedBy("TCB_LEVEL");
}

TEST(Advisories, OfEveryPartAreClaimedAndCanBeRefused) {
  TestWorld world;
  world.body[0] = 2;
  world.body[2] = 4;
  world.levels[1].sgx = 8;
  world.Accept({v1::OUT_OF_DATE});
  const Appraisal appraisal = world.Appraise();
  EXPECT_TRUE(appraisal.accepted()) << TestWorld::Explain(appraisal);
  EXPECT_EQ(appraisal.claims.at("tcb_advisories"), "INTEL-SA-01010,INTEL-SA-01036");
  world.platform().add_refused_advisories("INTEL-SA-01036");
  world.ExpectRefusedBy("ADVISORIES");
}

TEST(Shortfall, NamesComponentAndDistance) {
  TestWorld world;
  world.pck_spec.sgx_svns[0] = 7;
  const Appraisal appraisal = world.Appraise();
  EXPECT_THAT(std::string(appraisal.ToStatus().message()),
              HasSubstr("sgx component 1 SVN 7, the level wants >= 8"));
}

TEST(Grace, EndsSoManyDaysAfterTheLevelThatPutThePlatformBehind) {
  const auto at = [](const char* day, uint32_t days) {
    TestWorld world;
    world.pck_spec.sgx_svns[0] = 7;
    world.levels[0].date = day;
    world.Accept({v1::UP_TO_DATE, v1::OUT_OF_DATE});
    world.platform().mutable_accepted_tcb(1)->set_grace_days(days);
    return world.Appraise().accepted();
  };
  EXPECT_TRUE(at("2026-05-20", 30));   // eight days ago
  EXPECT_FALSE(at("2026-04-20", 30));  // 38 days ago
  EXPECT_TRUE(at("2026-04-20", 0));    // without end
  TestWorld same_day;
  same_day.pck_spec.sgx_svns[0] = 7;
  same_day.levels[0].date = same_day.levels[1].date;
  same_day.Accept({v1::OUT_OF_DATE});
  same_day.platform().mutable_accepted_tcb(0)->set_grace_days(3650);
  same_day.ExpectRefusedBy("TCB_STATUS");
}

TEST(Platform, IsOneThatThePolicyLists) {
  TestWorld world;
  world.platform().set_ppids(0, std::string(32, '1'));
  world.ExpectRefusedBy("PLATFORM");
  world.platform().clear_ppids();
  world.platform().set_any_platform(true);
  world.ExpectAccepted();
  world.platform().add_fmspcs("00906ED50000");
  world.ExpectRefusedBy("FMSPC");
  world.platform().add_fmspcs("060606060606");
  world.ExpectAccepted();
}

// The quoting enclave's own debug, and each part of its identity.
TEST(QuotingEnclave, IsTheOneThatIntelDescribes) {
  const struct {
    size_t at;
    char value;
    const char* check;
  } spoils[] = {{48, 0x13, "QE_DEBUG"},
                {16, 1, "QE_IDENTITY_MATCH"},
                {48, 0x31, "QE_IDENTITY_MATCH"},
                {128, 1, "QE_IDENTITY_MATCH"},
                {256, 3, "QE_IDENTITY_MATCH"}};
  for (const auto& spoil : spoils) {
    for (const WorldKind kind : {WorldKind::kTd10, WorldKind::kSgx3}) {
      TestWorld world(kind);
      world.qe_report[spoil.at] = spoil.value;
      world.ExpectRefusedBy(spoil.check);
    }
  }
  TestWorld masked;
  masked.qe_report[48] = 0x15;  // MODE64BIT is masked out
  masked.qe_report[56] = 0x03;  // and all of XFRM
  masked.ExpectAccepted();
}

TEST(QuotingEnclave, BindsTheAttestationKeyAndAnswersToThePck) {
  TestWorld unbound;
  unbound.quote.bind_attestation_key = false;
  unbound.ExpectRefusedBy("QE_REPORT_DATA");
  TestWorld more;
  more.qe_report[352] = 1;  // behind the digest
  more.ExpectRefusedBy("QE_REPORT_DATA");
  TestWorld other;
  other.quote.pck_key = other.ca_key.get();
  other.ExpectRefusedBy("QE_REPORT_SIGNATURE");
  TestWorld vendor;
  vendor.quote.vendor_id = std::string(16, 'v');
  vendor.ExpectRefusedBy("QE_VENDOR");
}

// R and s of the three raw signatures, zero and above the order. What
// follows the quote.
TEST(QuoteBytes, RefuseBadScalarsAndTrailers) {
  const size_t signature = 48 + 584 + 4, qe_signature = signature + 128 + 6 + 384;
  for (size_t at : {signature, signature + 32, qe_signature, qe_signature + 32}) {
    for (char value : {'\0', '\xFF'}) {
      TestWorld world;
      world.edit_quote = [=](std::string* bytes) { bytes->replace(at, 32, 32, value); };
      EXPECT_EQ(world.Appraise().verdict, Verdict::kContraindicated) << at;
    }
  }
  TestWorld padded;
  padded.edit_quote = [](std::string* bytes) { bytes->append(70, '\0'); };
  padded.ExpectAccepted();
  TestWorld trailing;
  trailing.edit_quote = [](std::string* bytes) { bytes->append("x"); };
  trailing.ExpectRefusedBy("TRAILER");
  TestWorld short_one;
  short_one.edit_quote = [](std::string* bytes) { bytes->pop_back(); };
  short_one.ExpectRefusedBy("QUOTE_FORM");
}

}  // namespace
}  // namespace caravan::attestation::intel
