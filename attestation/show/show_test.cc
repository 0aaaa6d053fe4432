// SPDX-License-Identifier: Apache-2.0
//
// Reports and quotes of every kind, made here and real ones, in words.
#include <string>
#include <vector>

#include "attestation/insecure_software/forge.h"
#include "attestation/insecure_software/forge_intel.h"
#include "attestation/insecure_software/forge_nvidia.h"
#include "attestation/insecure_software/insecure_root.h"
#include "attestation/intel/test_world.h"
#include "attestation/sev_snp/test_vectors.h"
#include "attestation/show/dump.h"
#include "attestation/tpm/evidence.h"
#include "attestation/tpm/hcl_report.h"
#include "attestation/tpm/test_world.h"
#include "attestation/verify_input.h"
#include "base/hex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const DumpField* Find(const Dump& dump, std::string_view section, std::string_view field) {
  for (const DumpSection& one : dump.sections) {
    if (one.title != section) continue;
    for (const DumpField& f : one.fields) {
      if (f.name == field) return &f;
    }
  }
  return nullptr;
}
std::string Value(const Dump& dump, std::string_view section, std::string_view field) {
  const DumpField* found = Find(dump, section, field);
  return found == nullptr ? "none" : found->value;
}
std::string Note(const Dump& dump, std::string_view section, std::string_view field) {
  const DumpField* found = Find(dump, section, field);
  return found == nullptr ? "none" : found->note;
}

Dump ShowBytes(EvidenceKind kind, std::string bytes) {
  return ShowEvidence({kind, std::move(bytes), {}});
}

// What `verify` would read from the same file.
Dump ShowVector(const std::string& path) {
  const auto set = DetectEvidence(ReadVectorForTest(path).value_or(""));
  EXPECT_TRUE(set.ok()) << path << ": " << set.status();
  return set.ok() ? ShowEvidence(set->items[0]) : Dump{};
}

sev_snp::Report MakeReport() {
  sev_snp::Report report;
  report.version = 5;
  report.guest_svn = 7;
  report.policy = 1u << sev_snp::kMustBeOne | 1u << sev_snp::kDebug | 0x0137;
  report.vmpl = 1;
  report.signature_algorithm = 1;
  report.platform_info = 1u << 5 | 1u << 2;
  report.measurement.fill(0x4D);
  report.report_data.fill(0x52);
  report.cpuid_family = 0x1A;
  report.cpuid_model = 0x02;
  report.mask_chip_key = true;
  report.reported_tcb = sev_snp::EncodeTcb(
      {.fmc = 1, .boot_loader = 2, .tee = 3, .snp = 4, .microcode = 5}, v1::TURIN);
  report.current = {.major = 1, .minor = 55, .build = 40};
  report.launch_mitigations = 0x1F;
  return report;
}

TEST(ShowSnp, NamesEveryField) {
  const Dump dump =
      ShowBytes(EvidenceKind::kSevSnp, insecure_software::SerializeReport(MakeReport()));
  EXPECT_FALSE(dump.malformed);
  EXPECT_EQ(dump.kind, "sev-snp");
  EXPECT_EQ(Value(dump, "report", "version"), "5");
  EXPECT_EQ(Value(dump, "report", "guest_svn"), "7");
  EXPECT_EQ(Value(dump, "report", "vmpl"), "1");
  EXPECT_EQ(Note(dump, "report", "signature_algorithm"), "ECDSA P-384 with SHA-384");
  EXPECT_EQ(Value(dump, "identity", "measurement"), base::ToHex(MakeReport().measurement));
  EXPECT_EQ(Value(dump, "identity", "report_data"), base::ToHex(MakeReport().report_data));
  EXPECT_EQ(Note(dump, "identity", "host_data"), "zero");
  EXPECT_EQ(Value(dump, "guest_policy", "abi"), "1.55");
  EXPECT_EQ(Value(dump, "guest_policy", "debug"), "on");
  EXPECT_EQ(Note(dump, "guest_policy", "debug"), "the host can read the guest's memory");
  EXPECT_EQ(Value(dump, "guest_policy", "migrate_ma"), "off");
  EXPECT_EQ(Value(dump, "platform_info", "alias_check_complete"), "on");
  EXPECT_EQ(Value(dump, "platform_info", "smt_en"), "off");
  EXPECT_EQ(Value(dump, "keys", "mask_chip_key"), "on");
  EXPECT_EQ(Note(dump, "keys", "signing_key"), "vcek");
  EXPECT_EQ(Value(dump, "cpu", "product"), "Turin");
  EXPECT_THAT(Note(dump, "tcb", "reported"), HasSubstr("microcode 0x05"));
  EXPECT_EQ(Value(dump, "tcb", "current_firmware"), "1.55.40");
  EXPECT_EQ(Value(dump, "tcb", "launch_mitigations"), "0x1f");
  EXPECT_EQ(Note(dump, "signature", "r"), "zero");
  EXPECT_THAT(dump.problems, IsEmpty());
}

