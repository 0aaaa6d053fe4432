// SPDX-License-Identifier: Apache-2.0
//
// What is read of a manifest, what is refused, and that nothing outside the signed bytes is read.
#include "attestation/nvidia/rim.h"

#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "attestation/nvidia/rim_signature.h"
#include "attestation/nvidia/rim_world.h"
#include "attestation/nvidia/rim_xml.h"
#include "gtest/gtest.h"

namespace caravan::attestation::nvidia {
namespace {

using testing::TestWithParam;
using testing::Values;

// A document with `from` replaced by `to` before it was signed.
std::string Signed(const std::string& from, const std::string& to) {
  RimWorld world;
  world.edit_text = [&](std::string* text) {
    ASSERT_GT(absl::StrReplaceAll({{from, to}}, text), 0) << from;
  };
  return world.Document();
}

std::string Edited(const std::string& from, const std::string& to) {
  std::string text = RimWorld().Document();
  EXPECT_GT(absl::StrReplaceAll({{from, to}}, &text), 0) << from;
  return text;
}

void ExpectRefused(const std::string& text, const std::string& problem) {
  const auto document = SignedDocument::Parse(text);
  const absl::Status status =
      document.ok() ? ParseRim(document->content()).status() : document.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << problem;
  EXPECT_TRUE(absl::StrContains(std::string(status.message()), problem)) << status;
}

TEST(RimXml, RefusesDocumentTypesAndEntities) {
  for (const char* type :
       {"<!DOCTYPE a>", "<!DOCTYPE a SYSTEM \"file:///etc/passwd\">",
        "<!DOCTYPE a [<!ENTITY b SYSTEM \"http://localhost/\">]>",
        "<!DOCTYPE a [<!ENTITY b \"cccccccccc\"><!ENTITY d \"&b;&b;&b;&b;&b;&b;\">]>"}) {
    ExpectRefused(absl::StrCat(type, RimWorld().Document()), "document type");
  }
  ExpectRefused(Edited("NVIDIA Corporation", "&undeclared;"), "line ");
}

TEST(RimXml, RefusesWhatIsOverItsLimits) {
  const std::string good = RimWorld().Document();
  ExpectRefused("", "0 bytes");
  ExpectRefused(good + std::string(kMaxXmlSize, ' '), "bytes, expected 1 to");
  std::string deep;
  for (size_t i = 0; i < kMaxXmlDepth; ++i) deep = absl::StrCat("<a>", deep, "</a>");
  EXPECT_TRUE(ParseXml(deep).ok());
  ExpectRefused(absl::StrCat("<a>", deep, "</a>"), "too deep");
  std::string many;
  for (size_t i = 0; i < kMaxXmlElements; ++i) absl::StrAppend(&many, "<a/>");
  ExpectRefused(absl::StrCat("<a>", many, "</a>"), "too many elements");
  std::string wide = "<a";
  for (size_t i = 0; i <= kMaxXmlAttributes; ++i) absl::StrAppend(&wide, " a", i, "=\"\"");
  ExpectRefused(wide + "/>", "too many attributes");
}

TEST(RimXml, RefusesWhatIsNotWellFormed) {
  const std::string good = RimWorld().Document();
  ExpectRefused(good + "<a/>", "line ");
  ExpectRefused(good.substr(0, good.size() - 1), "line ");
  ExpectRefused(absl::StrCat(good.substr(0, 40), std::string(1, '\0'), good.substr(40)), "NUL");
  ExpectRefused(Edited("<ns0:Entity", "<ns7:Entity"), "line ");
  ExpectRefused(Edited("corpus=\"false\"", "corpus=\"false\" corpus=\"true\""), "line ");
  ExpectRefused(Edited("corpus=\"false\"", "corpus=\"\xFF\xFE\""), "line ");
}

// The encoding is UTF-8, whatever a declaration says.
TEST(RimXml, ReadsUtf8Alone) {
  RimWorld world;
  world.edit_document = [](std::string* text) {
    *text = absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n", *text);
  };
  world.ExpectAccepted();
}

struct Form {
  const char *name, *from, *to;
};
class SignatureForm : public TestWithParam<Form> {};

// Signed by the right key, and still another form than the one known.
TEST_P(SignatureForm, IsTheOnlyOne) {
  const auto document = SignedDocument::Parse(Signed(GetParam().from, GetParam().to));
  EXPECT_EQ(document.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StartsWith(document.status().message(), "manifest")) << document.status();
}

INSTANTIATE_TEST_SUITE_P(
    Forms, SignatureForm,
    Values(Form{"OtherCanonicalForm", "Method Algorithm=\"http://www.w3.org/2006/12/xml-c14n11\"",
                "Method Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\""},
           Form{"CanonicalFormWithComments",
                "Transform Algorithm=\"http://www.w3.org/2006/12/xml-c14n11\"",
                "Transform Algorithm=\"http://www.w3.org/2006/12/xml-c14n11#WithComments\""},
           Form{"WeakerSignature", "xmldsig-more#ecdsa-sha384", "xmldsig-more#ecdsa-sha256"},
           Form{"Hmac", "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384",
                "http://www.w3.org/2000/09/xmldsig#hmac-sha1"},
           Form{"WeakerDigest", "http://www.w3.org/2001/04/xmldsig-more#sha384",
                "http://www.w3.org/2000/09/xmldsig#sha1"},
           Form{"PartOfTheDocument", "URI=\"\"", "URI=\"#part\""},
           Form{"FragmentOfNothing", "URI=\"\"", "URI=\"#\""},
           Form{"PointerToTheRoot", "URI=\"\"", "URI=\"#xpointer(/)\""},
           Form{"ForeignDocument", "URI=\"\"", "URI=\"http://localhost/other\""},
           Form{"NoUri", " URI=\"\"", ""},
           Form{"ReferenceWithType", "URI=\"\"", "URI=\"\" Type=\"http://localhost/\""},
           Form{"TwoReferences", "</ds:Reference>", "</ds:Reference><ds:Reference URI=\"\"/>"},
           Form{"NoReference", "<ds:Reference URI=\"\">",
                "<ds:Other URI=\"\"/><ds:Reference URI=\"\">"},
           Form{"XsltTransform", "<ds:Transforms>",
                "<ds:Transforms><ds:Transform "
                "Algorithm=\"http://www.w3.org/TR/1999/REC-xslt-19991116\"/>"},
           Form{"XPathInATransform", "xmldsig#enveloped-signature\"/>",
                "xmldsig#enveloped-signature\"><ds:XPath>not(1)</ds:XPath></ds:Transform>"},
           Form{"ObjectBesideTheSignature", "</ds:KeyInfo>", "</ds:KeyInfo><ds:Object/>"},
           Form{"KeyValue", "<ds:X509Data>", "<ds:KeyValue/><ds:X509Data>"},
           Form{"NoCertificate", "<ds:X509Certificate>", "<ds:X509SKI/><ds:X509Certificate>"},
           Form{
               "ParameterOfAnAlgorithm", "ecdsa-sha384\"/>",
               "ecdsa-sha384\"><ds:HMACOutputLength>1</ds:HMACOutputLength></ds:SignatureMethod>"}),
    [](const auto& info) { return info.param.name; });

TEST(RimSignature, TakesExactlyOne) {
  const std::string good = RimWorld().Document();
  const size_t at = good.find("<ds:Signature ");
  const size_t end = good.find("</SoftwareIdentity>");
  const std::string signature = good.substr(at, end - at);
  ExpectRefused(absl::StrCat(good.substr(0, end), signature, good.substr(end)), "2 signatures");
  ExpectRefused(absl::StrCat(good.substr(0, at), good.substr(end)), "0 signatures");
}

TEST(RimSignature, StandsUnderTheRootOrNowhere) {
  const std::string good = RimWorld().Document();
  const size_t at = good.find("<ds:Signature ");
  const size_t end = good.find("</SoftwareIdentity>");
  ExpectRefused(absl::StrCat(good.substr(0, at), "<ns0:Evidence>", good.substr(at, end - at),
                             "</ns0:Evidence>", good.substr(end)),
                "no child of the document's root");
  ExpectRefused(absl::StrCat("<a>", good, "</a>"), "no child of the document's root");
}

// The genuine document, moved aside below a root of the attacker's that holds its signature.
TEST(RimSignature, CoversTheDocumentThatIsReadAndNoOther) {
  const std::string good = RimWorld().Document();
  const size_t at = good.find("<ds:Signature ");
  const size_t end = good.find("</SoftwareIdentity>");
  const std::string signature = good.substr(at, end - at);
  std::string fake = absl::StrCat(good.substr(0, at), good.substr(end));
  const std::string genuine = fake;
  absl::StrReplaceAll({{"7070", "FFFF"}}, &fake);
  for (const std::string& wrapped :
       {absl::StrCat(fake.substr(0, fake.size() - 19), genuine, signature, "</SoftwareIdentity>"),
        absl::StrCat(fake.substr(0, fake.size() - 19), "<ns0:Evidence>", genuine, "</ns0:Evidence>",
                     signature, "</SoftwareIdentity>")}) {
    RimWorld world;
    world.edit_document = [&](std::string* text) { *text = wrapped; };
    EXPECT_FALSE(world.Find().has_value()) << world.Explain();
  }
}

// A reader of the unsigned tree would take what a comment splits for something else.
TEST(RimSignature, ReadsWhatIsSignedAndNoComment) {
  RimWorld world;
  world.edit_document = [](std::string* text) {
    absl::StrReplaceAll({{"<ns0:Payload>", "<ns0:Payload><!-- <ns0:Resource/> -->"},
                         {"<ds:DigestValue>", "<ds:DigestValue><!-- none -->"}},
                        text);
  };
  world.ExpectAccepted();
}

// Inside the signature only SignedInfo is signed: what else stands there is read by nobody.
TEST(RimSignature, LeavesNothingUnsignedToRead) {
  const std::string resource =
      "<ns0:Payload xmlns:ns0=\"http://standards.iso.org/iso/19770/-2/2015/schema.xsd\"/>";
  ExpectRefused(Edited("</ds:SignatureValue>", "</ds:SignatureValue>" + resource), "other parts");
}

TEST(RimSignature, RefusesOtherSizes) {
  ExpectRefused(Signed("QFNJR05BVFVSRUA=", "AAAA"), "a signature of 3");
  ExpectRefused(Signed("QERJR0VTVEA=", "AAAA"), "a digest of 3");
  ExpectRefused(Signed("QFNJR05BVFVSRUA=", "*"), "no base64");
}

// ECDSA's r and s lie between zero and the group's order.
TEST(RimSignature, RefusesScalarsOfZeroAndTheOrder) {
  const std::string zero(48, '\0');
  const std::string order = absl::HexStringToBytes(
      "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf"
      "581a0db248b0a77aecec196accc52973");
  const auto replace = [](const std::string& r, const std::string& s) {
    RimWorld world;
    world.edit_document = [&](std::string* text) {
      constexpr std::string_view kOpen = "<ds:SignatureValue>", kClose = "</ds:SignatureValue>";
      const size_t begin = text->find(kOpen) + kOpen.size();
      const size_t size = text->find(kClose) - begin;
      std::string signature, changed;
      ASSERT_TRUE(absl::Base64Unescape(text->substr(begin, size), &signature));
      ASSERT_EQ(signature.size(), 96u);
      if (!r.empty()) signature.replace(0, 48, r);
      if (!s.empty()) signature.replace(48, 48, s);
      absl::Base64Escape(signature, &changed);
      text->replace(begin, size, changed);
    };
    world.ExpectRefusedBy("SIGNATURE");
  };
  for (const std::string& bad : {zero, order}) {
    for (const std::string& other : {std::string(), zero, order}) {
      replace(bad, other);
      replace(other, bad);
    }
  }
}

struct Change {
  const char *name, *from, *to, *problem;
};
class RimValues : public TestWithParam<Change> {};

TEST_P(RimValues, AreRefused) {
  ExpectRefused(Signed(GetParam().from, GetParam().to), GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Changes, RimValues,
    Values(Change{"NothingActive", "active=\"True\"", "active=\"False\"", "no active measurement"},
           Change{"IndexTwice", "index=\"21\"", "index=\"7\"", "index 7 twice"},
           Change{"IndexTooLarge", "index=\"21\"", "index=\"254\"", "no number up to 253"},
           Change{"IndexSigned", "index=\"21\"", "index=\"-1\"", "no number up to 253"},
           Change{"IndexOverflows", "index=\"21\"", "index=\"4294967303\"", "no number up to 253"},
           Change{"NoIndex", "index=\"21\"", "", "index is missing"},
           Change{"UnknownFlag", "index=\"21\" active=\"True\"", "index=\"21\" active=\"yes\"",
                  "neither True nor False"},
           Change{"MoreAlternatives", "alternatives=\"2\"", "alternatives=\"3\"",
                  "more digests than there are"},
           Change{"FewerAlternatives", "alternatives=\"2\"", "alternatives=\"1\"",
                  "is not one of 1 digests"},
           Change{"NoAlternative", "alternatives=\"2\"", "alternatives=\"0\"", "Hash0"},
           Change{"ShortDigest", "7070", "70", "is not one of 1 digests"},
           Change{"NoHexadecimal", "7070", "70zz", "is not one of 1 digests"},
           Change{"OtherSize", "size=\"48\"", "size=\"32\"", "size is not 48"},
           Change{"OtherType", "type=\"Measurement\"", "type=\"File\"", "type is not Measurement"},
           Change{"ForeignHash", "xmlns:ns2=\"http://www.w3.org/2001/04/xmlenc#sha384\"",
                  "xmlns:ns2=\"http://www.w3.org/2001/04/xmlenc#sha256\"", "more digests than"},
           Change{"UnknownEdition", "edition=\"GPU\"", "edition=\"CPU\"", "of no known kind"},
           Change{"UnknownVersion", "\"545.00\"", "\"five\"", "of no known kind"},
           Change{"NoProduct", "product=\"GH100\"", "product=\"gh/100\"", "no chip's name"},
           Change{"TwoPayloads", "</ns0:Payload>", "</ns0:Payload><ns0:Payload/>",
                  "one Meta and one Payload"},
           Change{"TwoMetas", "<ns0:Payload>", "<ns0:Meta/><ns0:Payload>",
                  "one Meta and one Payload"},
           Change{"OtherInPayload", "<ns0:Payload>", "<ns0:Payload><ns0:File/>",
                  "other things than resources"},
           Change{"ForeignRoot", "SoftwareIdentity", "Software", "not the document's root"},
           Change{"LongName", "Measurement_7",
                  "Measurement_7AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                  "AAAAAAAAAAAAAAAAA",
                  "bytes, expected 1 to"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::attestation::nvidia
