// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "absl/strings/str_cat.h"
#include "attestation/policy/explain.h"
#include "attestation/policy/field_checker.h"

namespace caravan::attestation {
namespace {

constexpr uint32_t kMaxDevices = 32;  // composite.h

std::string Counted(uint32_t count, const char* one, const char* more) {
  return absl::StrCat(count, " ", count == 1 ? one : more);
}

}  // namespace

void CheckCompositePolicy(const v1::Policy& policy, const FieldChecker::Path& at,
                          FieldChecker* fields) {
  const v1::CompositePolicy& composite = policy.composite();
  const uint64_t devices = uint64_t{composite.gpus()} + composite.switches();
  if (devices == 0 && !composite.allow_cpu_alone()) {
    fields->Report(at, "asks for no device and takes no cpu alone: set gpus, or allow_cpu_alone");
  }
  if (devices > kMaxDevices) {
    fields->Report(at, absl::StrCat("asks for ", devices, " devices, at most ", kMaxDevices));
  }
  if (devices > 0 && !policy.has_nvidia()) {
    fields->Report(at, "asks for devices, but there are no rules for them: add nvidia { … }");
  }
  const auto agree = [&](const char* field, uint32_t here, uint32_t there) {
    if (there == 0 || here == there) return;
    fields->Report(FieldChecker::With(at, field, -1),
                   absl::StrCat("is ", here, ", but nvidia.", field, " says ", there));
  };
  agree("gpus", composite.gpus(), policy.nvidia().gpus());
  agree("switches", composite.switches(), policy.nvidia().switches());
}

ExplainLines ExplainComposite(const v1::CompositePolicy& composite, bool allow_insecure) {
  ExplainLines lines;
  lines.push_back(absl::StrCat("requires ", Counted(composite.gpus(), "gpu", "gpus"), " and ",
                               Counted(composite.switches(), "switch", "switches"),
                               " beside each CPU"));
  lines.push_back(composite.allow_cpu_alone() ? "accepts a CPU without any device as well"
                                              : "refuses a CPU without its devices");
  lines.push_back(allow_insecure ? "ACCEPTS DEVICES THAT MAY BE ANOTHER MACHINE'S (not attached)"
                                 : "refuses devices that are not attached");
  return lines;
}

}  // namespace caravan::attestation