TEST(ShowSnp, ShowsBitsAndBytesWithoutAMeaning) {
  sev_snp::Report report = MakeReport();
  report.policy |= uint64_t{1} << 40;
  report.platform_info |= 1u << 6;
  report.signing_key = 5;
  report.version = 9;
  report.vmpl = sev_snp::kHostRequestedVmpl;
  std::string bytes = insecure_software::SerializeReport(report);
  bytes[0x18F] = 1;
  bytes.back() = 1;
  const Dump dump = ShowBytes(EvidenceKind::kSevSnp, bytes);
  EXPECT_FALSE(dump.malformed);
  EXPECT_EQ(Value(dump, "guest_policy", "unknown_bits"), "0x10000000000");
  EXPECT_EQ(Value(dump, "platform_info", "unknown_bits"), "0x40");
  EXPECT_EQ(Note(dump, "keys", "signing_key"), "no meaning is known here");
  EXPECT_EQ(Note(dump, "report", "version"), "newer than this program knows");
  EXPECT_EQ(Note(dump, "report", "vmpl"), "the host asked for this report");
  EXPECT_THAT(dump.problems, Contains(HasSubstr("the guest policy has bits")));
  EXPECT_THAT(dump.problems, Contains(HasSubstr("bytes before CHIP_ID")));
  EXPECT_THAT(dump.problems, Contains(HasSubstr("after the signature")));
}

TEST(ShowSnp, SaysWhatIsNoReport) {
  for (size_t size : {0u, 1u, 1183u, 1185u}) {
    const Dump dump = ShowBytes(EvidenceKind::kSevSnp, std::string(size, '\3'));
    EXPECT_TRUE(dump.malformed);
    EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("expected 1184")));
  }
}

TEST(ShowCertificates, SaysWhatTheyAreForAndWhichAreNone) {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(480'000);
  const auto root = InsecureRoot::Create(now);
  ASSERT_TRUE(root.ok());
  const auto vcek = root->IssueVcek(std::string(64, 'h'), {.boot_loader = 4, .snp = 24}, now);
  ASSERT_TRUE(vcek.ok());
  std::vector<std::string> certificates = root->ChainDer();
  certificates.insert(certificates.begin(), vcek->certificate);
  certificates.push_back("no certificate");
  const Dump dump = ShowEvidence(
      {EvidenceKind::kSevSnp, insecure_software::SerializeReport(MakeReport()), certificates});
  EXPECT_EQ(Value(dump, "certificate_1", "key"), "vcek");
  EXPECT_EQ(Value(dump, "certificate_1", "hwid"), base::ToHex(std::vector<uint8_t>(64, 'h')));
  EXPECT_THAT(Value(dump, "certificate_1", "tcb"), HasSubstr("boot loader 0x04"));
  EXPECT_THAT(Value(dump, "certificate_2", "subject"), HasSubstr("CN=insecure "));
  EXPECT_EQ(Note(dump, "certificate_3", "issuer"), "issued by itself");
  EXPECT_EQ(Value(dump, "certificate_3", "spki_sha256"), base::ToHex(root->SpkiSha256()));
  EXPECT_TRUE(dump.malformed);
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("certificate_4: ")));
}

TEST(ShowTdx, NamesEveryField) {
  intel::TestWorld world(intel::WorldKind::kTd15);
  std::string quote;
  world.edit_quote = [&](std::string* bytes) { quote = *bytes; };
  world.Appraise();
  const Dump dump = ShowBytes(EvidenceKind::kTdx, quote);
  EXPECT_FALSE(dump.malformed) << testing::PrintToString(dump.problems);
  EXPECT_EQ(dump.kind, "tdx");
  EXPECT_EQ(Note(dump, "header", "tee_type"), "TDX");
  EXPECT_EQ(Note(dump, "header", "qe_vendor_id"), "Intel");
  EXPECT_EQ(Note(dump, "header", "body_type"), "TD 1.5");
  EXPECT_EQ(Value(dump, "td_attributes", "debug"), "off");
  EXPECT_EQ(Value(dump, "td_attributes", "sept_ve_disable"), "on");
  EXPECT_EQ(Value(dump, "td", "mrtd").size(), 96u);
  EXPECT_EQ(Value(dump, "td", "rtmr3").size(), 96u);
  EXPECT_EQ(Value(dump, "td", "mr_service_td").size(), 96u);
  EXPECT_EQ(Value(dump, "td", "report_data").size(), 128u);
  EXPECT_EQ(Note(dump, "signature", "certification_type"), "pck certificate chain");
  EXPECT_EQ(Value(dump, "quoting_enclave", "mr_signer").size(), 64u);
  EXPECT_EQ(Value(dump, "certificate_1", "key"), "pck");
  EXPECT_EQ(Value(dump, "certificate_1", "fmspc").size(), 12u);
  EXPECT_NE(Find(dump, "certificate_3", "subject"), nullptr);
}

