// SPDX-License-Identifier: Apache-2.0
#include "attestation/verify_input.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "attestation/insecure_software/forge_ocsp.h"
#include "attestation/insecure_software/forge_rim.h"
#include "attestation/insecure_software/insecure_attester.h"
#include "attestation/pem.h"
#include "attestation/sev_snp/test_vectors.h"
#include "base/hex.h"
#include "base/json_text.h"
#include "crypto/hash.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'780'000'000);

class VerifyInput : public testing::Test {
 protected:
  VerifyInput() {
    InsecureAttesterOptions options;
    options.chip_id = DeriveInsecureChipId("node-0");
    item_ = (*MakeInsecureAttester(root_, options, kNow))->Collect({})->items[0];
  }

  // Entries {guid, offset, length}, a zero entry, then the certificates.
  std::string Table(const std::vector<std::string>& certificates) const {
    crypto::ByteWriter writer;
    size_t offset = (certificates.size() + 1) * 24;
    for (const std::string& der : certificates) {
      writer.Fixed(std::vector<uint8_t>(16, 0x63));
      writer.U32(static_cast<uint32_t>(offset)).U32(static_cast<uint32_t>(der.size()));
      offset += der.size();
    }
    writer.Fixed(std::vector<uint8_t>(24));
    std::string table = writer.str();
    for (const std::string& der : certificates) table += der;
    return table;
  }

  void ExpectReport(const std::string& bytes, size_t certificates = 0) {
    const auto set = DetectEvidence(bytes);
    ASSERT_TRUE(set.ok()) << set.status();
    ASSERT_EQ(set->items.size(), 1u);
    EXPECT_EQ(set->items[0].kind, EvidenceKind::kSevSnp);
    EXPECT_EQ(set->items[0].report, item_.report);
    EXPECT_EQ(set->items[0].certificates.size(), certificates);
  }

  const InsecureRoot root_ = *InsecureRoot::Create(kNow);
  Evidence item_;
};

// A later firmware may use more of what is reserved today: the verifier names it.
TEST_F(VerifyInput, TakesAReportWithABitThatNobodyKnows) {
  for (const size_t at : {0x4C, 0x4F}) {
    item_.report[at] = '\x80';
    ExpectReport(item_.report);
  }
}

TEST_F(VerifyInput, TakesAReportInEveryForm) {
  ExpectReport(item_.report);
  ExpectReport(base::ToHex(crypto::AsBytes(item_.report)) + "\n");
  ExpectReport("0x" + base::ToHex(crypto::AsBytes(item_.report)));
  std::string base64;
  absl::Base64Escape(item_.report, &base64);
  ExpectReport(base64);
  ExpectReport(item_.report + std::string(2816, '\0'));
  ExpectReport(std::string("\0\0\0\0\xA0\x04\0\0", 8) + std::string(24, '\0') + item_.report);
  ExpectReport(item_.report + Table(item_.certificates), 3);
}

