// SPDX-License-Identifier: Apache-2.0
//
// Real evidence, and what its makers' services said about it, under their own roots.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/collateral/carried.h"
#include "attestation/collateral/inspect.h"
#include "attestation/collateral/needs.h"
#include "attestation/sev_snp/test_vectors.h"
#include "attestation/verify_input.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

EvidenceSet EvidenceOf(const std::string& path) {
  auto set = DetectEvidence(*ReadVectorForTest(path));
  EXPECT_TRUE(set.ok()) << path << ": " << set.status();
  return set.ok() ? *std::move(set) : EvidenceSet();
}

Endorsements EndorsementsOf(const std::vector<std::string>& paths) {
  Endorsements endorsements;
  for (const std::string& path : paths) {
    const auto bytes = ReadVectorForTest(path);
    EXPECT_TRUE(bytes.has_value()) << path;
    const absl::Status parsed = ParseEndorsements(*bytes, &endorsements);
    EXPECT_TRUE(parsed.ok()) << path << ": " << parsed;
  }
  return endorsements;
}

std::vector<std::string> Texts(const EvidenceSet& evidence, const Endorsements& at_hand = {}) {
  const auto needs = RequiredCollateral(evidence, at_hand);
  EXPECT_TRUE(needs.ok()) << needs.status();
  std::vector<std::string> texts;
  if (!needs.ok()) return texts;
  for (const CollateralRequest& request : needs->requests) texts.push_back(request.ToString());
  for (const std::string& gap : needs->gaps) texts.push_back("gap: " + gap);
  return texts;
}

std::vector<CollateralRequest> RequestsOf(const EvidenceSet& evidence) {
  auto needs = RequiredCollateral(evidence, {});
  EXPECT_TRUE(needs.ok()) << needs.status();
  return needs.ok() ? needs->requests : std::vector<CollateralRequest>();
}

TEST(RealEvidence, AsksForItsOwnMachines) {
  CARAVAN_REQUIRE_VECTORS();
  EXPECT_THAT(Texts(EvidenceOf("snp/virtee-sev/report_milan.hex")),
              ElementsAre("amd-chain vcek/Milan", "amd-chain vcek/Genoa",
                          HasSubstr("amd-vcek Milan,Genoa/")));
  EXPECT_THAT(
      Texts(EvidenceOf("snp/ms-tee-av/genoa_attestation_report.bin")),
      ElementsAre("amd-chain vcek/Genoa", HasSubstr("amd-vcek Genoa/"), "amd-crl vcek/Genoa"));
  const auto turin = Texts(EvidenceOf("snp/ms-tee-av/turin_attestation_report.bin"));
  ASSERT_EQ(turin.size(), 3u);
  EXPECT_EQ(turin[1].find('?'), std::string("amd-vcek Turin/").size() + 16) << turin[1];
  EXPECT_THAT(turin[1], HasSubstr("&fmcSPL="));
  EXPECT_THAT(Texts(EvidenceOf("snp/trustee/test-vlek-report.bin"),
                    EndorsementsOf({"snp/trustee/test-vlek.der"})),
              ElementsAre(HasSubstr("amd-chain vlek/"), HasSubstr("amd-crl vlek/")));
  EXPECT_THAT(Texts(EvidenceOf("tdx/dcap-qvl/tdx_quote")),
              ElementsAre(HasSubstr("pck-crl p"), HasSubstr("tcb-info tdx/"), "qe-identity tdx",
                          "intel-root-crl root"));
  EXPECT_THAT(Texts(EvidenceOf("sgx/dcap-qvl/sgx_quote")),
              ElementsAre(HasSubstr("pck-crl p"), HasSubstr("tcb-info sgx/"), "qe-identity sgx",
                          "intel-root-crl root"));
}

