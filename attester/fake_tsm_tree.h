// SPDX-License-Identifier: Apache-2.0
//
// A TsmTree that behaves as the kernel's does (Linux drivers/virt/coco/guest/report.c):
// generations, reports made on the first read, attributes that a provider does not show. It fails
// where told to.
#ifndef CARAVAN_ATTESTER_FAKE_TSM_TREE_H_
#define CARAVAN_ATTESTER_FAKE_TSM_TREE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attester/tsm_tree.h"

namespace caravan::attester {

class FakeTsmTree : public TsmTree {
 public:
  struct World {
    std::string provider = "sev_guest";  // empty: no driver has registered
    unsigned privlevel_floor = 0;
    // The report for what was written; by default MakeSnpReport or MakeTdxQuote.
    std::function<std::string(std::string_view inblob, unsigned privlevel)> report;
    std::string auxblob;  // the certificate table
    // "mkdir", "rmdir", or an attribute's name → the error of the call.
    std::map<std::string, int> errors;
    // An attribute's name → what it says instead.
    std::map<std::string, std::string> says;
    // Writes of another process between the report and the second look at the generation, for so
    // many entries.
    int interferences = 0;
    // Names that are taken already, for so many calls of mkdir.
    int taken = 0;
    // What was seen.
    std::set<std::string> entries;
    int made = 0;
    unsigned privlevel = 0;  // of the last report
    std::mutex mutex;
  };

  // `world` outlives the tree.
  explicit FakeTsmTree(World* world) : world_(world) {}

  int MakeEntry(const std::string& entry) override;
  int RemoveEntry(const std::string& entry) override;
  int Write(const std::string& entry, const char* attribute, std::string_view bytes) override;
  int Read(const std::string& entry, const char* attribute, size_t limit,
           std::string* bytes) override;
  std::string Describe() const override { return "/fake/tsm"; }

 private:
  struct State {
    uint64_t generation = 0;
    uint64_t read_generation = 0;
    std::string inblob;
    std::string outblob;
    unsigned privlevel = 0;
  };

  int Error(const std::string& call) const;
  int Report(State* state);

  World* const world_;
  std::map<std::string, State> states_;
};

// Bytes with the report data in its place, and nothing else true of them.
std::string MakeSnpReport(std::string_view report_data);
std::string MakeTdxQuote(std::string_view report_data, uint16_t version = 4);
// A GUIDed certificate table.
std::string MakeCertificateTable(
    const std::vector<std::pair<std::string, std::string>>& guid_and_der);

// GUIDs in RFC 4122's byte order.
inline constexpr std::string_view kVcekGuid(
    "\x63\xda\x75\x8d\xe6\x64\x45\x64\xad\xc5\xf4\xb9\x3b\xe8\xac\xcd", 16);
inline constexpr std::string_view kAskGuid(
    "\x4a\xb7\xb3\x79\xbb\xac\x4f\xe4\xa0\x2f\x05\xae\xf3\x27\xc7\x82", 16);
inline constexpr std::string_view kArkGuid(
    "\xc0\xb4\x06\xa4\xa8\x03\x49\x52\x97\x43\x3f\xb6\x01\x4c\xd0\xae", 16);

}  // namespace caravan::attester

#endif  // CARAVAN_ATTESTER_FAKE_TSM_TREE_H_
