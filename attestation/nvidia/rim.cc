// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/rim.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "attestation/nvidia/rim_xml.h"
#include "base/hex.h"

namespace caravan::attestation::nvidia {
namespace {

constexpr std::string_view kSwidSpace = "http://standards.iso.org/iso/19770/-2/2015/schema.xsd";
constexpr std::string_view kHashSpace = "http://www.w3.org/2001/04/xmlenc#sha384";
constexpr size_t kMaxText = 128;  // bytes of a name or an id

// Reads attributes of one element; the first failure stays in `status`.
class AttributeReader {
 public:
  AttributeReader(const XmlElement& element, std::string where, absl::Status* status)
      : element_(element), where_(std::move(where)), status_(*status) {}

  std::string Text(const char* name) {
    const std::optional<std::string_view> value = element_.Find(name);
    if (!value.has_value()) {
      Fail(name, "is missing");
    } else if (value->empty() || value->size() > kMaxText) {
      Fail(name, absl::StrCat("has ", value->size(), " bytes, expected 1 to ", kMaxText));
    } else {
      return std::string(*value);
    }
    return "";
  }

  uint32_t Number(const char* name, uint32_t max) {
    const std::string text = Text(name);
    uint32_t number = 0;
    const bool digits = std::all_of(text.begin(), text.end(),
                                    [](unsigned char c) { return absl::ascii_isdigit(c); });
    if (!digits || !absl::SimpleAtoi(text, &number) || number > max) {
      Fail(name, absl::StrCat("is no number up to ", max));
      return 0;
    }
    return number;
  }

  bool Flag(const char* name) {
    const std::string text = Text(name);
    if (text != "True" && text != "False") Fail(name, "is neither True nor False");
    return text == "True";
  }

  void Expect(const char* name, std::string_view expected) {
    if (Text(name) != expected) Fail(name, absl::StrCat("is not ", std::string(expected)));
  }

  void Fail(const char* what, const std::string& problem) {
    if (status_.ok()) {
      status_ =
          absl::InvalidArgumentError(absl::StrCat("manifest: ", where_, ": ", what, " ", problem));
    }
  }

