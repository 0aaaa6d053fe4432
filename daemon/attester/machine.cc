// SPDX-License-Identifier: Apache-2.0
#include "daemon/attester/machine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/attester/configfs_tsm.h"
#include "daemon/attester/device_file.h"

namespace caravan::attester {
namespace {

using attestation::EvidenceKind;

absl::Status NoWay(const char* what, const absl::Status& first, const absl::Status& second) {
  return absl::Status(
      absl::IsPermissionDenied(first) ? first.code() : second.code(),
      absl::StrCat("no way to ", what, ": ", first.message(), "; and ", second.message()));
}

AttesterOr FromTsm(const MachinePaths& paths, EvidenceKind kind, std::optional<uint32_t> vmpl) {
  return MakeConfigfsTsmAttester(MakeTsmTree(paths.tsm), {.kind = kind, .vmpl = vmpl});
}

}  // namespace

AttesterOr MakeSevSnpAttester(const MachinePaths& paths, std::optional<uint32_t> vmpl) {
  AttesterOr tsm = FromTsm(paths, EvidenceKind::kSevSnp, vmpl);
  if (tsm.ok()) return tsm;
  absl::StatusOr<Ioctl> device = OpenDevice(paths.sev_guest);
  if (!device.ok()) return NoWay("SEV-SNP's firmware", tsm.status(), device.status());
  return MakeSevGuestAttester(*std::move(device), {.vmpl = vmpl.value_or(0), .sleep = nullptr});
}

AttesterOr MakeTdxAttester(const MachinePaths& paths, uint32_t quote_service_port) {
  AttesterOr tsm = FromTsm(paths, EvidenceKind::kTdx, std::nullopt);
  if (tsm.ok()) return tsm;
  absl::StatusOr<Ioctl> device = OpenDevice(paths.tdx_guest);
  if (!device.ok()) return NoWay("the TDX module", tsm.status(), device.status());
  return MakeTdxGuestAttester(*std::move(device), ConnectToHost(quote_service_port), {});
}

}  // namespace caravan::attester
