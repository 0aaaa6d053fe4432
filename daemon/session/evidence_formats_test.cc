// SPDX-License-Identifier: Apache-2.0
//
// Sessions between nodes whose evidence is of one format or of two, as their policies choose.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "absl/time/clock.h"
#include "attestation/composite.h"
#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/insecure_software/insecure_devices.h"
#include "attestation/insecure_software/insecure_root.h"
#include "attestation/insecure_software/insecure_td_attester.h"
#include "attestation/policy/policy.h"
#include "attestation/verifier.h"
#include "base/hex.h"
#include "daemon/session/loopback_testing.h"

namespace caravan::session {
namespace {

using attestation::Attester;
using attestation::InsecureRoot;

enum class Format { kSnp, kTdx, kSnpWithGpus, kTdxWithGpus };

bool IsTdx(Format format) { return format == Format::kTdx || format == Format::kTdxWithGpus; }
bool HasGpus(Format format) { return format >= Format::kSnpWithGpus; }

const InsecureRoot& Root() {
  static const InsecureRoot& root = *new InsecureRoot(*InsecureRoot::Create(absl::Now()));
  return root;
}

std::unique_ptr<Attester> MakeAttester(Format format, const std::string& node) {
  std::unique_ptr<Attester> cpu;
  if (IsTdx(format)) {
    attestation::InsecureTdOptions options;
    options.ppid = attestation::DeriveInsecurePpid(node);
    cpu = std::move(*attestation::MakeInsecureTdAttester(Root(), options, absl::Now()));
  } else {
    attestation::InsecureAttesterOptions options;
    options.chip_id = attestation::DeriveInsecureChipId(node);
    cpu = std::move(*attestation::MakeInsecureAttester(Root(), options, absl::Now()));
  }
  if (!HasGpus(format)) return cpu;
  return attestation::MakeCompositeAttester(
      std::move(cpu), std::move(*attestation::MakeInsecureDevices(
                          Root(), {.node_name = node, .gpus = 2}, absl::Now())));
}

constexpr char kSnp[] = "snp { any_measurement: true any_platform: true any_tcb: true } ";
constexpr char kTdx[] =
    "tdx { any_measurement: true platform { any_platform: true min_tcb_evaluation_number: 1 } } ";
constexpr char kNvidia[] =
    "nvidia { any_device: true any_firmware: true any_measurement: true modes: NVIDIA_SPT } ";
constexpr char kGpusOrNone[] = "composite { gpus: 2 allow_cpu_alone: true } ";
constexpr char kGpus[] = "composite { gpus: 2 } ";

std::unique_ptr<attestation::Appraiser> MakeAppraiser(const std::string& rules) {
  const std::string text = "name: \"formats\" allow_insecure: true insecure_root_spki_sha256: \"" +
                           base::ToHex(Root().SpkiSha256()) + "\" insecure_root_spki_sha256: \"" +
                           base::ToHex(Root().intel()->SpkiSha256()) + "\" " + rules;
  auto policy = attestation::ParsePolicy(text, "formats");
  EXPECT_TRUE(policy.ok()) << policy.status();
  return std::move(
      *attestation::MakeAppraiser(*std::move(policy), *Root().MakeEndorsements(absl::Now())));
}

// A node with evidence of one format and a policy.
struct Node {
  Node(Format format, const std::string& name, const std::string& rules,
       absl::Duration reattest_every = absl::Minutes(15))
      : attester(MakeAttester(format, name)),
        appraiser(MakeAppraiser(rules)),
        node(Options(reattest_every)) {}

  ManagerOptions Options(absl::Duration reattest_every) {
    ManagerOptions options = LoopbackOptions(attester.get(), appraiser.get());
    options.reattest_every = reattest_every;
    return options;
  }

