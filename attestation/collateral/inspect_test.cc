// SPDX-License-Identifier: Apache-2.0
#include "attestation/collateral/inspect.h"

#include <openssl/ocsp.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "attestation/collateral/carried.h"
#include "attestation/collateral/makers_testing.h"
#include "attestation/verify_input.h"
#include "base/hex.h"
#include "crypto/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

using ::testing::HasSubstr;

// Both makers, each request of their evidence with the item that answers it.
class Inspection : public ::testing::Test {
 protected:
  struct Pair {
    CollateralRequest request;
    CollateralItem item;
  };

  Inspection() {
    for (CollateralRequest& request : amd.Requests()) {
      pairs.push_back({request, AnswerTo(request)});
    }
    for (CollateralRequest& request : intel.Requests()) {
      pairs.push_back({request, AnswerTo(request)});
    }
    for (const Pair& pair : pairs) {
      Endorsements held;
      EXPECT_TRUE(
          ParseEndorsements(
              pair.item.issuer_chain.empty() ? pair.item.body : pair.item.issuer_chain, &held)
              .ok());
      for (std::string& der : held.certificates) issuers.push_back(std::move(der));
    }
  }

  CollateralItem AnswerTo(const CollateralRequest& request) {
    switch (request.kind) {
      case CollateralKind::kAmdVcek:
        return amd.Vcek();
      case CollateralKind::kAmdChain:
        return amd.Chain();
      case CollateralKind::kAmdCrl:
        return amd.CrlNow();
      case CollateralKind::kIntelTcbInfo:
        return intel.TcbInfo();
      case CollateralKind::kIntelQeIdentity:
        return intel.QeIdentity();
      case CollateralKind::kIntelPckCrl:
        return intel.PckCrl();
      default:
        return intel.RootCrl();
    }
  }

  Pair& At(CollateralKind kind) {
    for (Pair& pair : pairs) {
      if (pair.request.kind == kind) return pair;
    }
    ADD_FAILURE() << "no " << Name(kind);
    return pairs[0];
  }

  absl::StatusOr<CollateralFacts> Inspect(const Pair& pair) {
    return InspectCollateral(pair.request, pair.item, issuers, roots);
  }
  void ExpectRefused(const Pair& pair, const std::string& why) {
    const auto facts = Inspect(pair);
    EXPECT_TRUE(absl::IsUnauthenticated(facts.status())) << facts.status();
    EXPECT_THAT(std::string(facts.status().message()), HasSubstr(why));
  }

  AmdForTest amd;
  IntelForTest intel;
  std::vector<Pair> pairs;
  std::vector<std::string> issuers;
  std::vector<std::string> roots = {amd.RootDigest(), intel.RootDigest()};
};

TEST_F(Inspection, TakesWhatWasAskedForAndSaysUntilWhen) {
  for (const Pair& pair : pairs) {
    const auto facts = Inspect(pair);
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_GT(facts->expires, amd.now) << pair.request.ToString();
    EXPECT_LT(facts->issued, amd.now) << pair.request.ToString();
  }
  const auto info = Inspect(At(CollateralKind::kIntelTcbInfo));
  EXPECT_EQ(info->issued, intel.Now().issue);
  EXPECT_EQ(info->expires, intel.Now().next_update);
  EXPECT_EQ(info->evaluation_number, 18u);
  EXPECT_EQ(Inspect(At(CollateralKind::kAmdCrl))->expires, amd.world.crl.next_update);
}

TEST_F(Inspection, RefusesEveryOtherItemForARequest) {
  for (const Pair& asked : pairs) {
    for (const Pair& other : pairs) {
      if (asked.request == other.request) continue;
      EXPECT_FALSE(Inspect({asked.request, other.item}).ok())
          << other.request.ToString() << " passes for " << asked.request.ToString();
    }
  }
}

TEST_F(Inspection, RefusesAFlippedByteInEach) {
  for (const Pair& pair : pairs) {
    for (size_t at = 40; at < pair.item.body.size(); at += 1 + pair.item.body.size() / 23) {
      Pair flipped = pair;
      flipped.item.body[at] ^= 1;
      // PEM's base64 may spell the same bytes, its last characters above all.
      if (pair.request.kind == CollateralKind::kAmdChain && Inspect(flipped).ok()) continue;
      EXPECT_FALSE(Inspect(flipped).ok()) << pair.request.ToString() << " at " << at;
    }
  }
}

TEST_F(Inspection, RefusesWhatIsSignedUnderNoKnownRoot) {
  roots.clear();
  for (const Pair& pair : pairs) EXPECT_FALSE(Inspect(pair).ok()) << pair.request.ToString();
  ExpectRefused(At(CollateralKind::kAmdChain), "known root");
}