std::string Quote(uint16_t version, uint32_t tee, intel::BodyType type, std::string body) {
  const EvpPkeyPtr key = *insecure_software::MakeP256Key();
  insecure_software::QuoteSpec spec;
  spec.version = version;
  spec.tee_type = tee;
  spec.body_type = type;
  spec.body = std::move(body);
  spec.attestation_key = spec.pck_key = key.get();
  spec.certification_type = 3;
  spec.certification_data = "encrypted";
  return *insecure_software::MakeQuote(spec);
}

TEST(ShowTdx, NamesAttributesWithAndWithoutAMeaning) {
  std::string body(584, '\0');
  body[120] = '\x01';      // debug
  body[120 + 5] = '\x01';  // bit 40
  const Dump dump = ShowBytes(EvidenceKind::kTdx,
                              Quote(4, intel::kTeeTdx, intel::BodyType::kTd10, std::move(body)));
  EXPECT_EQ(Note(dump, "td_attributes", "debug"), "the host can read the TD's memory");
  EXPECT_EQ(Value(dump, "td_attributes", "unknown_bits"), "0x10000000000");
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("the TD's attributes")));
  EXPECT_EQ(Note(dump, "signature", "certification_type"), "ppid encrypted, cpu svn, pce svn");
}

TEST(ShowTdx, ShowsTheExtendedReportAndWhatFollowsTheQuote) {
  std::string quote =
      Quote(5, intel::kTeeTdx, intel::BodyType::kTd15Extended, std::string(885, 'b'));
  const Dump plain = ShowBytes(EvidenceKind::kTdx, quote + std::string(100, '\0'));
  EXPECT_EQ(Value(plain, "td", "extension").size(), 2u * (885 - 648));
  EXPECT_THAT(plain.problems, Not(Contains(HasSubstr("follow the quote"))));
  EXPECT_THAT(ShowBytes(EvidenceKind::kTdx, quote + "tail").problems,
              Contains(HasSubstr("4 bytes follow the quote")));
}

TEST(ShowSgx, NamesEveryField) {
  std::string body(384, '\0');
  body[48] = 7;  // init, debug, 64-bit
  body[256] = 3;
  body[258] = 9;
  const Dump dump = ShowBytes(EvidenceKind::kSgx,
                              Quote(3, intel::kTeeSgx, intel::BodyType::kSgx, std::move(body)));
  EXPECT_FALSE(dump.malformed) << testing::PrintToString(dump.problems);
  EXPECT_EQ(Value(dump, "enclave_attributes", "debug"), "on");
  EXPECT_EQ(Value(dump, "enclave", "isv_prod_id"), "3");
  EXPECT_EQ(Value(dump, "enclave", "isv_svn"), "9");
  EXPECT_EQ(Note(dump, "enclave", "mr_enclave"), "zero");
}

TEST(ShowQuotes, SayWhatIsNoQuote) {
  for (const std::string& bytes :
       {std::string(), std::string("\4\0\2\0", 4), std::string(5000, '\xFF')}) {
    const Dump dump = ShowBytes(EvidenceKind::kTdx, bytes);
    EXPECT_TRUE(dump.malformed);
    EXPECT_EQ(dump.problems.size(), 1u);
  }
}

// A report with a driver's version, which makes it a GPU's.
insecure_software::DeviceReportSpec GpuReport() {
  insecure_software::DeviceReportSpec spec;
  spec.nonce = std::string(32, '\x11');
  spec.blocks = {{.index = 1, .digest = std::string(48, '\x01')},
                 {.index = 2, .digest = std::string(48, '\0'), .type = 3}};
  spec.opaque = {{3, std::string("550.90.07\0", 10)},
                 {6, std::string("\x00\x9f\x00\x96\x01\x00\x00\x00", 8)},
                 {11, "\x55"},
                 {17, std::string("1010\0", 5)},
                 {20, std::string(48, '\x20')},
                 {36, std::string(1, '\2')},
                 {999, "any"}};
  return spec;
}
Dump ShowDevice(const insecure_software::DeviceReportSpec& spec, const std::string& tail = "") {
  const EvpPkeyPtr key = *insecure_software::MakeP384Key();
  return ShowBytes(EvidenceKind::kNvidia,
                   *insecure_software::SignDeviceReport(
                       key.get(), insecure_software::SerializeDeviceReport(spec)) +
                       tail);
}