  std::unique_ptr<Attester> attester;
  std::unique_ptr<attestation::Appraiser> appraiser;
  LoopbackNode node;
};

class EvidenceFormats : public testing::TestWithParam<std::tuple<Format, Format>> {};

std::string FormatName(Format format) {
  return std::string(IsTdx(format) ? "Tdx" : "Snp") + (HasGpus(format) ? "WithGpus" : "");
}

TEST_P(EvidenceFormats, AreTakenByAPolicyThatHasRulesForThem) {
  const std::string rules = std::string(kSnp) + kTdx + kNvidia + kGpusOrNone;
  Node a(std::get<0>(GetParam()), "a", rules), b(std::get<1>(GetParam()), "b", rules);
  const absl::StatusOr<std::shared_ptr<Session>> session = a.node.Connect(b.node);
  ASSERT_TRUE(session.ok()) << session.status();
  const attestation::Appraisal peer = (*session)->peer_appraisal();
  EXPECT_EQ(peer.verdict, attestation::Verdict::kWarning);
  EXPECT_EQ(peer.platform.find(IsTdx(std::get<1>(GetParam())) ? "insecure tdx" : "insecure-soft"),
            0u)
      << peer.platform;
  EXPECT_EQ(peer.platform.find("2 x GH100") != std::string::npos, HasGpus(std::get<1>(GetParam())))
      << peer.platform;
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, EvidenceFormats,
    testing::Combine(
        testing::Values(Format::kSnp, Format::kTdx, Format::kSnpWithGpus, Format::kTdxWithGpus),
        testing::Values(Format::kSnp, Format::kTdx, Format::kSnpWithGpus, Format::kTdxWithGpus)),
    [](const auto& info) {
      return FormatName(std::get<0>(info.param)) + "And" + FormatName(std::get<1>(info.param));
    });

struct Refused {
  const char* name;
  Format format;
  std::string rules;  // of the other node
  const char* reason;
};

class RefusedFormats : public testing::TestWithParam<Refused> {};

TEST_P(RefusedFormats, AreRefusedByTheirName) {
  const std::string all = std::string(kSnp) + kTdx + kNvidia + kGpusOrNone;
  Node a(GetParam().format, "a", all);
  Node b(HasGpus(GetParam().format) ? Format::kSnp : Format::kSnpWithGpus, "b", GetParam().rules);
  EXPECT_FALSE(a.node.Connect(b.node).ok());
  EXPECT_TRUE(Eventually([&] { return !b.node.refusals().empty(); }));
  EXPECT_EQ(b.node.refusals(), std::vector<std::string>{GetParam().reason});
}

INSTANTIATE_TEST_SUITE_P(
    Policies, RefusedFormats,
    testing::Values(
        Refused{"TdxWithoutRules", Format::kTdx, kSnp, "TDX_POLICY"},
        Refused{"SnpWithoutRules", Format::kSnp, kTdx, "SNP_POLICY"},
        Refused{"GpusWithoutRules", Format::kSnpWithGpus, kSnp, "NVIDIA_POLICY"},
        Refused{"GpusBesideACpuWithoutRules", Format::kSnpWithGpus, std::string(kSnp) + kNvidia,
                "COMPOSITE_POLICY"},
        Refused{"CpuAlone", Format::kTdx, std::string(kTdx) + kNvidia + kGpus, "COMPOSITE_DEVICES"},
        Refused{"OtherNumberOfGpus", Format::kSnpWithGpus,
                std::string(kSnp) + kNvidia + "composite { gpus: 4 }", "COMPOSITE_DEVICES"}),
    [](const auto& info) { return info.param.name; });

// Later rounds make and judge whole sets again.
TEST(EvidenceOfDevices, IsFreshInEachRound) {
  const std::string rules = std::string(kSnp) + kNvidia + kGpus;
  Node a(Format::kSnpWithGpus, "a", rules, absl::Milliseconds(200));
  Node b(Format::kSnpWithGpus, "b", rules);
  const auto session = a.node.Connect(b.node);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE(Eventually([&] { return (*session)->round() >= 2; })) << (*session)->status();
}

}  // namespace
}  // namespace caravan::session