TEST(RealEvidence, AsksForManifestsOfItsDevices) {
  CARAVAN_REQUIRE_VECTORS();
  EvidenceSet gpu = EvidenceOf("nvidia/go-nvtrust/attestationReport.txt");
  EXPECT_THAT(Texts(gpu), ElementsAre(HasSubstr("gap: no certificate of a known NVIDIA device")));
  gpu.items[0].certificates = EndorsementsOf({"nvidia/go-nvtrust/gpuAkCertChain.txt"}).certificates;
  const auto needs = RequiredCollateral(gpu, {});
  ASSERT_TRUE(needs.ok()) << needs.status();
  EXPECT_THAT(needs->gaps, IsEmpty());
  ASSERT_GE(needs->requests.size(), 4u);
  EXPECT_EQ(needs->requests[0].ToString(), "nvidia-rim NV_GPU_DRIVER_GH100_545.00");
  EXPECT_THAT(needs->requests[1].ToString(), HasSubstr("nvidia-rim NV_GPU_VBIOS_1010_0200_882_"));
  for (size_t i = 2; i < needs->requests.size(); ++i) {
    EXPECT_EQ(needs->requests[i].kind, CollateralKind::kOcsp);
    EXPECT_EQ(needs->requests[i].key.size(), 64u);
    EXPECT_FALSE(needs->requests[i].post.empty());
  }
  // With a manifest at hand its signers are asked about too.
  const Endorsements rim = EndorsementsOf({"nvidia/nvtrust/Driver_RIM_test_no_gpu.swidtag"});
  EXPECT_GT(RequiredCollateral(gpu, rim)->requests.size(), needs->requests.size());
}

TEST(RealEvidence, AsksOnceForWhatAWholeSetShares) {
  CARAVAN_REQUIRE_VECTORS();
  EvidenceSet set = EvidenceOf("nvidia/nvtrust-ppcie/gpu_evidence.json");
  for (Evidence& item : EvidenceOf("nvidia/nvtrust-ppcie/switch_evidence.json").items) {
    set.items.push_back(std::move(item));
  }
  size_t manifests = 0;
  for (const std::string& text : Texts(set)) manifests += text.starts_with("nvidia-rim ");
  EXPECT_EQ(set.items.size(), 12u);
  EXPECT_EQ(manifests, 3u) << "driver, VBIOS, switch";
}

TEST(RealAnswer, OfAmdIsWhatItsReportAsksFor) {
  CARAVAN_REQUIRE_VECTORS();
  const struct {
    const char* report;
    const char* vcek;
    const char* chain;
  } rows[] = {{"snp/virtee-sev/report_milan.hex", "snp/virtee-sev/vcek_milan.der",
               "snp/roots/ask_ark_milan.pem"},
              {"snp/ms-tee-av/genoa_attestation_report.bin", "snp/ms-tee-av/genoa_vcek.pem",
               "snp/roots/ask_ark_genoa.pem"},
              {"snp/ms-tee-av/turin_attestation_report.bin", "snp/ms-tee-av/turin_vcek.pem",
               "snp/roots/ask_ark_turin_vcek.pem"}};
  for (const auto& row : rows) {
    const Endorsements chain = EndorsementsOf({row.chain});
    for (const CollateralRequest& request : RequestsOf(EvidenceOf(row.report))) {
      CollateralItem item{.body = *ReadVectorForTest(row.chain)};
      if (request.kind == CollateralKind::kAmdVcek) {
        item.body = EndorsementsOf({row.vcek}).certificates[0];
      } else if (request.kind != CollateralKind::kAmdChain) {
        continue;
      }
      const auto facts = InspectCollateral(request, item, chain.certificates, {});
      // A version 2 report asks for both products' chains, of which this is one.
      if (request.key == "vcek/Genoa" &&
          std::string(row.chain).find("milan") != std::string::npos) {
        EXPECT_FALSE(facts.ok());
        continue;
      }
      EXPECT_TRUE(facts.ok()) << row.report << ": " << facts.status();
    }
  }
}

