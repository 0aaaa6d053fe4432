// SPDX-License-Identifier: Apache-2.0
//
// XML within limits: no document type, no entities of its own, no name without its namespace; and
// the canonical bytes that an enveloped signature covers (Canonical XML 1.1, without comments).
#ifndef CARAVAN_ATTESTATION_NVIDIA_RIM_XML_H_
#define CARAVAN_ATTESTATION_NVIDIA_RIM_XML_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace caravan::attestation::nvidia {

inline constexpr size_t kMaxXmlSize = 1 << 17;  // bytes; also of canonical forms
inline constexpr size_t kMaxXmlDepth = 16;
inline constexpr size_t kMaxXmlElements = 1024;
inline constexpr size_t kMaxXmlAttributes = 64;  // of one element, with its namespaces

inline constexpr std::string_view kXmlSignatureSpace = "http://www.w3.org/2000/09/xmldsig#";

struct XmlAttribute {
  std::string space;  // "" for none
  std::string name, value;
};

struct XmlElement {
  std::string space, name;
  std::vector<XmlAttribute> attributes;
  std::string text;  // of this element alone, put together
  std::vector<XmlElement> children;

  bool Is(std::string_view in_space, std::string_view with_name) const {
    return space == in_space && name == with_name;
  }
  // An attribute without namespace; nullopt when absent.
  std::optional<std::string_view> Find(std::string_view attribute) const;
};

// InvalidArgument, with libxml2's reason and line, on anything malformed or over the limits.
absl::StatusOr<XmlElement> ParseXml(std::string_view text);

// A document with one enveloped signature.
struct EnvelopedXml {
  std::string content;      // canonical: the document without the signature
  std::string signed_info;  // canonical: the signature's SignedInfo, namespaces in scope with it
  XmlElement signature;     // as it came
};

// As ParseXml; and InvalidArgument unless there is exactly one ds:Signature, a child of the root,
// with exactly one ds:SignedInfo as its first child.
absl::StatusOr<EnvelopedXml> SplitEnvelopedXml(std::string_view text);

}  // namespace caravan::attestation::nvidia

#endif  // CARAVAN_ATTESTATION_NVIDIA_RIM_XML_H_
