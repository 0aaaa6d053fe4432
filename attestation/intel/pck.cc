// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/pck.h"

#include <openssl/asn1.h>
#include <openssl/asn1t.h>
#include <openssl/objects.h>

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace caravan::attestation::intel {
namespace {

constexpr size_t kMaxParts = 32;

using TypePtr = std::unique_ptr<ASN1_TYPE, OpensslDelete<ASN1_TYPE_free>>;

struct FreeSequence {
  void operator()(ASN1_SEQUENCE_ANY* stack) const { sk_ASN1_TYPE_pop_free(stack, ASN1_TYPE_free); }
};
using SequencePtr = std::unique_ptr<ASN1_SEQUENCE_ANY, FreeSequence>;

absl::StatusOr<SequencePtr> ReadSequence(std::string_view der, const std::string& where) {
  const auto* cursor = reinterpret_cast<const unsigned char*>(der.data());
  const auto* end = cursor + der.size();
  SequencePtr sequence(d2i_ASN1_SEQUENCE_ANY(nullptr, &cursor, static_cast<long>(der.size())));
  if (sequence == nullptr || cursor != end ||
      sk_ASN1_TYPE_num(sequence.get()) > static_cast<int>(kMaxParts)) {
    return absl::InvalidArgumentError(absl::StrCat("pck certificate: ", where, " is malformed"));
  }
  return sequence;
}

std::string Content(const ASN1_STRING* string) {
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
                     static_cast<size_t>(ASN1_STRING_length(string)));
}

// A SEQUENCE OF SEQUENCE { id OBJECT IDENTIFIER, value ANY }, by the last arc of each id.
class Parts {
 public:
  static absl::StatusOr<Parts> Read(std::string_view der, const std::string& prefix) {
    const ClearErrors clear;
    Parts parts(prefix);
    absl::StatusOr<SequencePtr> list = ReadSequence(der, prefix);
    if (!list.ok()) return list.status();
    for (int i = 0; i < sk_ASN1_TYPE_num(list->get()); ++i) {
      const ASN1_TYPE* item = sk_ASN1_TYPE_value(list->get(), i);
      const std::string where = absl::StrCat("part ", i, " of ", prefix);
      if (item->type != V_ASN1_SEQUENCE) {
        return absl::InvalidArgumentError(
            absl::StrCat("pck certificate: ", where, " is no sequence"));
      }
      absl::StatusOr<SequencePtr> pair = ReadSequence(Content(item->value.sequence), where);
      if (!pair.ok()) return pair.status();
      if (absl::Status added = parts.Add(std::move(*pair), where); !added.ok()) return added;
    }
    return parts;
  }

  absl::StatusOr<std::string> Octets(const std::string& arc, const char* name, size_t size) const {
    absl::StatusOr<const ASN1_TYPE*> value = Get(arc, name, V_ASN1_OCTET_STRING);
    if (!value.ok()) return value.status();
    std::string octets = Content((*value)->value.octet_string);
    if (octets.size() != size) return Bad(arc, name, absl::StrCat("of ", octets.size(), " bytes"));
    return octets;
  }

  absl::StatusOr<uint16_t> Number(const std::string& arc, const char* name, int type,
                                  int64_t max) const {
    absl::StatusOr<const ASN1_TYPE*> value = Get(arc, name, type);
    if (!value.ok()) return value.status();
    int64_t number = -1;
    const int read = type == V_ASN1_ENUMERATED
                         ? ASN1_ENUMERATED_get_int64(&number, (*value)->value.enumerated)
                         : ASN1_INTEGER_get_int64(&number, (*value)->value.integer);
    if (read != 1 || number < 0 || number > max) return Bad(arc, name, "out of range");
    return static_cast<uint16_t>(number);
  }

  absl::StatusOr<bool> Boolean(const std::string& arc, const char* name) const {
    absl::StatusOr<const ASN1_TYPE*> value = Get(arc, name, V_ASN1_BOOLEAN);
    if (!value.ok()) return value.status();
    return (*value)->value.boolean != 0;
  }

  absl::StatusOr<Parts> Nested(const std::string& arc, const char* name) const {
    absl::StatusOr<const ASN1_TYPE*> value = Get(arc, name, V_ASN1_SEQUENCE);
    if (!value.ok()) return value.status();
    return Read(Content((*value)->value.sequence), absl::StrCat(prefix_, ".", arc));
  }

  bool Has(const std::string& arc) const { return values_.contains(arc); }

 private:
  explicit Parts(std::string prefix) : prefix_(std::move(prefix)) {}

  absl::Status Add(SequencePtr pair, const std::string& where) {
    const bool shaped = sk_ASN1_TYPE_num(pair.get()) == 2 &&
                        sk_ASN1_TYPE_value(pair.get(), 0)->type == V_ASN1_OBJECT;
    if (!shaped) {
      return absl::InvalidArgumentError(
          absl::StrCat("pck certificate: ", where, " is no pair of oid and value"));
    }
    char text[80] = "";
    OBJ_obj2txt(text, sizeof(text), sk_ASN1_TYPE_value(pair.get(), 0)->value.object, 1);
    const std::string oid(text);
    // Parts of another arc are none of these; they are for later versions to understand.
    if (!oid.starts_with(prefix_ + ".")) return absl::OkStatus();
    TypePtr value(sk_ASN1_TYPE_pop(pair.get()));
    if (!values_.emplace(oid.substr(prefix_.size() + 1), std::move(value)).second) {
      return absl::InvalidArgumentError(absl::StrCat("pck certificate: ", oid, " is there twice"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<const ASN1_TYPE*> Get(const std::string& arc, const char* name, int type) const {
    const auto found = values_.find(arc);
    if (found == values_.end()) return Bad(arc, name, "missing");
    if (found->second->type != type) return Bad(arc, name, "of another type");
    return found->second.get();
  }

  absl::Status Bad(const std::string& arc, const char* name, const std::string& problem) const {
    return absl::InvalidArgumentError(
        absl::StrCat("pck certificate: ", name, " (", prefix_, ".", arc, ") is ", problem));
  }

  std::string prefix_;
  std::map<std::string, TypePtr> values_;
};

template <typename T>
void Keep(absl::StatusOr<T> from, T* to, absl::Status* status) {
  if (!status->ok()) return;
  if (from.ok()) {
    *to = *std::move(from);
  } else {
    *status = from.status();
  }
}

absl::Status ReadTcb(const Parts& parts, Pck* pck) {
  absl::StatusOr<Parts> tcb = parts.Nested("2", "tcb");
  if (!tcb.ok()) return tcb.status();
  absl::Status status;
  for (size_t i = 0; i < pck->sgx_svns.size(); ++i) {
    uint16_t svn = 0;
    Keep(tcb->Number(absl::StrCat(i + 1), "tcb component svn", V_ASN1_INTEGER, 255), &svn, &status);
    pck->sgx_svns[i] = static_cast<uint8_t>(svn);
  }
  Keep(tcb->Number("17", "pce svn", V_ASN1_INTEGER, 65535), &pck->pce_svn, &status);
  Keep(tcb->Octets("18", "cpu svn", 16), &pck->cpu_svn, &status);
  return status;
}

absl::Status ReadConfiguration(const Parts& parts, Pck* pck) {
  if (parts.Has("6")) {
    absl::StatusOr<std::string> id = parts.Octets("6", "platform instance id", 16);
    if (!id.ok()) return id.status();
    pck->platform_instance_id = *std::move(id);
  }
  if (!parts.Has("7")) return absl::OkStatus();
  absl::StatusOr<Parts> configuration = parts.Nested("7", "configuration");
  if (!configuration.ok()) return configuration.status();
  const struct {
    const char* arc;
    const char* name;
    std::optional<bool> Pck::*field;
  } flags[] = {{"1", "dynamic platform", &Pck::dynamic_platform},
               {"2", "cached keys", &Pck::cached_keys},
               {"3", "smt enabled", &Pck::smt_enabled}};
  for (const auto& flag : flags) {
    if (!configuration->Has(flag.arc)) continue;
    absl::StatusOr<bool> value = configuration->Boolean(flag.arc, flag.name);
    if (!value.ok()) return value.status();
    pck->*flag.field = *value;
  }
  return absl::OkStatus();
}

}  // namespace

bool LooksLikePck(const Certificate& certificate) {
  absl::StatusOr<std::optional<std::string>> extension = certificate.Extension(kOidSgxExtensions);
  return !extension.ok() || extension->has_value();
}

absl::StatusOr<Pck> ParsePck(const Certificate& certificate) {
  absl::StatusOr<std::optional<std::string>> extension = certificate.Extension(kOidSgxExtensions);
  if (!extension.ok()) return extension.status();
  if (!extension->has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pck certificate: no extension ", kOidSgxExtensions));
  }
  absl::StatusOr<Parts> parts = Parts::Read(**extension, kOidSgxExtensions);
  if (!parts.ok()) return parts.status();
  Pck pck{.certificate = certificate};
  absl::Status status;
  Keep(parts->Octets("1", "ppid", 16), &pck.ppid, &status);
  Keep(parts->Octets("3", "pce id", 2), &pck.pce_id, &status);
  Keep(parts->Octets("4", "fmspc", 6), &pck.fmspc, &status);
  uint16_t type = 0;
  Keep(parts->Number("5", "sgx type", V_ASN1_ENUMERATED, 2), &type, &status);
  pck.sgx_type = static_cast<SgxType>(type);
  if (status.ok()) status = ReadTcb(*parts, &pck);
  if (status.ok()) status = ReadConfiguration(*parts, &pck);
  if (!status.ok()) return status;
  return pck;
}

std::string_view Name(SgxType type) {
  switch (type) {
    case SgxType::kStandard:
      return "standard";
    case SgxType::kScalable:
      return "scalable";
    case SgxType::kScalableWithIntegrity:
      return "scalable with integrity";
  }
  return "unknown";
}

}  // namespace caravan::attestation::intel
