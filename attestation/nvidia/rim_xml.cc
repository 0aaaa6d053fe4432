// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/rim_xml.h"

#include <libxml/c14n.h>
#include <libxml/parser.h>
#include <libxml/xmlerror.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace caravan::attestation::nvidia {
namespace {

struct FreeXml {
  void operator()(xmlDoc* doc) const { xmlFreeDoc(doc); }
  void operator()(xmlParserCtxt* context) const { xmlFreeParserCtxt(context); }
  void operator()(xmlOutputBuffer* buffer) const { xmlOutputBufferClose(buffer); }
};
template <typename T>
using XmlPtr = std::unique_ptr<T, FreeXml>;

absl::Status Refuse(const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat("manifest: ", problem));
}

std::string Text(const xmlChar* text) {
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

// libxml2 would otherwise write what it finds wrong to stderr.
class Silence {
 public:
  Silence() : handler_(xmlStructuredError), context_(xmlStructuredErrorContext) {
    xmlSetStructuredErrorFunc(nullptr, [](void*, xmlErrorPtr) {});
  }
  ~Silence() { xmlSetStructuredErrorFunc(context_, handler_); }

 private:
  const xmlStructuredErrorFunc handler_;
  void* const context_;
};

// What the parser has met, and why it was stopped.
struct Limits {
  size_t depth = 0, elements = 0;
  const char* problem = nullptr;
};

void Stop(xmlParserCtxt* parser, const char* problem) {
  auto* limits = static_cast<Limits*>(parser->_private);
  if (limits->problem == nullptr) limits->problem = problem;
  xmlStopParser(parser);
}

void RefuseDocumentType(void* context, const xmlChar*, const xmlChar*, const xmlChar*) {
  Stop(static_cast<xmlParserCtxt*>(context), "it has a document type, which may name entities");
}

void StartElement(void* context, const xmlChar* name, const xmlChar* prefix, const xmlChar* uri,
                  int namespace_count, const xmlChar** namespaces, int attribute_count,
                  int default_count, const xmlChar** attributes) {
  auto* parser = static_cast<xmlParserCtxt*>(context);
  auto* limits = static_cast<Limits*>(parser->_private);
  if (++limits->depth > kMaxXmlDepth) return Stop(parser, "elements lie too deep in each other");
  if (++limits->elements > kMaxXmlElements) return Stop(parser, "too many elements");
  xmlSAX2StartElementNs(context, name, prefix, uri, namespace_count, namespaces, attribute_count,
                        default_count, attributes);
}

void EndElement(void* context, const xmlChar* name, const xmlChar* prefix, const xmlChar* uri) {
  --static_cast<Limits*>(static_cast<xmlParserCtxt*>(context)->_private)->depth;
  xmlSAX2EndElementNs(context, name, prefix, uri);
}

// A '<' ends an element's tag at the latest: it may stand in no attribute. The parser compares each
// attribute with each, so their number is limited before it runs.
bool HasFewAttributes(std::string_view text) {
  size_t equals = 0;
  for (char c : text) {
    if (c == '<') equals = 0;
    if (c == '=' && ++equals > kMaxXmlAttributes) return false;
  }
  return true;
}

absl::StatusOr<XmlPtr<xmlDoc>> Read(std::string_view text) {
  static const bool initialised = (xmlInitParser(), true);
  if (!initialised || text.empty() || text.size() > kMaxXmlSize) {
    return Refuse(absl::StrCat(text.size(), " bytes, expected 1 to ", kMaxXmlSize));
  }
  if (text.find('\0') != std::string_view::npos) return Refuse("it holds a NUL byte");
  if (!HasFewAttributes(text)) return Refuse("an element has too many attributes");
  XmlPtr<xmlParserCtxt> parser(xmlNewParserCtxt());
  if (parser == nullptr) return absl::ResourceExhaustedError("out of memory for a manifest");
  Limits limits;
  parser->_private = &limits;
  parser->sax->internalSubset = RefuseDocumentType;
  parser->sax->externalSubset = nullptr;
  parser->sax->startElementNs = StartElement;
  parser->sax->endElementNs = EndElement;
  XmlPtr<xmlDoc> doc(xmlCtxtReadMemory(
      parser.get(), text.data(), static_cast<int>(text.size()), nullptr, "UTF-8",
      XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_IGNORE_ENC));
  if (limits.problem != nullptr) return Refuse(limits.problem);
  if (doc == nullptr || parser->wellFormed == 0 || parser->nsWellFormed == 0 ||
      xmlDocGetRootElement(doc.get()) == nullptr || doc->intSubset != nullptr) {
    const xmlError* error = xmlCtxtGetLastError(parser.get());
    if (error == nullptr || error->message == nullptr) return Refuse("it is no well-formed xml");
    return Refuse(
        absl::StrCat("line ", error->line, ": ", absl::StripAsciiWhitespace(error->message)));
  }
  return doc;
}

XmlElement ToElement(const xmlNode* node) {
  XmlElement element;
  if (node->ns != nullptr) element.space = Text(node->ns->href);
  element.name = Text(node->name);
  for (const xmlAttr* attribute = node->properties; attribute != nullptr;
       attribute = attribute->next) {
    XmlAttribute read{attribute->ns == nullptr ? "" : Text(attribute->ns->href),
                      Text(attribute->name), ""};
    for (const xmlNode* part = attribute->children; part != nullptr; part = part->next) {
      read.value += Text(part->content);
    }
    element.attributes.push_back(std::move(read));
  }
  for (const xmlNode* child = node->children; child != nullptr; child = child->next) {
    if (child->type == XML_ELEMENT_NODE) {
      element.children.push_back(ToElement(child));
    } else if (child->type == XML_TEXT_NODE || child->type == XML_CDATA_SECTION_NODE) {
      element.text += Text(child->content);
    }
  }
  return element;
}

bool IsSignatureElement(const xmlNode* node, std::string_view name) {
  return node->type == XML_ELEMENT_NODE && node->ns != nullptr &&
         Text(node->ns->href) == kXmlSignatureSpace && Text(node->name) == name;
}

size_t CountSignatures(const xmlNode* node) {
  size_t count = IsSignatureElement(node, "Signature") ? 1 : 0;
  for (const xmlNode* child = node->children; child != nullptr; child = child->next) {
    if (child->type == XML_ELEMENT_NODE) count += CountSignatures(child);
  }
  return count;
}

// Which nodes a canonical form holds: those in `subtree`, or all others.
struct Selection {
  const xmlNode* subtree;
  bool inside;
};

int IsSelected(void* user_data, xmlNode* node, xmlNode* parent) {
  const auto* selection = static_cast<const Selection*>(user_data);
  // A namespace has no parent of its own, and no other field in common with a node.
  const xmlNode* at = node == nullptr || node->type == XML_NAMESPACE_DECL ? parent : node;
  while (at != nullptr && at != selection->subtree) at = at->parent;
  return (at != nullptr) == selection->inside ? 1 : 0;
}

absl::StatusOr<std::string> Canonicalise(xmlDoc* doc, Selection selection) {
  XmlPtr<xmlOutputBuffer> out(xmlAllocOutputBuffer(nullptr));
  if (out == nullptr) return absl::ResourceExhaustedError("out of memory for a manifest");
  if (xmlC14NExecute(doc, IsSelected, &selection, XML_C14N_1_1, nullptr, 0, out.get()) < 0) {
    return Refuse("it has no canonical form");
  }
  return std::string(reinterpret_cast<const char*>(xmlOutputBufferGetContent(out.get())),
                     xmlOutputBufferGetSize(out.get()));
}

}  // namespace

