// SPDX-License-Identifier: Apache-2.0
//
// What a service sends in answer to each kind of request.
#include "absl/time/time.h"
#include "attestation/collateral/inspect.h"
#include "attestation/evidence.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

using attestation::CollateralKind;
using attestation::CollateralRequest;

const CollateralRequest kRequests[] = {
    {CollateralKind::kAmdVcek, "Milan,Genoa/5a?blSPL=04&teeSPL=01&snpSPL=24&ucodeSPL=209"},
    {CollateralKind::kAmdChain, "vcek/Milan"},
    {CollateralKind::kAmdCrl, "vlek/Turin"},
    {CollateralKind::kIntelTcbInfo, "tdx/060606060606"},
    {CollateralKind::kIntelQeIdentity, "tdx"},
    {CollateralKind::kIntelPckCrl, "platform"},
    {CollateralKind::kIntelRootCrl, "root"},
    {CollateralKind::kNvidiaRim, "NV_GPU_DRIVER_GH100_550.90.07"},
    {CollateralKind::kOcsp, std::string(64, '0')},
};

}  // namespace

// The request, then the encoded chain up to a zero byte, then the body.
std::vector<std::string> Seeds() {
  const std::string chain = "-----BEGIN%20CERTIFICATE-----%0AMAAA%0A-----END%20CERTIFICATE-----%0A";
  std::vector<std::string> seeds;
  for (char kind = 0; kind < static_cast<char>(std::size(kRequests)); ++kind) {
    seeds.push_back(std::string(1, kind) + chain + std::string(1, '\0') +
                    R"({"tcbInfo":{},"signature":"00"})");
    seeds.push_back(std::string(1, kind) + std::string(1, '\0') +
                    R"({"id":"NV_GPU_DRIVER_GH100_550.90.07","rim":"PA=="})");
  }
  return seeds;
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  if (size == 0) return 0;
  const auto& request = fuzz::kRequests[data[0] % std::size(fuzz::kRequests)];
  const std::string rest(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t end = rest.find('\0');
  const std::string chain = end == std::string::npos ? "" : rest.substr(0, end);
  const std::string body = end == std::string::npos ? rest : rest.substr(end + 1);
  auto item = attestation::TakeAnswer(request, body, chain);
  if (!item.ok()) return 0;
  fuzz::Require(!item->body.empty() || request.kind == attestation::CollateralKind::kNvidiaRim,
                "an item has a body");
  item->fetched = absl::FromUnixSeconds(1'780'000'000);
  // No root is known to the fuzzer, and no maker's key: nothing passes.
  fuzz::Require(!attestation::InspectCollateral(request, *item, {}, {}).ok(),
                "what no maker signed is refused");
  return 0;
}
