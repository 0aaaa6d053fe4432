// SPDX-License-Identifier: Apache-2.0
//
// The index of a folder of collateral, as some other program may have left it.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "absl/time/time.h"
#include "collateral/cache.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

using attestation::CollateralItem;
using attestation::CollateralKind;
using attestation::CollateralRequest;
using collateral::Cache;

constexpr size_t kItems = 4;  // that the cache keeps
constexpr char kBody[] = "a document";
const CollateralRequest kRequest = {CollateralKind::kIntelTcbInfo, "tdx/90c06f000000"};

std::string MakeFolder() {
  // Where syncing costs nothing, if there is such a place.
  const char* const parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  std::string folder = std::string(parent) + "/cache_index_XXXXXX";
  Require(mkdtemp(folder.data()) != nullptr, "a folder can be made");
  return folder;
}

CollateralItem Item(const std::string& body) {
  return {.body = body,
          .url = "https://example.invalid/tcb",
          .fetched = absl::FromUnixSeconds(1'780'000'000),
          .expires = absl::FromUnixSeconds(1'790'000'000)};
}

// A cache that holds one item, and the text of its index.
struct Kept {
  const std::string folder = MakeFolder();
  const std::unique_ptr<Cache> cache = *Cache::Open(folder, {.items = kItems, .bytes = 1 << 20});
  std::string index;

  Kept() {
    Require(cache->Put(kRequest, Item(kBody), {.expires = Item("").expires}).ok(),
            "an item can be kept");
    std::ifstream file(folder + "/state/index", std::ios::binary);
    index.assign(std::istreambuf_iterator<char>(file), {});
  }
  ~Kept() { std::filesystem::remove_all(folder); }
};

const Kept& TheKept() {
  static const Kept kept;
  return kept;
}

}  // namespace

std::vector<std::string> Seeds() {
  return {TheKept().index, TheKept().index + TheKept().index, "entries { kind: \"ocsp\" }",
          "entries { fetched: -9223372036854775808 files { size: 18446744073709551615 } }",
          "entries { kind: \"tcb-info\" files { name: \"../index\" size: 1 } }"};
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  const fuzz::Kept& kept = fuzz::TheKept();
  std::ofstream(kept.folder + "/state/index", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto list = kept.cache->List();
  fuzz::Require(list.ok(), "a folder is listed whatever its index says");
  for (const collateral::CacheEntry& entry : *list) {
    if (!entry.problem.empty()) continue;
    for (const std::string& file : entry.files) {
      fuzz::Require(file.find('/') == std::string::npos, "files lie in the folder");
    }
  }
  const auto found = kept.cache->Find(fuzz::kRequest);
  fuzz::Require(found.ok(), "an index leads nowhere at worst");
  if (found->has_value() && (*found)->entry.problem.empty()) {
    fuzz::Require(!(*found)->entry.files.empty(), "what is found has a file");
  }
  // What is fetched anew takes its place, among no more than the cache may keep.
  fuzz::Require(kept.cache->Put(fuzz::kRequest, fuzz::Item(fuzz::kBody), {}).ok(),
                "an index that is malformed is replaced");
  const auto replaced = kept.cache->Find(fuzz::kRequest);
  fuzz::Require(replaced.ok() && replaced->has_value() && (*replaced)->entry.problem.empty() &&
                    (*replaced)->item.body == fuzz::kBody,
                "what was kept is found");
  fuzz::Require(kept.cache->List()->size() <= fuzz::kItems, "a cache keeps what it may");
  return 0;
}
