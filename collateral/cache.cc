// SPDX-License-Identifier: Apache-2.0
#include "collateral/cache.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/hex.h"
#include "collateral/files.h"
#include "collateral/index.pb.h"
#include "crypto/hash.h"

namespace caravan::collateral {
namespace {

using attestation::CollateralFacts;
using attestation::CollateralItem;
using attestation::CollateralKind;
using attestation::CollateralRequest;
using proto::Index;

constexpr size_t kMaxIndex = 4 << 20;  // bytes of text
constexpr uint32_t kLocks = 64;        // requests share them: a lock file is never deleted

constexpr CollateralKind kKinds[] = {
    CollateralKind::kAmdVcek,      CollateralKind::kAmdChain,        CollateralKind::kAmdCrl,
    CollateralKind::kIntelTcbInfo, CollateralKind::kIntelQeIdentity, CollateralKind::kIntelPckCrl,
    CollateralKind::kIntelRootCrl, CollateralKind::kNvidiaRim,       CollateralKind::kOcsp,
};

const char* Extension(CollateralKind kind) {
  switch (kind) {
    case CollateralKind::kAmdVcek:
      return ".der";
    case CollateralKind::kAmdChain:
      return ".pem";
    case CollateralKind::kAmdCrl:
    case CollateralKind::kIntelPckCrl:
    case CollateralKind::kIntelRootCrl:
      return ".crl";
    case CollateralKind::kIntelTcbInfo:
    case CollateralKind::kIntelQeIdentity:
      return ".json";
    case CollateralKind::kNvidiaRim:
      return ".xml";
    case CollateralKind::kOcsp:
      return ".ocsp";
  }
  return "";
}

std::string Digest(absl::string_view bytes) {
  return base::ToHex(crypto::Sha256(crypto::AsBytes(std::string(bytes))));
}

std::string KeyDigest(const CollateralRequest& request) { return Digest(request.ToString()); }

// "tcb-info-1f2e3d4c-a1b2c3d4": by request and content, so that an old file and its successor
// stand side by side until the index says which counts.
std::string StemFor(const CollateralRequest& request, const CollateralItem& item) {
  const std::string content = Digest(absl::StrCat(item.body, item.issuer_chain));
  return absl::StrCat(std::string(Name(request.kind)), "-", KeyDigest(request).substr(0, 8), "-",
                      content.substr(0, 8));
}

bool IsOurFile(const std::string& name) {
  return std::any_of(std::begin(kKinds), std::end(kKinds), [&](CollateralKind kind) {
    return absl::StartsWith(name, absl::StrCat(std::string(Name(kind)), "-"));
  });
}

std::string StatePath(const std::string& folder, absl::string_view name) {
  return absl::StrCat(folder, "/state/", name);
}

// An index that cannot be read counts as empty: its files are fetched again and replaced.
Index LoadIndex(const std::string& folder) {
  Index index;
  absl::StatusOr<std::string> text = base::ReadFile(StatePath(folder, "index"), kMaxIndex);
  google::protobuf::TextFormat::Parser parser;
  // Silences the parser's own messages on stderr.
  struct Quiet : google::protobuf::io::ErrorCollector {
    void AddError(int, int, const std::string&) override {}
  } quiet;
  parser.RecordErrorsTo(&quiet);
  if (!text.ok() || !parser.ParseFromString(*text, &index)) index.Clear();
  return index;
}

absl::Status SaveIndex(const std::string& folder, const Index& index) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(index, &text);
  absl::Status status =
      WriteWhole(absl::StrCat(folder, "/state"), StatePath(folder, "index"), text);
  return status.ok() ? SyncFolder(absl::StrCat(folder, "/state")) : status;
}

std::optional<CollateralKind> ParseKind(const std::string& name) {
  for (CollateralKind kind : kKinds) {
    if (Name(kind) == name) return kind;
  }
  return std::nullopt;
}

bool IsFor(const Index::Entry& entry, const CollateralRequest& request) {
  return entry.kind() == Name(request.kind) && entry.key() == request.key;
}

CacheEntry ToEntry(CollateralKind kind, const Index::Entry& entry) {
  CacheEntry out{.request = {kind, entry.key()},
                 .url = entry.url(),
                 .fetched = absl::FromUnixSeconds(entry.fetched()),
                 .facts = {.issued = absl::FromUnixSeconds(entry.issued()),
                           .expires = absl::FromUnixSeconds(entry.expires()),
                           .evaluation_number = entry.evaluation_number()},
                 .files = {},
                 .problem = {}};
  for (const Index::File& file : entry.files()) out.files.push_back(file.name());
  return out;
}

// Reads what the entry names; a problem where it is not what was written.
Cache::Found Load(const std::string& folder, CollateralKind kind, const Index::Entry& entry) {
  Cache::Found found{.entry = ToEntry(kind, entry), .item = {}};
  std::string* const parts[] = {&found.item.body, &found.item.issuer_chain};
  if (entry.files().empty() || entry.files_size() > 2) {
    found.entry.problem = "its index entry is malformed";
    return found;
  }
  for (int i = 0; i < entry.files_size(); ++i) {
    const Index::File& file = entry.files(i);
    if (file.name().find('/') != std::string::npos) {
      found.entry.problem = "its index entry is malformed";
      return found;
    }
    absl::StatusOr<std::string> bytes =
        base::ReadFile(absl::StrCat(folder, "/", file.name()), kMaxItemBytes);
    if (!bytes.ok() || bytes->size() != file.size() || Digest(*bytes) != file.sha256()) {
      found.entry.problem =
          absl::StrCat(folder, "/", file.name(),
                       absl::IsNotFound(bytes.status()) ? " is gone" : " is corrupted");
      found.item = {};
      return found;
    }
    *parts[i] = *std::move(bytes);
  }
  found.item.url = found.entry.url;
  found.item.fetched = found.entry.fetched;
  found.item.expires = found.entry.facts.expires;
  return found;
}

uint64_t SizeOf(const Index::Entry& entry) {
  uint64_t size = 0;
  // No file is kept that is larger, whatever an index says.
  for (const Index::File& file : entry.files()) {
    size += std::min<uint64_t>(file.size(), kMaxItemBytes);
  }
  return size;
}

// Takes out entries until `room` more bytes and one more entry fit.
void MakeRoom(const CacheLimits& limits, size_t room, absl::Time now, Index* index) {
  auto* entries = index->mutable_entries();
  const int64_t now_s = absl::ToUnixSeconds(now);
  std::sort(entries->begin(), entries->end(), [&](const Index::Entry& a, const Index::Entry& b) {
    return std::tuple(a.expires() < now_s, b.fetched()) <
           std::tuple(b.expires() < now_s, a.fetched());
  });
  uint64_t total = room;
  for (const Index::Entry& entry : *entries) total += SizeOf(entry);
  while (!entries->empty() &&
         (total > limits.bytes || static_cast<size_t>(entries->size()) + 1 > limits.items)) {
    total -= SizeOf(entries->Get(entries->size() - 1));
    entries->RemoveLast();
  }
}

int64_t Seconds(absl::Time time) { return absl::ToUnixSeconds(time); }

Index::Entry MakeEntry(const CollateralRequest& request, const CollateralItem& item,
                       const CollateralFacts& facts) {
  Index::Entry entry;
  entry.set_kind(std::string(Name(request.kind)));
  entry.set_key(request.key);
  entry.set_url(item.url);
  entry.set_fetched(Seconds(item.fetched));
  entry.set_issued(Seconds(facts.issued));
  entry.set_expires(Seconds(facts.expires));
  entry.set_evaluation_number(facts.evaluation_number);
  const std::string stem = StemFor(request, item);
  const auto add = [&](const std::string& name, const std::string& bytes) {
    Index::File* file = entry.add_files();
    file->set_name(name);
    file->set_sha256(Digest(bytes));
    file->set_size(bytes.size());
  };
  add(absl::StrCat(stem, Extension(request.kind)), item.body);
  if (!item.issuer_chain.empty()) add(absl::StrCat(stem, "-chain.pem"), item.issuer_chain);
  return entry;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Cache>> Cache::Open(const std::string& folder, CacheLimits limits) {
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  if (absl::Status status = MakeFolder(absl::StrCat(folder, "/state")); !status.ok()) return status;
  return std::unique_ptr<Cache>(new Cache(folder, limits));
}

std::unique_ptr<Cache> Cache::OpenForReading(const std::string& folder) {
  return std::unique_ptr<Cache>(new Cache(folder, {}));
}

absl::StatusOr<std::optional<Cache::Found>> Cache::Find(const CollateralRequest& request) const {
  const Index index = LoadIndex(folder_);
  for (const Index::Entry& entry : index.entries()) {
    if (IsFor(entry, request)) return Load(folder_, request.kind, entry);
  }
  return std::nullopt;
}

absl::Status Cache::Put(const CollateralRequest& request, const CollateralItem& item,
                        const CollateralFacts& facts) {
  const size_t size = item.body.size() + item.issuer_chain.size();
  if (size > kMaxItemBytes || size > limits_.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.ToString(), " has ", size, " bytes, at most ",
                     std::min<size_t>(kMaxItemBytes, limits_.bytes), " are kept"));
  }
  absl::StatusOr<base::Descriptor> file = LockFile(StatePath(folder_, "lock"), /*wait=*/true);
  if (!file.ok()) return file.status();
  const CacheLock lock(*std::move(file));
  const Index::Entry entry = MakeEntry(request, item, facts);
  const std::string* const parts[] = {&item.body, &item.issuer_chain};
  for (int i = 0; i < entry.files_size(); ++i) {
    absl::Status status = WriteWhole(absl::StrCat(folder_, "/state"),
                                     absl::StrCat(folder_, "/", entry.files(i).name()), *parts[i]);
    if (!status.ok()) return status;
  }
  if (absl::Status status = SyncFolder(folder_); !status.ok()) return status;
  Index index = LoadIndex(folder_);
  auto* entries = index.mutable_entries();
  entries->erase(std::remove_if(entries->begin(), entries->end(),
                                [&](const Index::Entry& old) { return IsFor(old, request); }),
                 entries->end());
  MakeRoom(limits_, size, item.fetched, &index);
  *index.add_entries() = entry;
  if (absl::Status status = SaveIndex(folder_, index); !status.ok()) return status;
  std::set<std::string> used;
  for (const Index::Entry& kept : index.entries()) {
    for (const Index::File& file : kept.files()) used.insert(file.name());
  }
  const std::string newest = StatePath(folder_, "index");
  DeleteOlder(folder_, newest,
              [&](const std::string& name) { return IsOurFile(name) && used.count(name) == 0; });
  DeleteOlder(absl::StrCat(folder_, "/state"), newest,
              [](const std::string& name) { return absl::StartsWith(name, "partial-"); });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CacheEntry>> Cache::List() const {
  // A folder that cannot be read is an error, one that is not there an empty cache.
  absl::StatusOr<std::vector<std::string>> files = base::ListFiles(folder_);
  if (!files.ok() && !absl::IsNotFound(files.status())) return files.status();
  std::vector<CacheEntry> entries;
  const Index index = LoadIndex(folder_);
  for (const Index::Entry& entry : index.entries()) {
    const std::optional<CollateralKind> kind = ParseKind(entry.kind());
    if (kind.has_value()) entries.push_back(Load(folder_, *kind, entry).entry);
  }
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return std::tuple(a.request.kind, a.request.key) < std::tuple(b.request.kind, b.request.key);
  });
  return entries;
}

absl::StatusOr<CacheLock> Cache::TryLock(const CollateralRequest& request) const {
  const uint32_t number =
      static_cast<uint32_t>(std::stoul(KeyDigest(request).substr(0, 4), nullptr, 16) % kLocks);
  absl::StatusOr<base::Descriptor> file =
      LockFile(StatePath(folder_, absl::StrCat("fetching-", number)), /*wait=*/false);
  if (!file.ok()) return file.status();
  if (!file->valid()) {
    return absl::UnavailableError(
        absl::StrCat(request.ToString(), " is being fetched by another process"));
  }
  return CacheLock(*std::move(file));
}

}  // namespace caravan::collateral