std::optional<std::string_view> XmlElement::Find(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(), [&](const auto& candidate) {
    return candidate.space.empty() && candidate.name == attribute;
  });
  if (found == attributes.end()) return std::nullopt;
  return found->value;
}

absl::StatusOr<XmlElement> ParseXml(std::string_view text) {
  const Silence silence;
  absl::StatusOr<XmlPtr<xmlDoc>> doc = Read(text);
  if (!doc.ok()) return doc.status();
  return ToElement(xmlDocGetRootElement(doc->get()));
}

absl::StatusOr<EnvelopedXml> SplitEnvelopedXml(std::string_view text) {
  const Silence silence;
  absl::StatusOr<XmlPtr<xmlDoc>> doc = Read(text);
  if (!doc.ok()) return doc.status();
  const xmlNode* root = xmlDocGetRootElement(doc->get());
  if (const size_t count = CountSignatures(root); count != 1) {
    return Refuse(absl::StrCat(count, " signatures, expected one"));
  }
  const xmlNode* signature = root->children;
  while (signature != nullptr && !IsSignatureElement(signature, "Signature")) {
    signature = signature->next;
  }
  if (signature == nullptr) return Refuse("the signature is no child of the document's root");
  const xmlNode* signed_info = signature->children;
  while (signed_info != nullptr && signed_info->type != XML_ELEMENT_NODE) {
    signed_info = signed_info->next;
  }
  if (signed_info == nullptr || !IsSignatureElement(signed_info, "SignedInfo")) {
    return Refuse("the signature does not begin with SignedInfo");
  }
  absl::StatusOr<std::string> content = Canonicalise(doc->get(), {signature, false});
  if (!content.ok()) return content.status();
  absl::StatusOr<std::string> info = Canonicalise(doc->get(), {signed_info, true});
  if (!info.ok()) return info.status();
  return EnvelopedXml{*std::move(content), *std::move(info), ToElement(signature)};
}

}  // namespace caravan::attestation::nvidia