TEST_F(Inspection, RefusesAnotherChipFirmwareOrProduct) {
  Pair& vcek = At(CollateralKind::kAmdVcek);
  amd.world.leaf_spec.tcb.snp = 23;
  vcek.item = amd.Vcek();
  ExpectRefused(vcek, "snpSPL=23");
  amd.world.leaf_spec.tcb.snp = 24;
  amd.world.leaf_spec.hwid[0] = '\x01';
  vcek.item = amd.Vcek();
  ExpectRefused(vcek, "another chip");
  AmdForTest genoa(v1::GENOA);
  vcek.item = genoa.Vcek();
  ExpectRefused(vcek, "is for a Genoa");
}

TEST_F(Inspection, RefusesAnotherPlatformsDocuments) {
  Pair& info = At(CollateralKind::kIntelTcbInfo);
  intel.world.fmspc = "00906ed50000";
  info.item = intel.TcbInfo();
  ExpectRefused(info, "TCB info is for tdx/00906ed50000");
  Pair& identity = At(CollateralKind::kIntelQeIdentity);
  intel.world.identity_id = "QE";
  identity.item = intel.QeIdentity();
  ExpectRefused(identity, "the identity is of QE");
}

TEST_F(Inspection, RefusesADocumentThatThePckSigned) {
  Pair& info = At(CollateralKind::kIntelTcbInfo);
  intel.world.document_key = intel.world.pck_key.get();
  info.item = intel.TcbInfo();
  ExpectRefused(info, "no TCB signing certificate");
  // Its certificate at hand does not help.
  for (std::string& der : CarriedCertificates(intel.Evidence().items[0])) {
    issuers.push_back(std::move(der));
  }
  ExpectRefused(info, "which may not");
}

TEST_F(Inspection, EndsADocumentWithItsIssuerChain) {
  Pair& info = At(CollateralKind::kIntelTcbInfo);
  intel.world.signer.not_after = intel.now + absl::Hours(2);
  info.item = intel.TcbInfo();
  EXPECT_EQ(Inspect(info)->expires, intel.now + absl::Hours(2));
}

TEST_F(Inspection, TakesListsInEveryFormThatServicesUse) {
  Pair& list = At(CollateralKind::kIntelRootCrl);
  const std::string der = list.item.body;
  list.item.body = base::ToHex(crypto::AsBytes(der));
  EXPECT_TRUE(Inspect(list).ok()) << Inspect(list).status();
  list.item.body = absl::StrCat("-----BEGIN X509 CRL-----\n", absl::Base64Escape(der),
                                "\n-----END X509 CRL-----\n");
  EXPECT_TRUE(Inspect(list).ok()) << Inspect(list).status();
}

// A responder's answer about `certificate`, signed by its issuer or, where given, another.
std::string OcspAnswer(const Certificate& certificate, const Certificate& issuer, EVP_PKEY* key,
                       int status, absl::Time this_update, absl::Time next_update,
                       const Certificate* other = nullptr) {
  const Certificate& signer = other != nullptr ? *other : issuer;
  OCSP_BASICRESP* basic = OCSP_BASICRESP_new();
  OCSP_CERTID* id = OCSP_cert_to_id(EVP_sha384(), certificate.get(), issuer.get());
  ASN1_TIME* from = ASN1_TIME_set(nullptr, absl::ToTimeT(this_update));
  ASN1_TIME* until = ASN1_TIME_set(nullptr, absl::ToTimeT(next_update));
  OCSP_basic_add1_status(basic, id, status, OCSP_REVOKED_STATUS_KEYCOMPROMISE, from, from, until);
  // OpenSSL would write the time of day, and offers no other way to say another.
  ASN1_GENERALIZEDTIME_set(const_cast<ASN1_GENERALIZEDTIME*>(OCSP_resp_get0_produced_at(basic)),
                           absl::ToTimeT(this_update));
  EXPECT_EQ(
      OCSP_basic_sign(basic, signer.get(), key, EVP_sha384(), nullptr, OCSP_NOCERTS | OCSP_NOTIME),
      1);
  OCSP_RESPONSE* response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
  unsigned char* der = nullptr;
  const int size = i2d_OCSP_RESPONSE(response, &der);
  std::string bytes(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  OCSP_RESPONSE_free(response);
  OCSP_BASICRESP_free(basic);
  OCSP_CERTID_free(id);
  ASN1_TIME_free(from);
  ASN1_TIME_free(until);
  return bytes;
}

TEST(OcspAnswer, IsTakenWhenItIsSignedAndAboutTheCertificate) {
  AmdForTest amd;
  Endorsements held;
  ASSERT_TRUE(ParseEndorsements(amd.Chain().body, &held).ok());
  const Certificate ask = *Certificate::Parse(held.certificates[0]);
  const Certificate ark = *Certificate::Parse(held.certificates[1]);
  const CollateralRequest request{CollateralKind::kOcsp,
                                  base::ToHex(crypto::Sha256(crypto::AsBytes(ask.der())))};
  EVP_PKEY* const key = amd.world.ark_key.get();
  const auto inspect = [&](std::string answer, std::vector<std::string> issuers) {
    CollateralItem item{.body = std::move(answer)};
    item.fetched = amd.now;
    return InspectCollateral(request, item, issuers, {amd.RootDigest()});
  };
  const absl::Time from = amd.now - absl::Hours(1), until = amd.now + absl::Hours(1);
  const std::string good = OcspAnswer(ask, ark, key, V_OCSP_CERTSTATUS_GOOD, from, until);
  const auto facts = inspect(good, held.certificates);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->issued, from);
  EXPECT_EQ(facts->expires, until);
  // A revocation is as worth keeping: it is what verifiers must hear of.
  EXPECT_TRUE(
      inspect(OcspAnswer(ask, ark, key, V_OCSP_CERTSTATUS_REVOKED, from, until), held.certificates)
          .ok());
  const std::pair<const char*, std::string> refused[] = {
      {"unknown", OcspAnswer(ask, ark, key, V_OCSP_CERTSTATUS_UNKNOWN, from, until)},
      {"of another certificate", OcspAnswer(ark, ark, key, V_OCSP_CERTSTATUS_GOOD, from, until)},
      {"stale", OcspAnswer(ask, ark, key, V_OCSP_CERTSTATUS_GOOD, from - absl::Hours(9),
                           from - absl::Hours(8))},
      {"of another key",
       OcspAnswer(ask, ark, amd.world.ask_key.get(), V_OCSP_CERTSTATUS_GOOD, from, until, &ask)},
      {"none", "0"}};
  for (const auto& [what, answer] : refused) {
    EXPECT_TRUE(absl::IsUnauthenticated(inspect(answer, held.certificates).status())) << what;
  }
  EXPECT_TRUE(absl::IsUnauthenticated(inspect(good, {held.certificates[1]}).status()))
      << "the certificate is not at hand";
}