TEST(ShowNvidia, NamesEveryField) {
  const Dump dump = ShowDevice(GpuReport());
  EXPECT_FALSE(dump.malformed) << testing::PrintToString(dump.problems);
  EXPECT_EQ(dump.kind, "nvidia");
  EXPECT_EQ(Value(dump, "spdm", "nonce"), base::ToHex(std::vector<uint8_t>(32, 0x11)));
  EXPECT_EQ(Value(dump, "spdm", "measurements"), "2");
  EXPECT_EQ(Value(dump, "device", "class"), "gpu");
  EXPECT_EQ(Value(dump, "device", "vbios_version"), "96.00.9F.00.01");
  EXPECT_EQ(Value(dump, "device", "driver_version"), "550.90.07");
  EXPECT_EQ(Value(dump, "device", "nvdec0_enabled"), "no");
  EXPECT_THAT(Note(dump, "device", "feature_flag"), HasSubstr("PPCIE"));
  EXPECT_EQ(Note(dump, "measurements", "measurement_01"), "mutable firmware");
  EXPECT_EQ(Note(dump, "measurements", "measurement_02"), "firmware configuration, zero");
  EXPECT_EQ(Note(dump, "opaque", "project"), "\"1010\"");
  EXPECT_EQ(Value(dump, "opaque", "fwid").size(), 96u);
  EXPECT_EQ(Note(dump, "opaque", "type_999"), "\"any\"");
  EXPECT_EQ(Value(dump, "signature", "signature").size(), 192u);
}

TEST(ShowNvidia, NamesASwitchsFieldsAsASwitchs) {
  insecure_software::DeviceReportSpec spec = GpuReport();
  spec.opaque = {{22, std::string("\x20\x3e\xb3\x1a\xd9\xed\x00\x08", 8)},
                 {23, std::string(2, '\0')},
                 {25, std::string("\1\0", 2)},
                 {26, std::string(7 * 8, '\0') + std::string(8, 'g') + std::string(64, 'p')}};
  const Dump dump = ShowDevice(spec);
  EXPECT_FALSE(dump.malformed) << testing::PrintToString(dump.problems);
  EXPECT_EQ(Value(dump, "device", "class"), "switch");
  EXPECT_EQ(Value(dump, "device", "pdi"), "203eb31ad9ed0008");
  EXPECT_EQ(Value(dump, "device", "locked"), "yes");
  EXPECT_EQ(Value(dump, "device", "peer"), base::ToHex(std::vector<uint8_t>(8, 'g')));
  EXPECT_NE(Find(dump, "opaque", "disabled_ports"), nullptr);
  EXPECT_NE(Find(dump, "opaque", "switch_gpu_pdis"), nullptr);
}

TEST(ShowNvidia, ShowsMeasurementsOfADeviceWhoseFieldsAreMalformed) {
  insecure_software::DeviceReportSpec spec = GpuReport();
  insecure_software::OpaqueValue(&spec, 6) = "short";
  const Dump dump = ShowDevice(spec, "tail");
  EXPECT_TRUE(dump.malformed);
  EXPECT_THAT(dump.problems, Contains(HasSubstr("vbios version has 5 bytes")));
  EXPECT_THAT(dump.problems, Contains(HasSubstr("4 bytes follow the report")));
  EXPECT_NE(Find(dump, "measurements", "measurement_01"), nullptr);
  EXPECT_TRUE(ShowBytes(EvidenceKind::kNvidia, std::string(100, '\x11')).malformed);
}

class ShowVtpm : public testing::TestWithParam<tpm::HardwareType> {};

