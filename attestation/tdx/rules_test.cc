// SPDX-License-Identifier: Apache-2.0
//
// TDX policy rules: each spoiled alone in a world that passes, then allowed by its own field.
#include "attestation/policy/rules.h"

#include <string>

#include "attestation/intel/test_world.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

using intel::TestWorld;
using intel::WorldKind;

struct Rule {
  const char* name;
  void (*spoil)(TestWorld*);
  const char* check;
  void (*allow)(TestWorld*);  // null: nothing lets it pass
  WorldKind kind = WorldKind::kTd15;
};

class TdxRule : public testing::TestWithParam<Rule> {};

TEST_P(TdxRule, RefusesUntilThePolicyAllows) {
  TestWorld world(GetParam().kind);
  world.ExpectAccepted();
  GetParam().spoil(&world);
  world.ExpectRefusedBy(GetParam().check);
  if (GetParam().allow == nullptr) return;
  const std::string strict = world.policy.SerializeAsString();
  GetParam().allow(&world);
  world.ExpectAccepted();
  // What a policy lets pass has a rule to name.
  const bool by_policy = world.policy.SerializeAsString() != strict;
  EXPECT_TRUE(!by_policy || !RulesOf(std::string("TDX_") + GetParam().check).empty());
}

const std::string kOnes(96, '1');

INSTANTIATE_TEST_SUITE_P(
    Rules, TdxRule,
    testing::Values(
        Rule{"Debug", [](TestWorld* w) { w->body[120] = 1; }, "DEBUG",
             [](TestWorld* w) { w->tdx_policy().set_allow_debug(true); }},
        Rule{"Profiling", [](TestWorld* w) { w->body[120] = 0x20; }, "DEBUG",
             [](TestWorld* w) { w->tdx_policy().set_allow_debug(true); }, WorldKind::kTd10},
        Rule{"SeptVe", [](TestWorld* w) { w->body[123] = 0; }, "SEPT_VE",
             [](TestWorld* w) { w->tdx_policy().set_allow_sept_ve(true); }},
        Rule{"Migratable", [](TestWorld* w) { w->body[123] = 0x30; }, "MIGRATION",
             [](TestWorld* w) { w->tdx_policy().set_allow_migration(true); }},
        Rule{"Perfmon", [](TestWorld* w) { w->body[127] = '\x80'; }, "PERFMON",
             [](TestWorld* w) { w->tdx_policy().set_allow_perfmon(true); }},
        Rule{"ForbiddenXfam", [](TestWorld* w) { w->tdx_policy().set_forbidden_xfam(0x40); },
             "XFAM", [](TestWorld* w) { w->tdx_policy().set_forbidden_xfam(0x100); }},
        Rule{"RequiredXfam", [](TestWorld* w) { w->tdx_policy().set_required_xfam(0x20000); },
             "XFAM", [](TestWorld* w) { w->body[130] = 2; }},
        Rule{"Mrtd", [](TestWorld* w) { w->body[136] ^= 1; }, "MEASUREMENT",
             [](TestWorld* w) {
               w->tdx_policy().clear_measurements();
               w->tdx_policy().set_any_measurement(true);
             }},
        Rule{"Rtmr0", [](TestWorld* w) { w->body[328] ^= 1; }, "MEASUREMENT",
             [](TestWorld* w) { w->tdx_policy().mutable_measurements(0)->clear_rtmr0(); }},
        Rule{"Rtmr3", [](TestWorld* w) { w->body[519] ^= 1; }, "MEASUREMENT",
             [](TestWorld* w) { w->tdx_policy().mutable_measurements(0)->clear_rtmr3(); }},
        Rule{"MrConfigId", [](TestWorld* w) { w->body[184] = 1; }, "MR_CONFIG_ID",
             [](TestWorld* w) { w->tdx_policy().add_mr_config_ids("01" + std::string(94, '0')); }},
        Rule{"MrConfigIdListed", [](TestWorld* w) { w->tdx_policy().add_mr_config_ids(kOnes); },
             "MR_CONFIG_ID",
             [](TestWorld* w) {
               w->tdx_policy().clear_mr_config_ids();
               w->tdx_policy().set_any_mr_config_id(true);
             }},
        Rule{"MrOwner", [](TestWorld* w) { w->body[232] = 1; }, "MR_OWNER",
             [](TestWorld* w) { w->tdx_policy().set_any_mr_owner(true); }},
        Rule{"MrOwnerConfig", [](TestWorld* w) { w->body[327] = 1; }, "MR_OWNER_CONFIG",
             [](TestWorld* w) { w->tdx_policy().set_any_mr_owner_config(true); }},
        Rule{"MrServiceTd", [](TestWorld* w) { w->body[647] = 1; }, "MR_SERVICE_TD",
             [](TestWorld* w) { w->tdx_policy().set_any_mr_service_td(true); }},
        Rule{"MrServiceTdExtended", [](TestWorld* w) { w->body[600] = 1; }, "MR_SERVICE_TD",
             [](TestWorld* w) { w->tdx_policy().add_mr_service_tds("01" + std::string(94, '0')); },
             WorldKind::kTd15Extended},
        Rule{"MrSeam", [](TestWorld* w) { w->tdx_policy().add_mr_seams(kOnes); }, "MR_SEAM",
             [](TestWorld* w) { w->tdx_policy().add_mr_seams(std::string(96, '0')); }},
        Rule{"TeeTcbSvn",
             [](TestWorld* w) {
               w->tdx_policy().set_min_tee_tcb_svn("030106" + std::string(26, '0'));
             },
             "TEE_TCB_SVN",
             [](TestWorld* w) {
               w->tdx_policy().set_min_tee_tcb_svn("030105" + std::string(26, '0'));
             }},
        Rule{"MrSignerSeam", [](TestWorld* w) { w->body[64] = 1; }, "MODULE", nullptr},
        Rule{"SeamAttributes", [](TestWorld* w) { w->body[112] = 1; }, "MODULE", nullptr},
        Rule{"NoRules", [](TestWorld* w) { w->policy.clear_tdx(); }, "POLICY", nullptr}),
    [](const auto& info) { return info.param.name; });

