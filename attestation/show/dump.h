// SPDX-License-Identifier: Apache-2.0
//
// Evidence in words: every field of a report or quote, as it stands there. Nothing is verified, and
// nothing in a dump may be believed: a verifier's claims are for that.
#ifndef CARAVAN_ATTESTATION_SHOW_DUMP_H_
#define CARAVAN_ATTESTATION_SHOW_DUMP_H_

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "attestation/evidence.h"

namespace caravan::attestation {

struct DumpField {
  std::string name;   // stable, snake case: "report_data"
  std::string value;  // numbers in decimal or 0x…, bytes in hexadecimal; may hold any text
  std::string note;   // what the value means, where that can be said; "" otherwise
};

struct DumpSection {
  std::string title;  // stable, snake case: "guest_policy"
  std::vector<DumpField> fields;

  DumpSection& Add(std::string name, std::string value, std::string note = "") {
    fields.push_back({std::move(name), std::move(value), std::move(note)});
    return *this;
  }
};

struct Dump {
  std::string kind;                  // "sev-snp"
  std::deque<DumpSection> sections;  // a reference to one stays good when others are added
  // What could not be read, and bits without a known meaning. Sections hold what could be.
  std::vector<std::string> problems;
  bool malformed = false;  // the evidence is not what its kind says: a verifier would refuse it

  DumpSection& Section(std::string title) {
    sections.push_back({std::move(title), {}});
    return sections.back();
  }
  void Malformed(std::string problem) {
    problems.push_back(std::move(problem));
    malformed = true;
  }
  void Malformed(const absl::Status& status) { Malformed(std::string(status.message())); }
};

// Takes any bytes. The kind decides how they are read.
Dump ShowEvidence(const Evidence& evidence);

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_SHOW_DUMP_H_