TEST_P(ShowVtpm, NamesEveryFieldAndThoseOfTheHardwareInside) {
  tpm::VtpmWorld world(GetParam());
  world.with_ak_public = true;
  const Dump dump = ShowEvidence(world.Make().first);
  EXPECT_FALSE(dump.malformed) << testing::PrintToString(dump.problems);
  EXPECT_EQ(dump.kind, "vtpm");
  EXPECT_EQ(Value(dump, "tpm_quote", "extra_data").size(), 64u);
  EXPECT_EQ(Note(dump, "tpm_quote", "pcrs"), "of the SHA-256 bank");
  EXPECT_EQ(Value(dump, "ak_public", "restricted"), "on");
  EXPECT_EQ(Value(dump, "ak_public", "decrypt"), "off");
  EXPECT_EQ(Value(dump, "runtime_claims", "ak_modulus").size(), 512u);
  EXPECT_THAT(Value(dump, "hcl_report", "runtime_claims"), HasSubstr("HCLAkPub"));
  EXPECT_EQ(Value(dump, "hcl_report", "hardware"),
            GetParam() == tpm::HardwareType::kSnp ? "sev-snp" : "tdx");
  if (GetParam() == tpm::HardwareType::kSnp) {
    EXPECT_EQ(Value(dump, "guest_policy", "debug"), "off");
  } else {
    EXPECT_EQ(Value(dump, "td_report", "mrtd"), Value(dump, "td", "mrtd"));
    EXPECT_EQ(Value(dump, "td_report", "rtmr3"), Value(dump, "td", "rtmr3"));
    EXPECT_EQ(Value(dump, "td_report", "mr_seam"), Value(dump, "tdx_module", "mr_seam"));
  }
}

INSTANTIATE_TEST_SUITE_P(Hardware, ShowVtpm,
                         testing::Values(tpm::HardwareType::kSnp, tpm::HardwareType::kTdx));

TEST(ShowVtpmContainer, SaysWhatIsNone) {
  EXPECT_TRUE(ShowBytes(EvidenceKind::kVtpm, "").malformed);
  EXPECT_TRUE(ShowBytes(EvidenceKind::kVtpm, std::string(tpm::kContainerMagic) + "rest").malformed);
}

// Real evidence, with what other programs say of it.
struct Known {
  const char* path;
  const char* section;
  const char* field;
  const char* value;
};

class RealEvidence : public testing::TestWithParam<Known> {};

TEST_P(RealEvidence, SaysWhatItIsKnownToSay) {
  CARAVAN_REQUIRE_VECTORS();
  const Dump dump = ShowVector(GetParam().path);
  EXPECT_FALSE(dump.malformed) << testing::PrintToString(dump.problems);
  EXPECT_EQ(Value(dump, GetParam().section, GetParam().field), GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, RealEvidence,
    testing::Values(
        Known{"snp/go-sev-guest/attestation.bin", "guest_policy", "debug", "on"},
        Known{"snp/go-sev-guest/attestation.bin", "report", "version", "2"},
        Known{"snp/virtee-sev/report_milan.hex", "keys", "mask_chip_key", "off"},
        Known{"snp/trustee/test-vlek-report.bin", "report", "vmpl", "1"},
        Known{"snp/ms-tee-av/genoa_attestation_report.bin", "cpu", "product", "Genoa"},
        Known{"snp/ms-tee-av/turin_attestation_report.bin", "cpu", "product", "Turin"},
        Known{"snp/ms-tee-av/turin_attestation_report.bin", "platform_info", "unknown_bits",
              "0x40"},
        Known{"tdx/dcap-qvl/tdx_quote", "header", "version", "4"},
        Known{"tdx/dcap-qvl/tdx_quote", "certificate_1", "key", "pck"},
        Known{"tdx/trustee/tdx_quote_4.dat", "td_attributes", "debug", "on"},
        Known{"tdx/go-tdx-guest/quote_v5_sample.dat", "header", "version", "5"},
        Known{"sgx/dcap-qvl/sgx_quote", "header", "version", "3"},
        Known{"sgx/dcap-qvl/sgx_quote", "enclave_attributes", "init", "on"},
        Known{"nvidia/nvtrust/hopperAttestationReport.txt", "device", "driver_version",
              "550.90.07"},
        Known{"nvidia/nvtrust/hopperAttestationReport.txt", "spdm", "measurements", "64"},
        Known{"nvidia/attestation-sdk/sample_attestation_data/gpu/blackwellAttestationReport.txt",
              "device", "driver_version", "575.32"},
        Known{"nvidia/attestation-sdk/sample_attestation_data/switch/switchAttestationReport.txt",
              "device", "pdi", "203eb31ad9ed0008"},
        Known{"nvidia/attestation-sdk/sample_attestation_data/switch/switchAttestationReport.txt",
              "device", "vbios_version", "96.10.55.00.01"},
        Known{"tpm/az-snp-vtpm/evidence-v1.json", "hcl_report", "hardware", "sev-snp"},
        Known{"tpm/az-tdx-vtpm/evidence-v1.json", "hcl_report", "hardware", "tdx"}));

}  // namespace
}  // namespace caravan::attestation
