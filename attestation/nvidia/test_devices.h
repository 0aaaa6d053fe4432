// SPDX-License-Identifier: Apache-2.0
//
// What tests of real devices share: where they are, the policies that take them, and how to read
// them.
#ifndef CARAVAN_ATTESTATION_NVIDIA_TEST_DEVICES_H_
#define CARAVAN_ATTESTATION_NVIDIA_TEST_DEVICES_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "attestation/sev_snp/test_vectors.h"
#include "attestation/verifier.h"
#include "attestation/verify_input.h"
#include "gtest/gtest.h"

namespace caravan::attestation {

inline constexpr char kSdk[] = "nvidia/attestation-sdk/";
inline constexpr char kSamples[] = "nvidia/attestation-sdk/sample_attestation_data/";
inline constexpr char kLists[] =
    "nvidia/attestation-sdk/common-test-data/serialized_test_evidence/";
inline constexpr char kDay[] = "2026-06-01T00:00:00Z";

// Everything that differs between the vectors is left strict.
inline constexpr char kBase[] =
    "any_device: true any_firmware: true any_measurement: true allow_missing_ocsp: true ";

// What one or the other has to be allowed.
inline constexpr char kUnstated[] = "modes: NVIDIA_UNSTATED";
inline constexpr char kSpt[] = "modes: NVIDIA_SPT";
inline constexpr char kPpcie[] = "modes: NVIDIA_PPCIE";
inline constexpr char kNoFwid[] = "allow_missing_fwid: true";
inline constexpr char kPart[] = "allow_incomplete_set: true";

inline absl::Time At(const char* text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &error)) << error;
  return time;
}

inline Policy MakePolicy(const std::string& nvidia) {
  absl::StatusOr<Policy> policy =
      ParsePolicy(absl::StrCat("name: \"vectors\" nvidia { ", nvidia, " }"), "vectors.textproto");
  EXPECT_TRUE(policy.ok()) << policy.status();
  return policy.ok() ? *policy : Policy();
}

inline std::string Failures(const Appraisal& appraisal) {
  std::string text(Name(appraisal.verdict));
  for (const Check& check : appraisal.checks) {
    if (check.outcome == Outcome::kPassed || check.outcome == Outcome::kSkipped) continue;
    absl::StrAppend(&text, "\n  ", check.id, " (", check.what, "): ", check.detail);
  }
  return text;
}

inline bool Failed(const Appraisal& appraisal, std::string_view id) {
  return std::any_of(appraisal.checks.begin(), appraisal.checks.end(), [id](const Check& check) {
    return check.id == id && check.outcome == Outcome::kFailed;
  });
}

inline bool Read(const std::string& path, EvidenceSet* evidence) {
  const auto bytes = ReadVectorForTest(path);
  EXPECT_TRUE(bytes.has_value()) << path;
  if (!bytes.has_value()) return false;
  auto set = DetectEvidence(*bytes);
  EXPECT_TRUE(set.ok()) << path << set.status();
  if (!set.ok()) return false;
  for (Evidence& item : set->items) evidence->items.push_back(std::move(item));
  return true;
}

inline bool ReadEndorsement(const std::string& path, Endorsements* endorsements) {
  const auto bytes = ReadVectorForTest(path);
  EXPECT_TRUE(bytes.has_value()) << path;
  if (!bytes.has_value()) return false;
  const absl::Status added = ParseEndorsements(*bytes, endorsements);
  EXPECT_TRUE(added.ok()) << path << added;
  return added.ok();
}

// The nonce of the first report.
inline DeviceNonce NonceOf(const EvidenceSet& set) {
  DeviceNonce nonce;
  std::copy_n(set.items[0].report.begin() + 4, nonce.bytes.size(), nonce.bytes.begin());
  return nonce;
}

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_NVIDIA_TEST_DEVICES_H_