TEST(Answer, HasItsChainDecoded) {
  IntelForTest intel;
  const std::string pem = intel.TcbInfo().issuer_chain;
  std::string encoded;
  for (unsigned char c : pem) {
    encoded += absl::ascii_isalnum(c) ? std::string(1, static_cast<char>(c))
                                      : absl::StrCat("%", absl::Hex(c, absl::kZeroPad2));
  }
  const CollateralRequest request{CollateralKind::kIntelTcbInfo, "tdx/060606060606"};
  auto item = TakeAnswer(request, "{}", encoded);
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(item->issuer_chain, pem);
  EXPECT_EQ(item->body, "{}");
}

TEST(Answer, IsRefusedWhenItIsNone) {
  const CollateralRequest request{CollateralKind::kIntelTcbInfo, "tdx/060606060606"};
  for (const std::string chain :
       {"%", "%4", "%zz", "no pem", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(TakeAnswer(request, "{}", chain).status())) << chain;
  }
  EXPECT_TRUE(
      absl::IsInvalidArgument(TakeAnswer(request, "{}", std::string(70'000, 'x')).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(TakeAnswer(request, "", "").status()));
}

TEST(Answer, UnwrapsTheManifestThatWasAskedFor) {
  const CollateralRequest request{CollateralKind::kNvidiaRim, "NV_GPU_DRIVER_GH100_550.90.07"};
  auto item = TakeAnswer(
      request, R"({"id":"NV_GPU_DRIVER_GH100_550.90.07","rim":"PHg+PC94Pg==","sha256":"00"})", "");
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(item->body, "<x></x>");
  for (const char* body : {R"({"id":"NV_GPU_DRIVER_GH100_535.00","rim":"PHg+PC94Pg=="})",
                           R"({"id":"NV_GPU_DRIVER_GH100_550.90.07","rim":"?"})",
                           R"({"id":"NV_GPU_DRIVER_GH100_550.90.07"})", "<x/>"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(TakeAnswer(request, body, "").status())) << body;
  }
}

TEST(Rollback, IsSeenByEvaluationNumberThenByDate) {
  const absl::Time now = absl::FromUnixSeconds(1'780'000'000);
  const CollateralFacts kept{.issued = now, .expires = now, .evaluation_number = 18};
  CollateralFacts fresh = kept;
  EXPECT_TRUE(CheckNotOlder(fresh, kept).ok());
  fresh.issued = now - absl::Seconds(1);
  EXPECT_TRUE(absl::IsUnauthenticated(CheckNotOlder(fresh, kept)));
  fresh.evaluation_number = 19;
  EXPECT_TRUE(CheckNotOlder(fresh, kept).ok());
  fresh = {.issued = now + absl::Hours(1), .expires = now, .evaluation_number = 17};
  EXPECT_TRUE(absl::IsUnauthenticated(CheckNotOlder(fresh, kept)));
}

}  // namespace
}  // namespace caravan::attestation