TEST(RealAnswer, OfIntelIsWhatItsQuoteAsksFor) {
  CARAVAN_REQUIRE_VECTORS();
  for (const std::string path : {"tdx/dcap-qvl/tdx_quote", "sgx/dcap-qvl/sgx_quote"}) {
    const EvidenceSet evidence = EvidenceOf(path);
    const auto json = base::ParseJson(*ReadVectorForTest(path + "_collateral.json"));
    ASSERT_TRUE(json.ok()) << json.status();
    const auto member = [&](const std::string& name) {
      return std::get<std::string>(json->Find(name)->value);
    };
    const auto document = [&](const char* name, const std::string& part) {
      return absl::StrCat("{\"", name, "\":", member(part), ",\"signature\":\"",
                          member(part + "_signature"), "\"}");
    };
    for (const CollateralRequest& request : RequestsOf(evidence)) {
      CollateralItem item{.body = ""};
      switch (request.kind) {
        case CollateralKind::kIntelTcbInfo:
          item = {.body = document("tcbInfo", "tcb_info"),
                  .issuer_chain = member("tcb_info_issuer_chain")};
          break;
        case CollateralKind::kIntelQeIdentity:
          item = {.body = document("enclaveIdentity", "qe_identity"),
                  .issuer_chain = member("qe_identity_issuer_chain")};
          break;
        case CollateralKind::kIntelPckCrl:
          item = {.body = member("pck_crl"), .issuer_chain = member("pck_crl_issuer_chain")};
          break;
        default:
          item = {.body = member("root_ca_crl")};
          break;
      }
      const auto facts = InspectCollateral(request, item, CertificatesAtHand(evidence, {}), {});
      ASSERT_TRUE(facts.ok()) << path << ": " << facts.status();
      EXPECT_LT(facts->issued, facts->expires);
      item.body[item.body.size() / 2] ^= 1;
      EXPECT_FALSE(InspectCollateral(request, item, CertificatesAtHand(evidence, {}), {}).ok());
    }
  }
}

TEST(RealAnswer, OfNvidiaIsTheManifestOfThatName) {
  CARAVAN_REQUIRE_VECTORS();
  const std::string folder = "nvidia/attestation-sdk/";
  const CollateralRequest driver{CollateralKind::kNvidiaRim, "NV_GPU_DRIVER_GH100_550.144.03"};
  const CollateralRequest fabric{CollateralKind::kNvidiaRim,
                                 "NV_SWITCH_BIOS_5612_0002_890_9610550001"};
  const CollateralItem good{.body = *ReadVectorForTest(folder + driver.key + ".xml")};
  const CollateralItem bios{
      .body = *ReadVectorForTest(folder + "switchVBIOSRim_" + fabric.key + ".xml")};
  EXPECT_TRUE(InspectCollateral(driver, good, {}, {}).ok())
      << InspectCollateral(driver, good, {}, {}).status();
  EXPECT_TRUE(InspectCollateral(fabric, bios, {}, {}).ok())
      << InspectCollateral(fabric, bios, {}, {}).status();
  EXPECT_FALSE(InspectCollateral(driver, bios, {}, {}).ok());
  EXPECT_FALSE(InspectCollateral(fabric, good, {}, {}).ok());
  for (const char* wrong :
       {"incorrect_signature_driver_rim.xml", "incorrect_cert_chain_driver_rim.xml"}) {
    const CollateralItem item{.body = *ReadVectorForTest(folder + wrong)};
    const auto facts = InspectCollateral(driver, item, {}, {});
    EXPECT_TRUE(absl::IsUnauthenticated(facts.status())) << wrong << ": " << facts.status();
  }
  for (const char* name : {"NV_GPU_DRIVER_GH100_550.144.04", "NV_GPU_DRIVER_GB100_550.144.03",
                           "NV_GPU_VBIOS_1010_0200_882_55014403"}) {
    EXPECT_FALSE(InspectCollateral({CollateralKind::kNvidiaRim, name}, good, {}, {}).ok()) << name;
  }
}

}  // namespace
}  // namespace caravan::attestation
