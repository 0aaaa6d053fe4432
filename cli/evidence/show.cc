// SPDX-License-Identifier: Apache-2.0
#include "cli/evidence/show.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "attestation/evidence.h"
#include "attestation/show/dump.h"
#include "cli/evidence/input.h"
#include "cli/text.h"

namespace caravan::cli {
namespace {

using attestation::Dump;
using attestation::DumpField;
using attestation::DumpSection;
using attestation::Evidence;
using attestation::EvidenceSet;

constexpr char kSchema[] = "caravan.evidence-show/1";

absl::StatusOr<EvidenceSet> Load(const EvidenceShowOptions& options) {
  auto kind = ParseEvidenceKind(options.kind);
  if (!kind.ok()) return kind.status();
  return ReadEvidence(options.evidence, *kind);
}

void PrintTable(const Context& context, const Evidence& item, const Dump& dump) {
  context.out << Paint(Color::kYellow, "not verified", context.color) << "  " << dump.kind << "  "
              << item.report.size() << " bytes: what the evidence says, which may be false\n";
  for (const DumpSection& section : dump.sections) {
    context.out << "\n" << Paint(Color::kBold, Printable(section.title), context.color) << "\n";
    size_t width = 0;
    for (const DumpField& field : section.fields) width = std::max(width, field.name.size());
    // Values are of all lengths: the notes stand behind each, not in a column.
    for (const DumpField& field : section.fields) {
      context.out << "  " << field.name << std::string(width - field.name.size() + 2, ' ')
                  << Printable(field.value);
      if (!field.note.empty()) context.out << "  (" << Printable(field.note) << ")";
      context.out << "\n";
    }
  }
  if (dump.problems.empty()) return;
  context.out << "\n" << Paint(Color::kRed, "problems", context.color) << "\n";
  for (const std::string& problem : dump.problems) {
    context.out << "  " << Printable(problem) << "\n";
  }
}

void AddJson(const Evidence& item, const Dump& dump, JsonWriter* json) {
  json->BeginObject()
      .Member("kind", dump.kind)
      .Member("bytes", item.report.size())
      .Member("malformed", dump.malformed);
  json->Key("problems").BeginArray();
  for (const std::string& problem : dump.problems) json->Value(problem);
  json->EndArray().Key("sections").BeginArray();
  for (const DumpSection& section : dump.sections) {
    json->BeginObject().Member("title", section.title).Key("fields").BeginArray();
    for (const DumpField& field : section.fields) {
      json->BeginObject()
          .Member("name", field.name)
          .Member("value", field.value)
          .Member("note", field.note)
          .EndObject();
    }
    json->EndArray().EndObject();
  }
  json->EndArray().EndObject();
}

}  // namespace

int RunEvidenceShow(const Context& context, const EvidenceShowOptions& options) {
  absl::StatusOr<EvidenceSet> set = Load(options);
  if (!set.ok()) {
    Failure failure = FailureOf(set.status(), "evidence show");
    if (failure.exit != kNotPermitted) failure.exit = kUsage;
    failure.hint.clear();
    return Fail(context, kSchema, failure);
  }
  JsonWriter json = BeginDocument(kSchema);
  json.Member("verified", false).Key("items").BeginArray();
  const std::string* malformed = nullptr;
  std::vector<Dump> dumps;
  for (const Evidence& item : set->items) dumps.push_back(attestation::ShowEvidence(item));
  for (size_t i = 0; i < dumps.size(); ++i) {
    if (dumps[i].malformed && malformed == nullptr) malformed = &dumps[i].problems.front();
    if (context.json) {
      AddJson(set->items[i], dumps[i], &json);
    } else {
      if (i > 0) context.out << "\n";
      PrintTable(context, set->items[i], dumps[i]);
    }
  }
  if (context.json) {
    json.EndArray().EndObject();
    context.out << std::move(json).Take();
  }
  if (malformed == nullptr) return kOk;
  // The document on out is complete already: only the reason goes to err.
  context.err << "caravanctl: evidence show: " << Printable(*malformed) << " [MALFORMED]\n";
  return kUsage;
}

}  // namespace caravan::cli
