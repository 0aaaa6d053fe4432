// SPDX-License-Identifier: Apache-2.0
#include "cli/collateral.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "attestation/verify_input.h"
#include "base/file.h"
#include "base/hex.h"
#include "cli/text.h"
#include "collateral/cache.h"
#include "collateral/cached_source.h"
#include "collateral/gather.h"

namespace caravan::cli {
namespace {

using collateral::Cache;
using collateral::CacheEntry;
using collateral::Gathered;

constexpr char kSchema[] = "caravan.collateral/1";
constexpr size_t kDigestSize = 32;

struct Row {
  std::string kind, key;
  std::string state = {};  // "fetched", "cached", "kept", "missing", "expired", "corrupted"
  std::string url = {};
  std::optional<absl::Time> fetched = {}, expires = {};
  std::vector<std::string> files = {};
  std::string detail = {};
  bool usable = true;
};

struct Report {
  std::vector<Row> rows;
  std::vector<std::string> gaps;
  bool timed_out = false;  // and nothing else is why an item is missing

  size_t missing() const {
    return gaps.size() + static_cast<size_t>(std::count_if(
                             rows.begin(), rows.end(), [](const Row& row) { return !row.usable; }));
  }
};

int Refuse(const Context& context, const absl::Status& status, const char* doing) {
  Failure failure = FailureOf(status, doing);
  failure.hint.clear();
  const bool for_the_caller =
      failure.exit != kInternalError && failure.exit != kNotPermitted && failure.exit != kTimedOut;
  if (for_the_caller) failure.exit = kUsage;
  return Fail(context, kSchema, failure);
}

std::string FormatUtc(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

std::string Text(const std::optional<absl::Time>& time) {
  return time.has_value() ? FormatUtc(*time) : "-";
}

absl::Status InFile(const std::string& file, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", status.message()));
}

absl::StatusOr<attestation::EvidenceSet> ReadEvidence(const CollateralOptions& options) {
  attestation::EvidenceSet all;
  for (const std::string& file : options.evidence) {
    absl::StatusOr<std::string> bytes = base::ReadFile(file, attestation::kMaxInputSize);
    if (!bytes.ok()) return bytes.status();
    absl::StatusOr<attestation::EvidenceSet> set = attestation::DetectEvidence(*bytes);
    if (!set.ok()) return InFile(file, set.status());
    for (attestation::Evidence& item : set->items) all.items.push_back(std::move(item));
  }
  attestation::Endorsements beside;
  for (const std::string& file : options.certificates) {
    absl::StatusOr<std::string> bytes = base::ReadFile(file, attestation::kMaxInputSize);
    if (!bytes.ok()) return bytes.status();
    absl::Status parsed = attestation::ParseEndorsements(*bytes, &beside);
    if (!parsed.ok()) return InFile(file, parsed);
  }
  for (attestation::Evidence& item : all.items) {
    if (item.certificates.empty()) item.certificates = beside.certificates;
  }
  return all;
}

collateral::Services ServicesOf(const CollateralOptions& options) {
  collateral::Services services;
  const std::pair<const std::string*, std::string*> addresses[] = {
      {&options.kds_url, &services.kds},           {&options.pcs_url, &services.pcs},
      {&options.root_crl_url, &services.root_crl}, {&options.rim_url, &services.rim},
      {&options.ocsp_url, &services.ocsp},
  };
  for (const auto& [given, address] : addresses) {
    if (!given->empty()) *address = *given;
    // "https://kds.example/" is what people paste.
    while (address->size() > 8 && address->back() == '/') address->pop_back();
  }
  services.ca_file = options.ca_file;
  return services;
}

absl::StatusOr<collateral::SourceOptions> SourceOptionsOf(const CollateralOptions& options) {
  collateral::SourceOptions out;
  out.offline = options.offline;
  if (options.refresh) out.refresh = absl::ZeroDuration();
  for (const std::string& root : options.extra_roots) {
    const std::optional<std::string> digest = base::FromHex(root);
    if (!digest.has_value() || digest->size() != kDigestSize) {
      return absl::InvalidArgumentError(
          absl::StrCat("--extra-root is \"", root, "\", expected 64 hexadecimal digits"));
    }
    out.extra_roots.push_back(absl::AsciiStrToLower(root));
  }
  return out;
}

Row RowOf(const Gathered::Part& part, absl::Time begun) {
  Row row{.kind = std::string(Name(part.request.kind)), .key = part.request.key};
  if (!part.status.ok()) {
    row.state = "missing";
    row.detail = std::string(part.status.message());
    row.usable = false;
    return row;
  }
  const bool before = part.item.fetched < begun;
  row.state = !before ? "fetched" : part.item.note.empty() ? "cached" : "kept";
  row.url = part.item.url;
  row.fetched = part.item.fetched;
  row.expires = part.item.expires;
  row.detail = part.item.note;
  return row;
}

Row RowOf(const CacheEntry& entry, absl::Time now) {
  Row row{.kind = std::string(Name(entry.request.kind)),
          .key = entry.request.key,
          .state = "cached",
          .url = entry.url,
          .fetched = entry.fetched,
          .expires = entry.facts.expires,
          .files = entry.files,
          .detail = entry.problem};
  if (!entry.problem.empty()) {
    row.state = "corrupted";
  } else if (entry.facts.expires < now) {
    row.state = "expired";
  }
  row.usable = row.state == "cached";
  return row;
}

Report ReportOf(const Gathered& gathered, absl::Time begun) {
  Report report{.rows = {}, .gaps = gathered.gaps, .timed_out = gathered.gaps.empty()};
  for (const Gathered::Part& part : gathered.parts) {
    report.rows.push_back(RowOf(part, begun));
    if (!part.status.ok() && !absl::IsDeadlineExceeded(part.status)) report.timed_out = false;
  }
  return report;
}

void PrintTable(const Context& context, const Report& report, const std::string& folder) {
  const size_t missing = report.missing();
  const std::string verdict = missing == 0 ? "complete" : absl::StrCat(missing, " missing");
  context.out << Paint(missing == 0 ? Color::kGreen : Color::kRed, verdict, context.color) << "  "
              << report.rows.size() << (report.rows.size() == 1 ? " item" : " items") << "  cache "
              << Printable(folder) << "\n";
  if (!report.rows.empty()) {
    Table table({"state", "item", "key", "expires", "detail"});
    for (const Row& row : report.rows) {
      table.Add({row.state, row.kind, Shorten(row.key, 40), Text(row.expires), row.detail});
    }
    context.out << "\n" << table.Render();
  }
  for (const std::string& gap : report.gaps) {
    context.out << "missing: " << Printable(gap) << "\n";
  }
}

void PrintJson(const Context& context, const Report& report, const std::string& folder) {
  JsonWriter json = BeginDocument(kSchema);
  json.Member("cache", folder).Member("complete", report.missing() == 0).Key("items").BeginArray();
  for (const Row& row : report.rows) {
    json.BeginObject()
        .Member("kind", row.kind)
        .Member("key", row.key)
        .Member("state", row.state)
        .Member("usable", row.usable)
        .Member("url", row.url);
    if (row.fetched.has_value()) json.Member("fetched", FormatUtc(*row.fetched));
    if (row.expires.has_value()) json.Member("expires", FormatUtc(*row.expires));
    json.Key("files").BeginArray();
    for (const std::string& file : row.files) json.Value(file);
    json.EndArray().Member("detail", row.detail).EndObject();
  }
  json.EndArray().Key("missing").BeginArray();
  for (const std::string& gap : report.gaps) json.Value(gap);
  json.EndArray().EndObject();
  context.out << std::move(json).Take();
}

void Print(const Context& context, const Report& report, const std::string& folder) {
  if (context.json) {
    PrintJson(context, report, folder);
  } else {
    PrintTable(context, report, folder);
  }
}

// The document on out is complete already: only the reason goes to err.
int Conclude(const Context& context, const Report& report, const char* doing,
             const std::string& hint) {
  if (report.missing() == 0) return kOk;
  std::string first = report.gaps.empty() ? "" : report.gaps.front();
  for (const Row& row : report.rows) {
    if (!row.usable) {
      first =
          row.detail.empty() ? absl::StrCat(row.kind, " ", row.key, " ", row.state) : row.detail;
      break;
    }
  }
  context.err << "caravanctl: " << doing << ": " << Printable(first) << " ["
              << (report.timed_out ? "TIMED_OUT" : "MISSING") << "]\n";
  if (!hint.empty()) context.err << "hint: " << hint << "\n";
  return report.timed_out ? kTimedOut : kNotVerifiable;
}

absl::StatusOr<Report> GatherReport(Cache* cache, const CollateralOptions& options,
                                    const collateral::World& world) {
  absl::StatusOr<attestation::EvidenceSet> evidence = ReadEvidence(options);
  if (!evidence.ok()) return evidence.status();
  absl::StatusOr<collateral::SourceOptions> source_options = SourceOptionsOf(options);
  if (!source_options.ok()) return source_options.status();
  const collateral::Services services = ServicesOf(options);
  if (absl::Status status = CheckServices(services); !status.ok()) return status;
  collateral::Fetcher fetcher(services, world);
  collateral::CachedSource source(cache, &fetcher, *std::move(source_options));
  const absl::Time begun = world.now();
  absl::StatusOr<Gathered> gathered = Gather(*evidence, source, begun + options.deadline);
  if (!gathered.ok()) return gathered.status();
  Report report = ReportOf(*gathered, begun);
  for (size_t i = 0; i < report.rows.size(); ++i) {
    absl::StatusOr<std::optional<Cache::Found>> found = cache->Find(gathered->parts[i].request);
    if (found.ok() && found->has_value()) report.rows[i].files = (*found)->entry.files;
  }
  return report;
}

}  // namespace

int RunCollateralFetch(const Context& context, const CollateralOptions& options,
                       const collateral::World& world) {
  constexpr char kDoing[] = "collateral fetch";
  absl::StatusOr<std::unique_ptr<Cache>> cache = Cache::Open(options.cache);
  if (!cache.ok()) return Refuse(context, cache.status(), kDoing);
  absl::StatusOr<Report> report = GatherReport(cache->get(), options, world);
  if (!report.ok()) return Refuse(context, report.status(), kDoing);
  Print(context, *report, options.cache);
  return Conclude(context, *report, kDoing, "");
}

int RunCollateralList(const Context& context, const CollateralOptions& options,
                      const collateral::World& world) {
  absl::StatusOr<std::vector<CacheEntry>> entries = Cache::OpenForReading(options.cache)->List();
  if (!entries.ok()) return Refuse(context, entries.status(), "collateral list");
  Report report;
  for (const CacheEntry& entry : *entries) report.rows.push_back(RowOf(entry, world.now()));
  Print(context, report, options.cache);
  return kOk;
}

int RunCollateralCheck(const Context& context, const CollateralOptions& options,
                       const collateral::World& world) {
  constexpr char kDoing[] = "collateral check";
  const std::unique_ptr<Cache> cache = Cache::OpenForReading(options.cache);
  Report report;
  if (options.evidence.empty()) {
    absl::StatusOr<std::vector<CacheEntry>> entries = cache->List();
    if (!entries.ok()) return Refuse(context, entries.status(), kDoing);
    for (const CacheEntry& entry : *entries) report.rows.push_back(RowOf(entry, world.now()));
  } else {
    CollateralOptions offline = options;
    offline.offline = true;
    absl::StatusOr<Report> gathered = GatherReport(cache.get(), offline, world);
    if (!gathered.ok()) return Refuse(context, gathered.status(), kDoing);
    report = *std::move(gathered);
  }
  Print(context, report, options.cache);
  return Conclude(context, report, kDoing,
                  "caravanctl collateral fetch brings it, where there is a network");
}

}  // namespace caravan::cli