TEST_F(VerifyInput, RefusesOtherBytesAndSaysWhatIsExpected) {
  for (const std::string& bytes :
       {std::string(), std::string("hello"), std::string(100, '\0'), item_.report.substr(1),
        item_.report.substr(0, 1183), item_.report + "x",
        item_.report + Table(item_.certificates).substr(0, 100)}) {
    EXPECT_EQ(DetectEvidence(bytes).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(DetectEvidence(std::string(kMaxInputSize + 1, 'a')).ok());
}

TEST_F(VerifyInput, RefusesTablesThatPointOutsideThemselves) {
  std::string table = Table(item_.certificates);
  table[20] = table[21] = table[22] = table[23] = '\xFF';
  EXPECT_FALSE(DetectEvidence(item_.report + table).ok());
  Endorsements endorsements;
  EXPECT_FALSE(ParseEndorsements(table, &endorsements).ok());
}

TEST_F(VerifyInput, TakesTheKindThatIsNamed) {
  const auto set = DetectEvidence("anything at all", EvidenceKind::kTdx);
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(set->items[0].kind, EvidenceKind::kTdx);
}

TEST_F(VerifyInput, TakesEndorsementsInEveryForm) {
  const auto pem = root_.ToPem();
  ASSERT_TRUE(pem.ok());
  Endorsements all;
  ASSERT_TRUE(ParseEndorsements(pem->chain, &all).ok());
  EXPECT_EQ(all.certificates, root_.MakeEndorsements(kNow)->certificates);
  ASSERT_TRUE(ParseEndorsements(pem->crl, &all).ok());
  EXPECT_EQ(all.crls, root_.MakeEndorsements(kNow)->crls);
  Endorsements der;
  ASSERT_TRUE(ParseEndorsements(root_.ChainDer()[0], &der).ok());
  ASSERT_TRUE(ParseEndorsements(root_.CrlDer(), &der).ok());
  EXPECT_EQ(der.certificates.size(), 1u);
  EXPECT_EQ(der.crls.size(), 1u);
  ASSERT_TRUE(ParseEndorsements(Table(item_.certificates), &der).ok());
  EXPECT_EQ(der.certificates.size(), 3u);  // one was there already
}

TEST_F(VerifyInput, TakesManifestsByThemselvesAndInTheServicesAnswer) {
  const auto chain = insecure_software::MakeRimChain("GH100", kNow);
  nvidia::Rim rim{.tag_id = "tag", .product = "GH100", .version = "545.00"};
  rim.golden = {{7, true, "Measurement_7", {crypto::Sha384Digest{}}}};
  const std::string text = *insecure_software::SignRim(
      insecure_software::RimText(rim, *insecure_software::MakeCertificates(*chain)),
      chain->leaf_key.get());
  Endorsements alone, wrapped;
  ASSERT_TRUE(ParseEndorsements(text, &alone).ok());
  EXPECT_EQ(alone.rims, std::vector<std::string>{text});
  const std::string answer = absl::StrCat("{\"id\":\"NV_GPU_DRIVER_GH100_545.00\",\"rim\":\"",
                                          absl::Base64Escape(text), "\",\"rim_format\":\"TCG\"}");
  ASSERT_TRUE(ParseEndorsements(answer, &wrapped).ok());
  EXPECT_EQ(wrapped.rims, alone.rims);
  ASSERT_TRUE(ParseEndorsements(text, &wrapped).ok());
  EXPECT_EQ(wrapped.rims.size(), 1u);
  const absl::Status cut = ParseEndorsements(text.substr(0, text.size() - 1), &alone);
  EXPECT_TRUE(absl::StrContains(cut.message(), "line ")) << cut;
  EXPECT_FALSE(ParseEndorsements("{\"rim\":\"*\"}", &alone).ok());
  EXPECT_EQ(alone.rims.size(), 1u);
}

TEST_F(VerifyInput, TakesOcspResponses) {
  const auto chain = insecure_software::MakeRimChain("GH100", kNow);
  const auto certificates = *insecure_software::MakeCertificates(*chain);
  const std::string response =
      *insecure_software::MakeOcspResponse({.certificate = certificates[0],
                                            .issuer = certificates[1],
                                            .this_update = kNow,
                                            .produced_at = kNow,
                                            .next_update = kNow,
                                            .signer = certificates[1],
                                            .key = chain->signing_key.get()});
  Endorsements endorsements;
  ASSERT_TRUE(ParseEndorsements(response, &endorsements).ok());
  ASSERT_TRUE(ParseEndorsements(response, &endorsements).ok());
  EXPECT_EQ(endorsements.ocsp_responses, std::vector<std::string>{response});
  EXPECT_TRUE(endorsements.certificates.empty());
}

TEST_F(VerifyInput, RefusesEndorsementsThatHoldNothing) {
  Endorsements endorsements;
  for (const char* text :
       {"", "notes", "<SoftwareIdentity/>", "<html>SoftwareIdentity</html>", "{\"rim\":1}",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"}) {
    EXPECT_FALSE(ParseEndorsements(text, &endorsements).ok()) << text;
  }
  EXPECT_TRUE(endorsements.certificates.empty());
}

// {"evidence":"…","certificate":"…"}, as NVIDIA's tools write a device.
std::string DeviceObject(const std::string& report, const std::string& chain) {
  std::string chain64;
  absl::Base64Escape(chain, &chain64);
  return "{\"arch\":\"HOPPER\",\"evidence\":\"" + report + "\",\"certificate\":\"" + chain64 +
         "\",\"nonce\":\"00\"}";
}

TEST_F(VerifyInput, TakesListsOfDevices) {
  const std::string chain = root_.ToPem()->chain;
  std::vector<std::string> certificates = root_.ChainDer();
  for (const std::string& der : root_.intel()->CertificatesDer()) certificates.push_back(der);
  const std::string one = DeviceObject("EeAB/w==", chain);
  const std::string hex = DeviceObject("11e001ff", chain);
  for (const std::string& text :
       {one, "[" + one + "]", " [\n" + hex + "]\n", "{\"device_evidence_list\":[" + one + "]}",
        "{\"evidence_list\":[" + hex + "],\"nonce\":\"00\"}"}) {
    const auto set = DetectEvidence(text);
    ASSERT_TRUE(set.ok()) << text << set.status();
    ASSERT_EQ(set->items.size(), 1u);
    EXPECT_EQ(set->items[0].kind, EvidenceKind::kNvidia);
    EXPECT_EQ(set->items[0].report, "\x11\xE0\x01\xFF");
    EXPECT_EQ(set->items[0].certificates, certificates);
  }
  EXPECT_EQ(DetectEvidence("[" + one + "," + hex + "]")->items.size(), 2u);
}

TEST_F(VerifyInput, RefusesListsThatAreNone) {
  const std::string chain = root_.ToPem()->chain;
  const std::string one = DeviceObject("11e0", chain);
  std::string many = "[" + one;
  for (int i = 0; i < 64; ++i) many += "," + one;
  for (const std::string& text :
       {std::string("[]"), std::string("{}"), std::string("[1]"), "[" + one, many + "]",
        DeviceObject("?", chain), DeviceObject("11e0", "no pem"), DeviceObject("11e0", ""),
        std::string("{\"evidence\":1}"),
        std::string("{\"evidence\":\"00\",\"evidence\":\"00\"}")}) {
    EXPECT_FALSE(DetectEvidence(text).ok()) << text.substr(0, 80);
  }
}

std::string Base64(const std::string& bytes) {
  std::string text;
  absl::Base64Escape(bytes, &text);
  return text;
}

std::string NumbersOf(const std::string& bytes) {
  return absl::StrCat("[", absl::StrJoin(crypto::AsBytes(bytes), ","), "]");
}

std::string Quoted(const std::string& text) {
  std::string quoted;
  base::AppendJsonString(text, &quoted);
  return quoted;
}

std::string Base64Url(const std::string& bytes) {
  std::string text;
  absl::WebSafeBase64Escape(bytes, &text);
  return text;
}

// As attestation agents and services write an SEV-SNP report.
TEST_F(VerifyInput, TakesReportsInsideJson) {
  const std::string hex = base::ToHex(crypto::AsBytes(item_.report));
  const std::string base64 = Base64(item_.report);
  const std::vector<std::string>& all = item_.certificates;
  const std::string pem = CertificatesToPem(all);
  const std::string snp_report = absl::StrCat("{\"SnpReport\":\"", Base64Url(item_.report),
                                              "\",\"VcekCertChain\":\"", Base64Url(pem), "\"}");
  // The microcode's version makes "tcbm" begin as a certificate does.
  const std::string container =
      absl::StrCat("{\"vcekCert\":", Quoted(CertificatesToPem({all[0]})),
                   ",\"tcbm\":\"3018000000000004\",\"cacheControl\":\"3000\",\"certificateChain\":",
                   Quoted(CertificatesToPem({all[1], all[2]})), "}");
  const std::pair<std::string, std::vector<std::string>> documents[] = {
      {absl::StrCat("{\"attestation_report\":\"", base64, "\",\"cert_chain\":\"\"}"), {}},
      {absl::StrCat(" {\"quote\":null,\"report\":\"0x", hex, "\",\"vcek\":", Quoted(pem), "}"),
       all},
      {absl::StrCat("{\"attestation_report\":", NumbersOf(item_.report),
                    ",\"cert_chain\":[{\"cert_type\":\"CRL\",\"data\":[48,0]},"
                    "{\"cert_type\":{\"OTHER\":\"63\"},\"data\":",
                    NumbersOf(all[0]), "}]}"),
       {all[0]}},
      {absl::StrCat("{\"platform\":\"snp\",\"evidence\":{\"attestation_report\":\"", base64,
                    "\",\"cert_chain\":{\"ask\":\"", Base64(all[1]), "\",\"kind\":\"x\"}}}"),
       {all[1]}},
      {absl::StrCat("{\"report\":\"", Base64(item_.report + std::string(2816, '\0')),
                    "\",\"auxblob\":\"", Base64(Table(all)), "\",\"cert_chain\":[]}"),
       all},
      {absl::StrCat("{\"provider\":\"sev_guest\",\"outblob\":\"", base64, "\",\"auxblob\":null}"),
       {}},
      {absl::StrCat("{\"nonce\":\"00\",\"quote\":{\"report\":\"", base64, "\"}}"), {}},
      {absl::StrCat("{\"report\":\"", Base64Url(snp_report), "\"}"), all},
      {absl::StrCat("{\"evidence\":\"", base64, "\",\"endorsements\":\"", Base64(container), "\"}"),
       all},
      {absl::StrCat("{\"report\":\"", base64, "\",\"evidence\":{\"note\":1}}"), {}},
  };
  for (const auto& [document, certificates] : documents) {
    SCOPED_TRACE(document.substr(0, 60));
    ExpectReport(document, certificates.size());
    const auto set = DetectEvidence(document);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->items[0].certificates, certificates);
  }
}

TEST_F(VerifyInput, RefusesJsonWithoutAReportsBytes) {
  const std::string base64 = Base64(item_.report);
  const std::string report = "{\"report\":\"" + base64 + "\",";
  std::string full;  // 15, one less than evidence may have
  for (int i = 0; i < 5; ++i) full += CertificatesToPem(item_.certificates);
  const std::string many = full + CertificatesToPem(item_.certificates);
  const std::pair<std::string, const char*> documents[] = {
      {"{\"attestation_report\":{\"version\":2}}", "the report's fields"},
      {"{\"attestation_report\":\"?\"}", "attestation_report: neither"},
      {"{\"quote\":[256]}", "quote: neither"},
      {"{\"quote\":\"AAAA\"}", "no known report"},
      {report + "\"quote\":\"AAAA\"}", "report: a report, beside that in quote"},
      {"{\"report\":\"" + Base64("{\"SnpRepor\":1}") + "\"}", "report: json without SnpReport"},
      {report + "\"vcek\":\"AAAA\"}", "vcek: "},
      {report + "\"cert_chain\":[\"%%%\"]}", "cert_chain: neither pem"},
      {report + "\"cert_chain\":{\"vcek\":\"MIIF%\"}}", "cert_chain: neither pem"},
      {report + "\"cert_chain\":" + Quoted("-----BEGIN X-----\nAAAA\n-----END X-----\n") + "}",
       "cert_chain: pem that holds no certificate"},
      {report + "\"cert_chain\":" + Quoted(many) + "}", "cert_chain: "},
      {report + "\"vcek\":\"" + Base64(std::string(kMaxCertificateSize + 1, '0')) + "\"}",
       "vcek: a certificate of 16385 bytes"},
      {"{\"report\":\"" + Base64(item_.report + Table(item_.certificates)) +
           "\",\"cert_chain\":" + Quoted(full) + "}",
       "over 16 certificates"},
      {"{", "evidence: json: "},
      {report + "\"auxblob\":\"?\"}", "auxblob: neither"},
      {report + "\"auxblob\":\"AAAB\"}", "auxblob: no certificate table"},
      {"{\"evidence\":\"" + base64 + "\",\"endorsements\":\"AAAA\"}", "endorsements: no json"},
      {report + "\"device_evidence_list\":[1]}", "its list of devices: "},
      {"{\"nothing\":1}",
       "no quote, attestation_report, report, SnpReport or outblob, and no list"},
  };
  for (const auto& [document, problem] : documents) {
    const absl::Status status = DetectEvidence(document).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << document;
    EXPECT_TRUE(absl::StrContains(status.message(), problem)) << document << status;
  }
  EXPECT_TRUE(absl::StrContains(DetectEvidence("{}", EvidenceKind::kTdx).status().message(),
                                "json: no quote"));
}

TEST_F(VerifyInput, LosesNoDeviceBesideACpuInOneDocument) {
  const std::string device = DeviceObject("EeAB/w==", root_.ToPem()->chain);
  const auto set = DetectEvidence(absl::StrCat("{\"report\":\"", Base64(item_.report),
                                               "\",\"device_evidence_list\":[", device, "]}"));
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->items.size(), 2u);
  EXPECT_EQ(set->items[0].kind, EvidenceKind::kSevSnp);
  EXPECT_EQ(set->items[1].kind, EvidenceKind::kNvidia);
  // A device's own "report" is none of a CPU's.
  const auto named = DetectEvidence("{\"report\":1," + device.substr(1));
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->items[0].kind, EvidenceKind::kNvidia);
}

