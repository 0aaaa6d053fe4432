// SPDX-License-Identifier: Apache-2.0
//
// The classic mistakes about certificate status, each tried on an answer that is right otherwise.
#include "attestation/ocsp.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ocsp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "attestation/insecure_software/forge_ocsp.h"
#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

using insecure_software::CertificateSpec;
using insecure_software::kCertificateHold;
using insecure_software::kKeyCompromise;
using insecure_software::MakeCertificate;
using insecure_software::OcspSpec;
using insecure_software::OcspStatus;

// An issuer, a certificate, a responder that the issuer appointed, and a fresh good answer.
class Ocsp : public testing::Test {
 protected:
  Ocsp() {
    issuer_spec = Spec("issuer", "issuer", issuer_key.get(), issuer_key.get(), 1, true);
    leaf_spec = Spec("leaf", "issuer", leaf_key.get(), issuer_key.get(), 2, false);
    responder_spec = Spec("responder", "issuer", responder_key.get(), issuer_key.get(), 3, false);
    responder_spec.extensions = insecure_software::OcspSigningExtensions();
    issuer_der = *MakeCertificate(issuer_spec);
    leaf_der = *MakeCertificate(leaf_spec);
    spec = {.certificate = leaf_der,
            .issuer = issuer_der,
            .this_update = now - absl::Hours(1),
            .produced_at = now - absl::Hours(1),
            .next_update = now + absl::Hours(1),
            .signer = issuer_der,
            .key = issuer_key.get()};
  }

  CertificateSpec Spec(const char* name, const char* issuer, EVP_PKEY* key, EVP_PKEY* signer,
                       uint64_t serial, bool is_ca) const {
    CertificateSpec made;
    made.common_name = name;
    made.issuer_name = issuer;
    made.subject_key = key;
    made.issuer_key = signer;
    made.serial = serial;
    made.not_before = now - absl::Hours(24);
    made.not_after = now + absl::Hours(24);
    made.is_ca = is_ca;
    return made;
  }

  // Signs with the responder as it is specified now.
  void Delegate() {
    spec.signer = *MakeCertificate(responder_spec);
    spec.key = responder_key.get();
    spec.with_signer = true;
  }

  std::string Response() const {
    auto response = insecure_software::MakeOcspResponse(spec);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.value_or("");
  }

  OcspFinding Read(const std::string& response) const {
    const Certificate leaf = *Certificate::Parse(leaf_der);
    const Certificate issuer = *Certificate::Parse(issuer_der);
    const OcspFinding finding = ReadOcspResponse(response, {leaf, issuer, now, nonce});
    // What held before must not help what differs.
    const OcspFinding again = ReadOcspResponse(response, {leaf, issuer, now, nonce, &known});
    EXPECT_EQ(Name(again.outcome), Name(finding.outcome));
    EXPECT_EQ(again.detail, finding.detail);
    return finding;
  }
  void Expect(OcspOutcome outcome) const {
    const OcspFinding finding = Read(Response());
    EXPECT_EQ(Name(finding.outcome), Name(outcome)) << finding.detail;
    EXPECT_EQ(finding.detail.empty(), outcome == OcspOutcome::kGood) << finding.detail;
  }

