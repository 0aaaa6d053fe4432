// SPDX-License-Identifier: Apache-2.0
#include "collateral/services.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "collateral/cache.h"

namespace caravan::collateral {
namespace {

using attestation::CollateralKind;
using attestation::CollateralRequest;

constexpr char kIntelRootCrl[] =
    "https://certificates.trustedservices.intel.com/IntelSGXRootCA.der";

std::string RootCrlUrl(const Services& services) {
  if (!services.root_crl.empty()) return services.root_crl;
  if (services.pcs == kIntelPcs) return kIntelRootCrl;
  return absl::StrCat(services.pcs, "/sgx/certification/v4/rootcacrl");
}

// "Milan,Genoa/<rest>": one address for each product.
std::vector<std::string> VcekUrls(const std::string& key, const Services& services) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(key, absl::MaxSplits('/', 1));
  std::vector<std::string> urls;
  for (absl::string_view product : absl::StrSplit(parts.first, ',')) {
    urls.push_back(absl::StrCat(services.kds, "/vcek/v1/", product, "/", parts.second));
  }
  return urls;
}

// "vcek/Milan" and "cert_chain".
std::string AmdUrl(const std::string& key, absl::string_view what, const Services& services) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(key, absl::MaxSplits('/', 1));
  return absl::StrCat(services.kds, "/", parts.first, "/v1/", parts.second, "/", what);
}

// "tdx/90c06f000000".
std::string TcbUrl(const std::string& key, const Services& services) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(key, absl::MaxSplits('/', 1));
  return absl::StrCat(services.pcs, "/", parts.first, "/certification/v4/tcb?fmspc=", parts.second);
}

struct Place {
  std::vector<std::string> urls;
  std::string chain_header = {};
};

Place PlaceOf(const CollateralRequest& request, const Services& services) {
  const std::string& key = request.key;
  switch (request.kind) {
    case CollateralKind::kAmdVcek:
      return {VcekUrls(key, services)};
    case CollateralKind::kAmdChain:
      return {{AmdUrl(key, "cert_chain", services)}};
    case CollateralKind::kAmdCrl:
      return {{AmdUrl(key, "crl", services)}};
    case CollateralKind::kIntelTcbInfo:
      return {{TcbUrl(key, services)}, "tcb-info-issuer-chain"};
    case CollateralKind::kIntelQeIdentity:
      return {{absl::StrCat(services.pcs, "/", key, "/certification/v4/qe/identity")},
              "sgx-enclave-identity-issuer-chain"};
    case CollateralKind::kIntelPckCrl:
      return {
          {absl::StrCat(services.pcs, "/sgx/certification/v4/pckcrl?ca=", key, "&encoding=der")},
          "sgx-pck-crl-issuer-chain"};
    case CollateralKind::kIntelRootCrl:
      return {{RootCrlUrl(services)}};
    case CollateralKind::kNvidiaRim:
      return {{absl::StrCat(services.rim, "/", key)}};
    case CollateralKind::kOcsp:
      return {{services.ocsp}};
  }
  return {};
}

}  // namespace

absl::Status CheckServices(const Services& services) {
  const std::pair<const char*, const std::string&> addresses[] = {
      {"kds", services.kds}, {"pcs", services.pcs},   {"root crl", services.root_crl},
      {"rim", services.rim}, {"ocsp", services.ocsp},
  };
  for (const auto& [name, url] : addresses) {
    if (url.empty() && &url == &services.root_crl) continue;
    if ((absl::StartsWith(url, "https://") || absl::StartsWith(url, "http://")) &&
        !absl::EndsWith(url, "/")) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(name, " url \"", absl::CHexEscape(url),
                     "\": expected http:// or https://, and no slash at the end"));
  }
  return absl::OkStatus();
}

std::vector<Call> CallsFor(const CollateralRequest& request, const Services& services) {
  const Place place = PlaceOf(request, services);
  std::vector<Call> calls;
  for (const std::string& url : place.urls) {
    Call call;
    call.request.url = url;
    call.request.ca_file = services.ca_file;
    call.request.max_body = kMaxItemBytes;
    call.chain_header = place.chain_header;
    if (request.kind == CollateralKind::kOcsp) {
      call.request.post = true;
      call.request.body = request.post;
      call.request.headers = {"Content-Type: application/ocsp-request",
                              "Accept: application/ocsp-response"};
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace caravan::collateral
