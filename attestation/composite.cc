// SPDX-License-Identifier: Apache-2.0
#include "attestation/composite.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/binder.h"

namespace caravan::attestation {
namespace {

size_t CountDevices(const EvidenceSet& set) {
  return static_cast<size_t>(std::count_if(set.items.begin(), set.items.end(), IsDevice));
}

const Evidence* FindCpu(const EvidenceSet& set) {
  return set.items.empty() || IsDevice(set.items[0]) ? nullptr : &set.items[0];
}

std::string Counted(const DeviceCount& count) {
  return absl::StrCat(count.gpus, count.gpus == 1 ? " gpu and " : " gpus and ", count.switches,
                      count.switches == 1 ? " switch" : " switches");
}

class CompositeAttester : public Attester {
 public:
  CompositeAttester(std::unique_ptr<Attester> cpu, std::unique_ptr<DeviceAttester> devices)
      : cpu_(std::move(cpu)), devices_(std::move(devices)) {}

  absl::StatusOr<EvidenceSet> Collect(const ReportData& /*report_data*/) override {
    return absl::FailedPreconditionError(
        "composite evidence: devices answer a session's nonces, and there is no session");
  }

  absl::StatusOr<EvidenceSet> CollectFor(const EvidenceRequest& request) override {
    absl::StatusOr<EvidenceSet> set = cpu_->CollectFor(request);
    if (!set.ok()) return set;
    const size_t count = devices_->DeviceCount();
    if (set->items.size() != 1 || IsDevice(set->items[0]) || count > kMaxDevices) {
      return absl::InternalError(absl::StrCat("composite evidence: ", set->items.size(),
                                              " pieces of the cpu's and ", count,
                                              " devices, expected one and at most ", kMaxDevices));
    }
    const crypto::Sha256Digest digest = CpuEvidenceDigest(set->items[0]);
    for (size_t i = 0; i < count; ++i) {
      const DeviceNonce nonce =
          MakeDeviceNonce(request.attester, request.binder, digest, static_cast<uint32_t>(i),
                          static_cast<uint32_t>(count));
      absl::StatusOr<Evidence> item = devices_->Collect(i, nonce.bytes);
      if (!item.ok()) return item.status();
      set->items.push_back(*std::move(item));
    }
    return set;
  }

  std::string Describe() const override {
    return absl::StrCat(cpu_->Describe(), " + ", devices_->DeviceCount(), " ",
                        devices_->Describe());
  }

 private:
  const std::unique_ptr<Attester> cpu_;
  const std::unique_ptr<DeviceAttester> devices_;
};

}  // namespace

crypto::Sha256Digest CpuEvidenceDigest(const Evidence& cpu) {
  return crypto::Sha256(crypto::AsBytes(Encode(EvidenceSet{{cpu}})));
}

DeviceExpectation ExpectedOfDevice(const EvidenceSet& set, uint32_t index,
                                   const ReportDataExpectation& expected) {
  const Evidence* cpu = FindCpu(set);
  if (!expected.session().has_value() || cpu == nullptr) return expected.devices();
  const EvidenceRequest& request = *expected.session();
  return DeviceExpectation::Exactly(MakeDeviceNonce(request.attester, request.binder,
                                                    CpuEvidenceDigest(*cpu), index,
                                                    static_cast<uint32_t>(CountDevices(set))));
}

bool CheckShape(const EvidenceSet& set, const ReportDataExpectation& expected, CheckList* checks) {
  constexpr std::string_view kWhat = "the set is a CPU's evidence, then its devices'";
  const size_t devices = CountDevices(set);
  const size_t cpus = set.items.size() - devices;
  std::string problem;
  if (cpus > 0 && FindCpu(set) == nullptr) {
    problem = "a device's evidence stands in front of the cpu's";
  } else if (cpus > 1 && devices > 0) {
    problem = absl::StrCat(cpus, " pieces of evidence of cpus, and devices of one of them");
  } else if (cpus == 0 && expected.session().has_value()) {
    problem = "there are devices, and no cpu that they belong to";
  } else if (devices > kMaxDevices) {
    problem = absl::StrCat(devices, " devices, at most ", kMaxDevices);
  }
  if (problem.empty() && devices == 0) return true;
  return checks->Require(problem.empty(), "COMPOSITE_SHAPE", kWhat, problem);
}

void CheckComposite(const EvidenceSet& set, DeviceCount count, const Policy& policy,
                    CheckList* checks) {
  if (FindCpu(set) == nullptr) return;
  const size_t devices = CountDevices(set);
  if (!policy.has_composite()) {
    if (devices == 0) return;
    checks->Fail("COMPOSITE_POLICY", "the policy has rules for devices beside a CPU",
                 absl::StrCat("policy \"", policy.name(), "\" has none"), "add composite { … }");
    return;
  }
  const v1::CompositePolicy& rules = policy.composite();
  constexpr std::string_view kDevicesWhat = "the devices are as many as the policy says";
  if (devices == 0 && rules.allow_cpu_alone()) {
    checks->Skip("COMPOSITE_DEVICES", kDevicesWhat,
                 "there is none; the policy takes a CPU alone as well");
    return;
  }
  const DeviceCount wanted{rules.gpus(), rules.switches()};
  const bool good = count.gpus == wanted.gpus && count.switches == wanted.switches &&
                    devices == wanted.gpus + wanted.switches;
  checks->Require(good, "COMPOSITE_DEVICES", kDevicesWhat,
                  good ? ""
                       : absl::StrCat("the evidence is of ", devices, " devices, ", Counted(count),
                                      " among them; the policy wants ", Counted(wanted)));
  if (devices == 0) return;
  constexpr std::string_view kAttachedWhat = "the devices are this machine's";
  const std::string detail =
      "not attached: no device has a session of its own with the daemon, so that its report shows "
      "a genuine device somewhere";
  if (policy.allow_insecure()) {
    checks->Warn("GPU_NOT_ATTACHED", kAttachedWhat, detail);
  } else {
    checks->Fail("GPU_NOT_ATTACHED", kAttachedWhat, detail,
                 "only a policy with allow_insecure lets it pass");
  }
}

std::unique_ptr<Attester> MakeCompositeAttester(std::unique_ptr<Attester> cpu,
                                                std::unique_ptr<DeviceAttester> devices) {
  return std::make_unique<CompositeAttester>(std::move(cpu), std::move(devices));
}

}  // namespace caravan::attestation