using Files = std::map<std::string, std::string>;

Files Devices(int count, const std::string& stem) {
  Files files;
  for (int i = 0; i < count; ++i) {
    files[absl::StrCat(stem, ".", i)] = "\x11\xE0\x01\xFF" + std::string(40, static_cast<char>(i));
  }
  return files;
}

// As `caravanctl evidence collect --out node` leaves them, of the CPU and of the GPUs.
TEST_F(VerifyInput, TakesAFolderOfACpuAndDevices) {
  Files files = Devices(2, "node");
  files["node.1.pem"] = root_.ToPem()->chain;
  files["node"] = item_.report;
  files["node.pem"] = CertificatesToPem(item_.certificates);
  const auto set = DetectEvidenceFiles(files);
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->items.size(), 3u);
  EXPECT_EQ(set->items[0].kind, EvidenceKind::kSevSnp);
  EXPECT_EQ(set->items[0].certificates, item_.certificates);
  EXPECT_EQ(set->items[1].report, files["node.0"]);
  EXPECT_TRUE(set->items[1].certificates.empty());
  EXPECT_EQ(set->items[2].report, files["node.1"]);
  EXPECT_FALSE(set->items[2].certificates.empty());
}

TEST_F(VerifyInput, GivesCertificatesOfAnyNameToTheOnlyReport) {
  for (const auto kind : {std::optional<EvidenceKind>(), std::optional(EvidenceKind::kSevSnp)}) {
    const auto set = DetectEvidenceFiles({{"report.bin", item_.report},
                                          {"vcek.der", item_.certificates[0]},
                                          {"table", Table({item_.certificates[1]})}},
                                         kind);
    ASSERT_TRUE(set.ok()) << set.status();
    ASSERT_EQ(set->items.size(), 1u);
    EXPECT_EQ(set->items[0].certificates,
              (std::vector<std::string>{item_.certificates[1], item_.certificates[0]}));
  }
}

