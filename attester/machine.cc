// SPDX-License-Identifier: Apache-2.0
#include "attester/machine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "attester/configfs_tsm.h"
#include "attester/device_file.h"

namespace caravan::attester {
namespace {

using attestation::EvidenceKind;

AttesterOr FromTsm(const MachinePaths& paths, EvidenceKind kind, std::optional<uint32_t> vmpl) {
  return MakeConfigfsTsmAttester(MakeTsmTree(paths.tsm), {.kind = kind, .vmpl = vmpl});
}

}  // namespace

absl::Status NoWay(const char* what, const absl::Status& first, const absl::Status& second) {
  return absl::Status(
      absl::IsPermissionDenied(first) ? first.code() : second.code(),
      absl::StrCat("no way to ", what, ": ", first.message(), "; and ", second.message()));
}

AttesterOr MakeSevGuest(const MachinePaths& paths, uint32_t vmpl) {
  absl::StatusOr<Ioctl> device = OpenDevice(paths.sev_guest);
  if (!device.ok()) return device.status();
  return MakeSevGuestAttester(*std::move(device), {.vmpl = vmpl, .sleep = nullptr});
}

AttesterOr MakeTdxGuest(const MachinePaths& paths, uint32_t quote_service_port) {
  absl::StatusOr<Ioctl> device = OpenDevice(paths.tdx_guest);
  if (!device.ok()) return device.status();
  return MakeTdxGuestAttester(*std::move(device), ConnectToHost(quote_service_port), {});
}

AttesterOr MakeSevSnpAttester(const MachinePaths& paths, std::optional<uint32_t> vmpl) {
  AttesterOr tsm = FromTsm(paths, EvidenceKind::kSevSnp, vmpl);
  if (tsm.ok()) return tsm;
  AttesterOr device = MakeSevGuest(paths, vmpl.value_or(0));
  if (device.ok()) return device;
  return NoWay("SEV-SNP's firmware", tsm.status(), device.status());
}

AttesterOr MakeTdxAttester(const MachinePaths& paths, uint32_t quote_service_port) {
  AttesterOr tsm = FromTsm(paths, EvidenceKind::kTdx, std::nullopt);
  if (tsm.ok()) return tsm;
  AttesterOr device = MakeTdxGuest(paths, quote_service_port);
  if (device.ok()) return device;
  return NoWay("the TDX module", tsm.status(), device.status());
}

}  // namespace caravan::attester
