// SPDX-License-Identifier: Apache-2.0
#include "attester/fake_tsm_tree.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace caravan::attester {
namespace {

constexpr size_t kMaxInblob = 64;
constexpr unsigned kMaxPrivlevel = 3;

void PutLittle32(size_t value, std::string* out) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

int FakeTsmTree::Error(const std::string& call) const {
  const auto found = world_->errors.find(call);
  return found == world_->errors.end() ? 0 : found->second;
}

int FakeTsmTree::MakeEntry(const std::string& entry) {
  std::lock_guard lock(world_->mutex);
  if (const int error = Error("mkdir"); error != 0) return error;
  if (world_->provider.empty()) return ENXIO;
  if (world_->taken > 0) {
    --world_->taken;
    return EEXIST;
  }
  if (!world_->entries.insert(entry).second) return EEXIST;
  ++world_->made;
  states_[entry] = {};
  return 0;
}

int FakeTsmTree::RemoveEntry(const std::string& entry) {
  std::lock_guard lock(world_->mutex);
  if (const int error = Error("rmdir"); error != 0) return error;
  states_.erase(entry);
  return world_->entries.erase(entry) == 1 ? 0 : ENOENT;
}

int FakeTsmTree::Write(const std::string& entry, const char* attribute, std::string_view bytes) {
  std::lock_guard lock(world_->mutex);
  if (const int error = Error(attribute); error != 0) return error;
  const auto found = states_.find(entry);
  if (found == states_.end()) return ENOENT;
  State& state = found->second;
  const std::string name = attribute;
  if (name == "inblob") {
    if (bytes.size() > kMaxInblob) return EFBIG;
    state.inblob = std::string(bytes);
  } else if (name == "privlevel" && world_->provider == "sev_guest") {
    unsigned level = 0;
    if (!absl::SimpleAtoi(absl::string_view(bytes.data(), bytes.size()), &level)) return EINVAL;
    if (level < world_->privlevel_floor || level > kMaxPrivlevel) return EINVAL;
    state.privlevel = level;
  } else {
    return ENOENT;
  }
  ++state.generation;
  return 0;
}

int FakeTsmTree::Report(State* state) {
  if (state->inblob.empty()) return EINVAL;
  if (!state->outblob.empty() && state->generation == state->read_generation) return 0;
  if (state->inblob.size() != kMaxInblob) return EINVAL;
  world_->privlevel = state->privlevel;
  state->outblob = world_->report ? world_->report(state->inblob, state->privlevel)
                   : world_->provider == "tdx_guest" ? MakeTdxQuote(state->inblob)
                                                     : MakeSnpReport(state->inblob);
  state->read_generation = state->generation;
  return 0;
}

int FakeTsmTree::Read(const std::string& entry, const char* attribute, size_t limit,
                      std::string* bytes) {
  std::lock_guard lock(world_->mutex);
  bytes->clear();
  if (const int error = Error(attribute); error != 0) return error;
  const auto found = states_.find(entry);
  if (found == states_.end()) return ENOENT;
  State& state = found->second;
  const std::string name = attribute;
  const bool sev = world_->provider == "sev_guest";
  if (const auto says = world_->says.find(name); says != world_->says.end()) {
    *bytes = says->second;
  } else if (name == "provider") {
    *bytes = world_->provider + "\n";
  } else if (name == "generation") {
    *bytes = absl::StrCat(state.generation, "\n");
  } else if (name == "privlevel_floor" && sev) {
    *bytes = absl::StrCat(world_->privlevel_floor, "\n");
  } else if (name == "outblob" || (name == "auxblob" && sev)) {
    if (const int error = Report(&state); error != 0) return error;
    *bytes = name == "outblob" ? state.outblob : world_->auxblob;
    if (name == "outblob" && world_->interferences > 0) {
      --world_->interferences;
      ++state.generation;
    }
  } else {
    return ENOENT;
  }
  return bytes->size() > limit ? EFBIG : 0;
}

std::string MakeSnpReport(std::string_view report_data) {
  std::string report(1184, '\0');
  report[0] = 3;
  report[0x34] = 1;
  return report.replace(0x50, report_data.size(), report_data);
}

std::string MakeTdxQuote(std::string_view report_data, uint16_t version) {
  std::string quote(1200, '\0');
  quote[0] = static_cast<char>(version);
  quote[2] = 2;
  quote[4] = '\x81';
  return quote.replace(version == 5 ? 574 : 568, report_data.size(), report_data);
}

std::string MakeCertificateTable(
    const std::vector<std::pair<std::string, std::string>>& guid_and_der) {
  std::string table;
  std::string bytes;
  const size_t header = (guid_and_der.size() + 1) * 24;
  for (const auto& [guid, der] : guid_and_der) {
    table += guid;
    PutLittle32(header + bytes.size(), &table);
    PutLittle32(der.size(), &table);
    bytes += der;
  }
  return table + std::string(24, '\0') + bytes;
}

}  // namespace caravan::attester