  const absl::Time now = absl::FromUnixSeconds(1'780'000'000);  // 2026-05-28
  const EvpPkeyPtr issuer_key = *insecure_software::MakeP384Key();
  const EvpPkeyPtr leaf_key = *insecure_software::MakeP384Key();
  const EvpPkeyPtr responder_key = *insecure_software::MakeP384Key();
  CertificateSpec issuer_spec, leaf_spec, responder_spec;
  std::string issuer_der, leaf_der;
  OcspSpec spec;
  std::optional<std::string> nonce;
  mutable KnownSignatures known;
};

TEST_F(Ocsp, TakesTheIssuersAnswer) {
  Expect(OcspOutcome::kGood);
  EXPECT_EQ(Read(Response()).next_update, now + absl::Hours(1));
  spec.with_signer = true;
  Expect(OcspOutcome::kGood);
}

TEST_F(Ocsp, TakesEachHashOfACertId) {
  for (const EVP_MD* hash : {EVP_sha1(), EVP_sha256(), EVP_sha384()}) {
    spec.id_hash = hash;
    Expect(OcspOutcome::kGood);
  }
  spec.id_hash = EVP_md5();
  Expect(OcspOutcome::kWrongCertificate);
}

TEST_F(Ocsp, TellsRevokedFromHoldAndUnknown) {
  spec.status = OcspStatus::kRevoked;
  Expect(OcspOutcome::kRevoked);
  spec.reason = kKeyCompromise;
  Expect(OcspOutcome::kRevoked);
  EXPECT_TRUE(absl::StrContains(Read(Response()).detail, "keyCompromise"));
  spec.reason = kCertificateHold;
  Expect(OcspOutcome::kHold);
  spec.status = OcspStatus::kUnknown;
  spec.reason = insecure_software::kNoReason;
  Expect(OcspOutcome::kUnknown);
}

// Another serial number, another issuer's name, another issuer's key: certID has all three.
TEST_F(Ocsp, RefusesAnswersAboutOtherCertificates) {
  CertificateSpec other = leaf_spec;
  other.serial = 9;
  spec.certificate = *MakeCertificate(other);
  Expect(OcspOutcome::kWrongCertificate);
  spec.certificate = leaf_der;
  CertificateSpec key = issuer_spec;
  key.subject_key = key.issuer_key = responder_key.get();
  spec.issuer = *MakeCertificate(key);
  Expect(OcspOutcome::kWrongCertificate);
  CertificateSpec name = issuer_spec, under = leaf_spec;
  name.common_name = name.issuer_name = under.issuer_name = "another issuer";
  spec.issuer = *MakeCertificate(name);
  spec.certificate = *MakeCertificate(under);
  Expect(OcspOutcome::kWrongCertificate);
}

TEST_F(Ocsp, RefusesAnswersOutsideTheirTime) {
  spec.next_update = now - absl::Seconds(1);
  Expect(OcspOutcome::kStale);
  spec.next_update = now;
  Expect(OcspOutcome::kGood);
  spec.next_update.reset();
  Expect(OcspOutcome::kStale);
  spec.next_update = now + absl::Hours(1);
  spec.this_update = now + absl::Seconds(1);
  Expect(OcspOutcome::kStale);
  spec.this_update = now - absl::Hours(1);
  spec.produced_at = now + absl::Seconds(1);
  Expect(OcspOutcome::kStale);
}

// A hold may have been lifted since; a revocation is for ever.
TEST_F(Ocsp, HeedsARevocationHoweverOld) {
  spec.next_update = now - absl::Seconds(1);
  spec.status = OcspStatus::kRevoked;
  Expect(OcspOutcome::kRevoked);
  spec.reason = kCertificateHold;
  Expect(OcspOutcome::kStale);
}

// A stored answer may not pass for the one that was asked for.
TEST_F(Ocsp, WantsTheNonceThatWasSent) {
  nonce = std::string(32, 'n');
  Expect(OcspOutcome::kStale);
  spec.nonce = std::string(32, 'm');
  Expect(OcspOutcome::kStale);
  spec.nonce = std::string(31, 'n');
  Expect(OcspOutcome::kStale);
  spec.nonce = nonce;
  Expect(OcspOutcome::kGood);
  nonce.reset();
  Expect(OcspOutcome::kGood);
}

TEST_F(Ocsp, TakesAResponderThatTheIssuerAppointed) {
  Delegate();
  Expect(OcspOutcome::kGood);
  spec.with_signer = false;
  Expect(OcspOutcome::kUntrusted);
}

TEST_F(Ocsp, RefusesACertificateThatIsNotForAnswers) {
  responder_spec.extensions.clear();
  Delegate();
  Expect(OcspOutcome::kUntrusted);
  // serverAuth; and anyExtendedKeyUsage, which is not to be taken for it (RFC 6960 4.2.2.2).
  for (const std::string& usage :
       {std::string("\x30\x0A\x06\x08\x2B\x06\x01\x05\x05\x07\x03\x01", 12),
        std::string("\x30\x06\x06\x04\x55\x1D\x25\x00", 8)}) {
    responder_spec.extensions = {{"2.5.29.37", usage}};
    Delegate();
    Expect(OcspOutcome::kUntrusted);
  }
  // The leaf itself.
  spec.signer = leaf_der;
  spec.key = leaf_key.get();
  Expect(OcspOutcome::kUntrusted);
}

TEST_F(Ocsp, RefusesResponderCertificatesThatAreWrongOtherwise) {
  const CertificateSpec good = responder_spec;
  const auto refused = [&](auto change) {
    responder_spec = good;
    change();
    Delegate();
    Expect(OcspOutcome::kUntrusted);
  };
  refused([&] { responder_spec.issuer_key = responder_key.get(); });
  refused([&] { responder_spec.issuer_name = "another issuer"; });
  refused([&] { responder_spec.not_after = now - absl::Seconds(1); });
  refused([&] { responder_spec.not_before = now + absl::Seconds(1); });
  refused([&] { responder_spec.is_ca = true; });
  refused([&] { responder_spec.critical_oid = "1.3.6.1.4.1.99999.1"; });
  refused([&] {  // keyUsage: keyEncipherment alone
    responder_spec.extensions.emplace_back("2.5.29.15", std::string("\x03\x02\x05\x20", 4));
  });
}

// The genuine names, other keys.
TEST_F(Ocsp, RefusesAForeignSignerUnderTheIssuersName) {
  CertificateSpec foreign = issuer_spec;
  foreign.subject_key = foreign.issuer_key = responder_key.get();
  spec.signer = *MakeCertificate(foreign);
  spec.key = responder_key.get();
  spec.with_signer = true;
  Expect(OcspOutcome::kUntrusted);
}

TEST_F(Ocsp, RefusesWeakSignatures) {
  spec.digest = EVP_sha1();
  Expect(OcspOutcome::kUntrusted);
  spec.digest = EVP_sha256();
  Expect(OcspOutcome::kGood);
}

// The response with r and s, its signature's numbers, replaced.
std::string WithScalars(const std::string& response, const BIGNUM* r, const BIGNUM* s) {
  const auto* in = reinterpret_cast<const uint8_t*>(response.data());
  OCSP_RESPONSE* outer = d2i_OCSP_RESPONSE(nullptr, &in, static_cast<long>(response.size()));
  OCSP_BASICRESP* basic = OCSP_response_get1_basic(outer);
  ECDSA_SIG* scalars = ECDSA_SIG_new();
  ECDSA_SIG_set0(scalars, BN_dup(r), BN_dup(s));
  uint8_t* der = nullptr;
  const int size = i2d_ECDSA_SIG(scalars, &der);
  ASN1_STRING_set(const_cast<ASN1_OCTET_STRING*>(OCSP_resp_get0_signature(basic)), der, size);
  OCSP_RESPONSE* changed = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
  uint8_t* out = nullptr;
  const int out_size = i2d_OCSP_RESPONSE(changed, &out);
  const std::string bytes(reinterpret_cast<char*>(out), static_cast<size_t>(out_size));
  OPENSSL_free(out);
  OPENSSL_free(der);
  ECDSA_SIG_free(scalars);
  OCSP_BASICRESP_free(basic);
  OCSP_RESPONSE_free(changed);
  OCSP_RESPONSE_free(outer);
  return bytes;
}

TEST_F(Ocsp, RefusesScalarsOfZeroAndTheOrder) {
  const std::unique_ptr<BIGNUM, OpensslDelete<BN_free>> zero(BN_new()), one(BN_new());
  BN_one(one.get());
  const std::unique_ptr<EC_GROUP, OpensslDelete<EC_GROUP_free>> group(
      EC_GROUP_new_by_curve_name(NID_secp384r1));
  const BIGNUM* const scalars[] = {zero.get(), EC_GROUP_get0_order(group.get()), one.get()};
  for (const BIGNUM* r : scalars) {
    for (const BIGNUM* s : scalars) {
      EXPECT_EQ(Read(WithScalars(Response(), r, s)).outcome, OcspOutcome::kUntrusted);
    }
  }
}

TEST_F(Ocsp, RefusesAFlippedBitAnywhere) {
  Delegate();
  const std::string good = Response();
  for (size_t bit = 0; bit < 8 * good.size(); bit += 5) {
    std::string response = good;
    response[bit / 8] = static_cast<char>(response[bit / 8] ^ (1 << bit % 8));
    const OcspFinding finding = Read(response);
    // The outer envelope and the bag of certificates are not signed; what they say must not matter.
    if (finding.outcome != OcspOutcome::kGood) continue;
    EXPECT_EQ(finding.this_update, spec.this_update) << bit;
    EXPECT_EQ(finding.next_update, *spec.next_update) << bit;
  }
  std::string status = good;
  const size_t at = status.find(std::string("\x80\x00", 2));  // good [0] IMPLICIT NULL
  ASSERT_NE(at, std::string::npos);
  status[at] = '\x82';  // unknown
  EXPECT_EQ(Read(status).outcome, OcspOutcome::kUntrusted);
}

TEST_F(Ocsp, SaysNothingOfWhatIsNoAnswer) {
  const std::string good = Response();
  for (const std::string& bad :
       {std::string(), std::string("x"), good.substr(0, good.size() - 1), good + '\0',
        std::string(kMaxOcspSize + 1, '\x30'), leaf_der, *insecure_software::MakeOcspError(3)}) {
    const OcspFinding finding = Read(bad);
    EXPECT_EQ(finding.outcome, OcspOutcome::kNone);
    EXPECT_FALSE(finding.detail.empty());
  }
  EXPECT_TRUE(CheckOcspForm(good).ok());
  EXPECT_FALSE(CheckOcspForm(good + '\0').ok());
  EXPECT_FALSE(CheckOcspForm(leaf_der).ok());
}

class OcspOfSeveral : public Ocsp {
 protected:
  std::string Found(const std::vector<std::string>& responses) const {
    const Certificate leaf = *Certificate::Parse(leaf_der);
    const Certificate issuer = *Certificate::Parse(issuer_der);
    return std::string(Name(FindOcspStatus(responses, {leaf, issuer, now}).outcome));
  }
};

TEST_F(OcspOfSeveral, CountsTheOneThatMatters) {
  const std::string good = Response();
  spec.this_update -= absl::Minutes(1);
  spec.status = OcspStatus::kRevoked;
  const std::string revoked = Response();
  spec.reason = kCertificateHold;
  const std::string older_hold = Response();
  spec.this_update += absl::Minutes(2);
  const std::string newer_hold = Response();
  spec.next_update = now - absl::Seconds(1);
  const std::string stale = Response();
  EXPECT_EQ(Found({}), "none");
  EXPECT_EQ(Found({"junk", stale}), "stale");
  EXPECT_EQ(Found({stale, good}), "good");
  EXPECT_EQ(Found({good, older_hold}), "good");  // lifted since
  EXPECT_EQ(Found({good, newer_hold}), "certificate-hold");
  EXPECT_EQ(Found({good, revoked, newer_hold}), "revoked");
}

class OcspChecks : public Ocsp {
 protected:
  // The outcomes of _OCSP, _REVOKED and _HOLD for the leaf and its issuer, by these responses.
  std::string Outcomes(const std::vector<std::string>& responses,
                       const OcspRule& rule = {.id = "X"}) {
    appraisal = {};
    CheckList checks(&appraisal);
    const std::vector<Certificate> chain = {*Certificate::Parse(leaf_der),
                                            *Certificate::Parse(issuer_der)};
    CheckOcsp(rule, responses, chain, now, &checks);
    std::string text;
    for (const char* id : {"X_OCSP", "X_REVOKED", "X_HOLD"}) {
      std::string outcome = "absent";
      for (const Check& check : appraisal.checks) {
        if (check.id == id) outcome = std::string(Name(check.outcome));
      }
      text += (text.empty() ? "" : " ") + outcome;
    }
    return text;
  }
  Appraisal appraisal;
};

// No answer is no "good".
TEST_F(OcspChecks, CannotVerifyWithoutAnAnswer) {
  EXPECT_EQ(Outcomes({Response()}), "passed passed passed");
  EXPECT_EQ(Outcomes({}), "missing absent absent");
  EXPECT_EQ(Outcomes({}, {.id = "X", .waived = true}), "skipped absent absent");
  spec.next_update = now - absl::Seconds(1);
  EXPECT_EQ(Outcomes({Response()}), "missing absent absent");
  EXPECT_TRUE(absl::StrContains(appraisal.checks[0].detail, "holds from"));
  spec.next_update = now + absl::Hours(1);
  spec.status = OcspStatus::kUnknown;
  EXPECT_EQ(Outcomes({Response()}), "missing absent absent");
}

TEST_F(OcspChecks, RefusesTheRevoked) {
  spec.status = OcspStatus::kRevoked;
  EXPECT_EQ(Outcomes({Response()}), "passed failed passed");
  EXPECT_EQ(Outcomes({Response()}, {.id = "X", .tolerate_hold = true, .waived = true}),
            "passed failed passed");
}

TEST_F(OcspChecks, RefusesAHoldUnlessThePolicyToleratesIt) {
  spec.status = OcspStatus::kRevoked;
  spec.reason = kCertificateHold;
  EXPECT_EQ(Outcomes({Response()}), "passed passed failed");
  EXPECT_EQ(Outcomes({Response()}, {.id = "X", .tolerate_hold = true}), "passed passed warned");
}

// Each certificate of the chain but the root.
TEST_F(OcspChecks, WantsAnAnswerForEveryLink) {
  const Certificate leaf = *Certificate::Parse(leaf_der), issuer = *Certificate::Parse(issuer_der);
  CheckList checks(&appraisal);
  CheckOcsp({.id = "X"}, {Response()}, {leaf, issuer, issuer}, now, &checks);
  EXPECT_EQ(appraisal.checks[0].outcome, Outcome::kMissing);
  EXPECT_TRUE(absl::StrContains(appraisal.checks[0].detail, "issuer"));
}

TEST_F(Ocsp, MakesRequestsThatResponderAndVerifierAgreeOn) {
  const Certificate leaf = *Certificate::Parse(leaf_der), issuer = *Certificate::Parse(issuer_der);
  const std::string der = *MakeOcspRequest(leaf, issuer, std::string(32, 'n'));
  const auto* cursor = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<OCSP_REQUEST, OpensslDelete<OCSP_REQUEST_free>> request(
      d2i_OCSP_REQUEST(nullptr, &cursor, static_cast<long>(der.size())));
  ASSERT_NE(request, nullptr);
  ASSERT_EQ(OCSP_request_onereq_count(request.get()), 1);
  const std::unique_ptr<OCSP_CERTID, OpensslDelete<OCSP_CERTID_free>> expected(
      OCSP_cert_to_id(EVP_sha384(), leaf.get(), issuer.get()));
  EXPECT_EQ(
      OCSP_id_cmp(expected.get(), OCSP_onereq_get0_id(OCSP_request_onereq_get0(request.get(), 0))),
      0);
  EXPECT_TRUE(absl::StrContains(der, std::string(32, 'n')));
  EXPECT_TRUE(MakeOcspRequest(leaf, issuer, std::nullopt).ok());
  EXPECT_FALSE(MakeOcspRequest(leaf, issuer, std::string(33, 'n')).ok());
  EXPECT_FALSE(MakeOcspRequest(leaf, issuer, std::string()).ok());
}

}  // namespace
}  // namespace caravan::attestation
