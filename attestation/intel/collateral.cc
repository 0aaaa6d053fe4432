// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/collateral.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/json.h"

namespace caravan::attestation::intel {
namespace {

constexpr size_t kMaxLevels = 256;
constexpr size_t kMaxModules = 64;
constexpr size_t kMaxAdvisories = 256;
constexpr size_t kComponents = 16;
constexpr size_t kSignatureSize = 64;

LevelRating ReadRating(base::JsonReader& level) {
  LevelRating rating;
  rating.date = level.Time("tcbDate");
  const std::string status = level.Text("tcbStatus");
  if (const std::optional<TcbStatus> known = ParseTcbStatus(status); known.has_value()) {
    rating.status = *known;
  } else {
    level.Fail("tcbStatus", "is no known status");
  }
  if (level.Has("advisoryIDs")) rating.advisories = level.Texts("advisoryIDs", kMaxAdvisories);
  return rating;
}

void ReadComponents(base::JsonReader& tcb, std::string_view name, Svns* svns,
                    std::array<std::string, kComponents>* names) {
  std::vector<base::JsonReader> components = tcb.Objects(name, kComponents);
  if (components.size() != kComponents) tcb.Fail(name, "has not 16 components");
  for (size_t i = 0; i < components.size(); ++i) {
    (*svns)[i] = static_cast<uint8_t>(components[i].Integer("svn", 255));
    if (components[i].Has("type")) (*names)[i] = components[i].Text("type");
  }
}

TcbLevel ReadTcbLevel(base::JsonReader& level, uint64_t version, bool tdx) {
  TcbLevel out;
  base::JsonReader tcb = level.Object("tcb");
  if (version >= 3) {
    ReadComponents(tcb, "sgxtcbcomponents", &out.sgx, &out.sgx_names);
  } else {
    for (size_t i = 0; i < kComponents; ++i) {
      const std::string name = absl::StrFormat("sgxtcbcomp%02dsvn", i + 1);
      out.sgx[i] = static_cast<uint8_t>(tcb.Integer(name, 255));
    }
  }
  out.pce_svn = static_cast<uint16_t>(tcb.Integer("pcesvn", 65535));
  if (tdx) ReadComponents(tcb, "tdxtcbcomponents", &out.tdx, &out.tdx_names);
  out.rating = ReadRating(level);
  return out;
}

std::vector<IsvSvnLevel> ReadIsvSvnLevels(base::JsonReader& object) {
  std::vector<IsvSvnLevel> levels;
  for (base::JsonReader& level : object.Objects("tcbLevels", kMaxLevels)) {
    IsvSvnLevel out;
    out.isv_svn = static_cast<uint16_t>(level.Object("tcb").Integer("isvsvn", 65535));
    out.rating = ReadRating(level);
    levels.push_back(std::move(out));
  }
  if (levels.empty()) object.Fail("tcbLevels", "is empty");
  return levels;
}

TdxModule ReadModule(base::JsonReader module) {
  return {.id = "",
          .mr_signer = module.Hex("mrsigner", 48),
          .attributes = module.Hex("attributes", 8),
          .attributes_mask = module.Hex("attributesMask", 8),
          .levels = {}};
}

Validity ReadValidity(base::JsonReader& object) {
  return {.issue_date = object.Time("issueDate"),
          .next_update = object.Time("nextUpdate"),
          .evaluation_number =
              static_cast<uint32_t>(object.Integer("tcbEvaluationDataNumber", 0xFFFFFFFF))};
}

void ReadModules(base::JsonReader& object, TcbInfo* info) {
  info->module = ReadModule(object.Object("tdxModule"));
  if (!object.Has("tdxModuleIdentities")) return;
  std::set<std::string> ids;
  for (base::JsonReader& identity : object.Objects("tdxModuleIdentities", kMaxModules)) {
    TdxModule module = ReadModule(identity);
    module.id = identity.Text("id");
    module.levels = ReadIsvSvnLevels(identity);
    if (!ids.insert(module.id).second) identity.Fail("id", "stands there twice");
    info->modules.push_back(std::move(module));
  }
}

}  // namespace

absl::StatusOr<SignedDocument> ParseSignedDocument(std::string_view text) {
  absl::StatusOr<base::JsonValue> whole = base::ParseJson(text);
  if (!whole.ok()) return whole.status();
  SignedDocument document;
  for (const char* name : {"tcbInfo", "enclaveIdentity"}) {
    if (whole->Find(name) == nullptr) continue;
    if (!document.name.empty()) {
      return absl::InvalidArgumentError("document: holds both tcbInfo and enclaveIdentity");
    }
    document.name = name;
  }
  if (document.name.empty()) {
    return absl::NotFoundError("document: holds neither tcbInfo nor enclaveIdentity");
  }
  absl::Status status;
  base::JsonReader reader(&*whole, "", &status);
  document.signature = reader.Hex("signature", kSignatureSize);
  if (!status.ok()) return status;
  absl::StatusOr<std::string> body = base::RawMember(text, document.name);
  if (!body.ok()) return body.status();
  document.body = *std::move(body);
  return document;
}

absl::StatusOr<TcbInfo> ParseTcbInfo(std::string_view body) {
  absl::StatusOr<base::JsonValue> value = base::ParseJson(body);
  if (!value.ok()) return value.status();
  absl::Status status;
  base::JsonReader object(&*value, "tcbInfo", &status);
  TcbInfo info;
  const uint64_t version = object.Integer("version", 0xFFFF);
  if (version != 2 && version != 3) object.Fail("version", "is neither 2 nor 3");
  // Version 2 knows SGX alone and does not say so.
  const std::string id = version == 2 ? "SGX" : object.Text("id");
  if (id != "SGX" && id != "TDX") object.Fail("id", "is neither SGX nor TDX");
  info.tdx = id == "TDX";
  info.validity = ReadValidity(object);
  info.fmspc = object.Hex("fmspc", 6);
  info.pce_id = object.Hex("pceId", 2);
  if (object.Integer("tcbType", 0xFFFF) != 0) object.Fail("tcbType", "is not 0");
  if (info.tdx) ReadModules(object, &info);
  for (base::JsonReader& level : object.Objects("tcbLevels", kMaxLevels)) {
    info.levels.push_back(ReadTcbLevel(level, version, info.tdx));
  }
  if (info.levels.empty()) object.Fail("tcbLevels", "is empty");
  if (!status.ok()) return status;
  return info;
}

absl::StatusOr<EnclaveIdentity> ParseEnclaveIdentity(std::string_view body) {
  absl::StatusOr<base::JsonValue> value = base::ParseJson(body);
  if (!value.ok()) return value.status();
  absl::Status status;
  base::JsonReader object(&*value, "enclaveIdentity", &status);
  EnclaveIdentity identity;
  identity.id = object.Text("id");
  if (object.Integer("version", 0xFFFF) != 2) object.Fail("version", "is not 2");
  identity.validity = ReadValidity(object);
  identity.misc_select = object.Hex("miscselect", 4);
  identity.misc_select_mask = object.Hex("miscselectMask", 4);
  identity.attributes = object.Hex("attributes", 16);
  identity.attributes_mask = object.Hex("attributesMask", 16);
  identity.mr_signer = object.Hex("mrsigner", 32);
  identity.isv_prod_id = static_cast<uint16_t>(object.Integer("isvprodid", 65535));
  identity.levels = ReadIsvSvnLevels(object);
  if (!status.ok()) return status;
  return identity;
}

}  // namespace caravan::attestation::intel
