// SPDX-License-Identifier: Apache-2.0
//
// SGX policy rules: each spoiled alone in a world that passes, then allowed by its own field.
#include "attestation/policy/rules.h"

#include <string>
#include <utility>

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
};

class SgxRule : public testing::TestWithParam<Rule> {};

TEST_P(SgxRule, RefusesUntilThePolicyAllows) {
  TestWorld world(WorldKind::kSgx3);
  world.ExpectAccepted();
  GetParam().spoil(&world);
  world.ExpectRefusedBy(GetParam().check);
  if (GetParam().allow == nullptr) return;
  const std::string strict = world.policy.SerializeAsString();
  GetParam().allow(&world);
  world.ExpectAccepted();
  // What a policy lets pass has a rule to name.
  const bool by_policy = world.policy.SerializeAsString() != strict;
  EXPECT_TRUE(!by_policy || !RulesOf(std::string("SGX_") + GetParam().check).empty());
}

void AnyEnclave(TestWorld* world) {
  world->sgx_policy().clear_enclaves();
  world->sgx_policy().set_any_enclave(true);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, SgxRule,
    testing::Values(
        Rule{"Debug", [](TestWorld* w) { w->body[48] = 0x07; }, "DEBUG",
             [](TestWorld* w) { w->sgx_policy().set_allow_debug(true); }},
        Rule{"MrSigner", [](TestWorld* w) { w->body[159] ^= 1; }, "ENCLAVE", AnyEnclave},
        Rule{"IsvProdId", [](TestWorld* w) { w->body[257] = 1; }, "ENCLAVE", AnyEnclave},
        Rule{"IsvSvn", [](TestWorld* w) { w->body[258] = 2; }, "ENCLAVE",
             [](TestWorld* w) { w->sgx_policy().mutable_enclaves(0)->set_min_isv_svn(2); }},
        Rule{"MrEnclave",
             [](TestWorld* w) {
               w->sgx_policy().mutable_enclaves(0)->set_mr_enclave(std::string(64, '1'));
             },
             "ENCLAVE",
             [](TestWorld* w) {
               std::string text;
               for (int i = 0; i < 32; ++i) text += "Ee";
               w->sgx_policy().mutable_enclaves(0)->set_mr_enclave(text);
             }},
        Rule{"ConfigId", [](TestWorld* w) { w->body[192] = 1; }, "CONFIG_ID",
             [](TestWorld* w) { w->sgx_policy().add_config_ids("01" + std::string(126, '0')); }},
        Rule{"ConfigIdListed",
             [](TestWorld* w) { w->sgx_policy().add_config_ids(std::string(128, '1')); },
             "CONFIG_ID",
             [](TestWorld* w) {
               w->sgx_policy().clear_config_ids();
               w->sgx_policy().set_any_config_id(true);
             }},
        Rule{"NoRules", [](TestWorld* w) { w->policy.clear_sgx(); }, "POLICY", nullptr}),
    [](const auto& info) { return info.param.name; });

// What nobody knows yet is signed like the rest: it is named, not refused.
TEST(SgxUnknown, AttributesAndReservedBytesWarn) {
  const std::pair<size_t, const char*> places[] = {{55, "ATTRIBUTES_UNKNOWN"},
                                                   {20, "REPORT_UNKNOWN"},
                                                   {127, "REPORT_UNKNOWN"},
                                                   {160, "REPORT_UNKNOWN"},
                                                   {303, "REPORT_UNKNOWN"}};
  for (const auto& [at, check] : places) {
    TestWorld world(WorldKind::kSgx3);
    EXPECT_EQ(world.OutcomeOf(world.Appraise(), check), "absent");
    world.body[at] = '\x80';
    world.ExpectAccepted();
    EXPECT_EQ(world.OutcomeOf(world.Appraise(), check), "warned") << at;
  }
}

TEST(SgxEvidence, IsNoTdxQuote) {
  TestWorld world(WorldKind::kSgx4);
  world.quote.tee_type = intel::kTeeTdx;
  world.body.assign(584, '\0');
  world.ExpectRefusedBy("QUOTE_FORM");
}

}  // namespace
}  // namespace caravan::attestation