// Unknown bits are part of what is signed: those that may lower security refuse, the others warn.
TEST(TdxUnknownBits, RefuseWhereTheyMayLowerSecurityAndWarnElsewhere) {
  TestWorld attributes;
  attributes.body[124] = 1;
  const Appraisal first = attributes.Appraise();
  EXPECT_TRUE(first.accepted()) << TestWorld::Explain(first);
  EXPECT_EQ(attributes.OutcomeOf(first, "ATTRIBUTES_UNKNOWN"), "warned");
  TestWorld security;
  security.body[121] = static_cast<char>(security.body[121] | 1);  // bit 8
  const Appraisal refused = security.Appraise();
  EXPECT_FALSE(refused.accepted()) << TestWorld::Explain(refused);
  EXPECT_EQ(security.OutcomeOf(refused, "ATTRIBUTES_UNKNOWN"), "failed");
  TestWorld xfam;
  xfam.body[135] = 1;
  const Appraisal second = xfam.Appraise();
  EXPECT_TRUE(second.accepted()) << TestWorld::Explain(second);
  EXPECT_EQ(xfam.OutcomeOf(second, "XFAM_UNKNOWN"), "warned");
}

TEST(TdxUnknownBits, WarnInTheExtendedReportToo) {
  TestWorld world(WorldKind::kTd15Extended);
  world.body[700] = 1;
  const Appraisal appraisal = world.Appraise();
  EXPECT_TRUE(appraisal.accepted()) << TestWorld::Explain(appraisal);
  EXPECT_EQ(world.OutcomeOf(appraisal, "EXTENSION"), "warned");
}

TEST(TdxEvidence, IsNoSgxQuoteAndTheReverse) {
  TestWorld td;
  td.quote.version = 4;
  td.quote.tee_type = intel::kTeeSgx;
  td.body.assign(384, '\0');
  td.ExpectRefusedBy("QUOTE_FORM");
}

}  // namespace
}  // namespace caravan::attestation