 private:
  const XmlElement& element_;
  const std::string where_;
  absl::Status& status_;
};

bool IsVbiosVersion(const std::string& version) {
  const std::vector<std::string> groups = absl::StrSplit(version, '.');
  return groups.size() == 5 && std::all_of(groups.begin(), groups.end(), [](const auto& group) {
           return group.size() == 2 && base::FromHex(group).has_value();
         });
}

bool IsDriverVersion(const std::string& version) {
  const std::vector<std::string> groups = absl::StrSplit(version, '.');
  return groups.size() >= 2 && groups.size() <= 4 &&
         std::all_of(groups.begin(), groups.end(), [](const auto& group) {
           return !group.empty() && group.size() <= 4 &&
                  std::all_of(group.begin(), group.end(),
                              [](unsigned char c) { return absl::ascii_isdigit(c); });
         });
}

// A GPU's manifests do not say which of the two they are; the versions look nothing like each
// other.
std::optional<RimKind> FindKind(const std::string& edition, const std::string& version) {
  if (edition == "SWITCH" && IsVbiosVersion(version)) return RimKind::kSwitch;
  if (edition != "GPU") return std::nullopt;
  if (IsVbiosVersion(version)) return RimKind::kVbios;
  return IsDriverVersion(version) ? std::optional(RimKind::kDriver) : std::nullopt;
}

bool IsProduct(const std::string& product) {
  return product.size() <= 16 && std::all_of(product.begin(), product.end(), [](unsigned char c) {
           return absl::ascii_isupper(c) || absl::ascii_isdigit(c);
         });
}

void ReadMeta(const XmlElement& meta, Rim* rim, absl::Status* status) {
  AttributeReader reader(meta, "Meta", status);
  rim->version = reader.Text("colloquialVersion");
  rim->product = reader.Text("product");
  const std::string edition = reader.Text("edition");
  const std::optional<RimKind> kind = FindKind(edition, rim->version);
  if (!kind.has_value()) reader.Fail("edition and colloquialVersion", "are of no known kind");
  if (!IsProduct(rim->product)) reader.Fail("product", "is no chip's name");
  rim->kind = kind.value_or(RimKind::kDriver);
}

GoldenEntry ReadResource(const XmlElement& resource, size_t position, absl::Status* status) {
  AttributeReader reader(resource, absl::StrCat("resource ", position), status);
  GoldenEntry entry;
  reader.Expect("type", "Measurement");
  entry.index = static_cast<uint8_t>(reader.Number("index", kMaxGoldenEntries - 1));
  entry.active = reader.Flag("active");
  entry.name = reader.Text("name");
  reader.Expect("size", "48");
  const uint32_t count = reader.Number("alternatives", kMaxAlternatives);
  entry.alternatives.resize(count);
  std::vector<bool> read(count, false);
  for (const XmlAttribute& attribute : resource.attributes) {
    if (attribute.space != kHashSpace) continue;
    uint32_t at = 0;
    const bool numbered = attribute.name.starts_with("Hash") &&
                          absl::SimpleAtoi(attribute.name.substr(4), &at) && at < count &&
                          attribute.name == absl::StrCat("Hash", at) && !read[at];
    const std::optional<std::string> bytes = base::FromHex(attribute.value);
    if (!numbered || !bytes.has_value() || bytes->size() != entry.alternatives[at].size()) {
      reader.Fail(attribute.name.c_str(), absl::StrCat("is not one of ", count, " digests"));
      return entry;
    }
    std::copy(bytes->begin(), bytes->end(), entry.alternatives[at].begin());
    read[at] = true;
  }
  if (count == 0 || !std::all_of(read.begin(), read.end(), [](bool found) { return found; })) {
    reader.Fail("alternatives", "names more digests than there are, or none");
  }
  return entry;
}

void ReadPayload(const XmlElement& payload, Rim* rim, absl::Status* status) {
  for (const XmlElement& resource : payload.children) {
    AttributeReader reader(resource, "Payload", status);
    if (!resource.Is(kSwidSpace, "Resource"))
      reader.Fail("it", "holds other things than resources");
    if (rim->golden.size() >= kMaxGoldenEntries) reader.Fail("it", "holds too many resources");
    if (!status->ok()) return;
    rim->golden.push_back(ReadResource(resource, rim->golden.size(), status));
  }
  std::sort(rim->golden.begin(), rim->golden.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  const auto twice =
      std::adjacent_find(rim->golden.begin(), rim->golden.end(),
                         [](const auto& a, const auto& b) { return a.index == b.index; });
  AttributeReader reader(payload, "Payload", status);
  if (twice != rim->golden.end()) {
    reader.Fail("it", absl::StrCat("has index ", int{twice->index}, " twice"));
  }
  // Everything would match it.
  if (std::none_of(rim->golden.begin(), rim->golden.end(),
                   [](const auto& entry) { return entry.active; })) {
    reader.Fail("it", "has no active measurement");
  }
}

}  // namespace

std::string_view Name(RimKind kind) {
  switch (kind) {
    case RimKind::kDriver:
      return "driver";
    case RimKind::kVbios:
      return "vbios";
    case RimKind::kSwitch:
      return "switch";
  }
  return "unknown";
}

absl::StatusOr<Rim> ParseRim(std::string_view content) {
  const absl::StatusOr<XmlElement> root = ParseXml(content);
  if (!root.ok()) return root.status();
  Rim rim;
  absl::Status status;
  AttributeReader reader(*root, "SoftwareIdentity", &status);
  if (!root->Is(kSwidSpace, "SoftwareIdentity")) reader.Fail("it", "is not the document's root");
  rim.tag_id = reader.Text("tagId");
  size_t metas = 0, payloads = 0;
  for (const XmlElement& child : root->children) {
    if (child.Is(kSwidSpace, "Meta") && ++metas == 1) ReadMeta(child, &rim, &status);
    if (child.Is(kSwidSpace, "Payload") && ++payloads == 1) ReadPayload(child, &rim, &status);
  }
  if (metas != 1 || payloads != 1) reader.Fail("it", "needs one Meta and one Payload");
  if (!status.ok()) return status;
  return rim;
}

}  // namespace caravan::attestation::nvidia