TEST_F(VerifyInput, TakesTheAttributesOfConfigfsTsm) {
  Files files = {{"outblob", item_.report}, {"provider", "sev_guest\n"}, {"generation", "2\n"}};
  for (const bool table : {false, true}) {
    files["auxblob"] = table ? Table(item_.certificates) : "";
    const auto set = DetectEvidenceFiles(files);
    ASSERT_TRUE(set.ok()) << set.status();
    ASSERT_EQ(set->items.size(), 1u);
    EXPECT_EQ(set->items[0].certificates.size(), table ? 3u : 0u);
  }
}

TEST_F(VerifyInput, RefusesFoldersOfWhichItIsNotClearWhatTheyHold) {
  const std::string chain = root_.ToPem()->chain;
  Files strays = Devices(2, "gpu");
  strays["chain.pem"] = chain;
  Files several = {
      {"gpus.json", absl::StrCat("[{\"evidence\":\"EeAB/w==\"},", "{\"evidence\":\"EeAC/w==\"}]")},
      {"gpus.json.pem", chain}};
  Files other = Devices(1, "gpu");
  other["notes.txt"] = "hello";
  const std::pair<Files, const char*> folders[] = {
      {{}, "without a report"},
      {{{"a.pem", chain}}, "without a report"},
      {{{"a", item_.report}, {"b", item_.report}}, "b: a CPU's evidence, as a is"},
      {strays, "chain.pem: certificates of none of 2"},
      {several, "gpus.json.pem: certificates of none of 2"},
      {other, "notes.txt: "},
      {Devices(65, "gpu"), "over 64 devices"},
  };
  for (const auto& [files, problem] : folders) {
    const absl::Status status = DetectEvidenceFiles(files).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << problem;
    EXPECT_TRUE(absl::StrContains(status.message(), problem)) << status;
  }
}

TEST(RealEvidence, IsToldApart) {
  CARAVAN_REQUIRE_VECTORS();
  const std::pair<const char*, EvidenceKind> files[] = {
      {"snp/ms-tee-av/turin_attestation_report.bin", EvidenceKind::kSevSnp},
      {"snp/virtee-sev/report_milan.hex", EvidenceKind::kSevSnp},
      {"tdx/dcap-qvl/tdx_quote", EvidenceKind::kTdx},
      {"tdx/automata/quotev4.hex", EvidenceKind::kTdx},
      {"tdx/go-tdx-guest/quote_v5_sample.dat", EvidenceKind::kTdx},
      {"tdx/automata/quotev3.hex", EvidenceKind::kSgx},
      {"nvidia/go-nvtrust/attestationReport.txt", EvidenceKind::kNvidia},
      {"nvidia/nvtrust-ppcie/switch_evidence.json", EvidenceKind::kNvidia},
  };
  for (const auto& [file, kind] : files) {
    const auto bytes = ReadVectorForTest(file);
    ASSERT_TRUE(bytes.has_value()) << file;
    const auto set = DetectEvidence(*bytes);
    ASSERT_TRUE(set.ok()) << file << set.status();
    EXPECT_EQ(set->items[0].kind, kind) << file;
    if (kind == EvidenceKind::kNvidia) continue;
    const auto wrapped = DetectEvidence(
        absl::StrCat("{\"cc_eventlog\":null,\"quote\":\"", Base64(set->items[0].report), "\"}"));
    ASSERT_TRUE(wrapped.ok()) << file << wrapped.status();
    EXPECT_EQ(wrapped->items[0].kind, kind) << file;
    EXPECT_EQ(wrapped->items[0].report, set->items[0].report) << file;
  }
}

}  // namespace
}  // namespace caravan::attestation
