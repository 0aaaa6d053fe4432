// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attestation/collateral/inspect_maker.h"
#include "attestation/evidence.h"
#include "attestation/pem.h"
#include "base/hex.h"

namespace caravan::attestation {
namespace {

constexpr size_t kMaxSteps = 6;  // from a leaf to its root

}  // namespace

SignerPool::SignerPool(const std::string& issuer_chain, const std::vector<std::string>& issuers,
                       const std::vector<std::string>& extra_roots)
    : extra_roots_(extra_roots) {
  const auto add = [this](const std::string& der) {
    absl::StatusOr<Certificate> certificate = Certificate::Parse(der);
    if (certificate.ok()) certificates_.push_back(*std::move(certificate));
  };
  absl::StatusOr<std::vector<PemBlock>> blocks = ReadPem(issuer_chain, kMaxCertificates);
  for (size_t i = 0; blocks.ok() && i < blocks->size(); ++i) add((*blocks)[i].bytes);
  chain_size_ = certificates_.size();
  for (const std::string& der : issuers) add(der);
}

SignerPool SignerPool::With(const std::vector<std::string>& chain) const {
  SignerPool pool("", chain, extra_roots_);
  pool.chain_size_ = pool.certificates_.size();
  pool.certificates_.insert(pool.certificates_.end(), certificates_.begin(), certificates_.end());
  return pool;
}

bool SignerPool::IsRoot(const Certificate& certificate, const IsMakersRoot& is_makers) const {
  if (!certificate.IsSelfIssued()) return false;
  const std::string digest = base::ToHex(certificate.SpkiSha256());
  return is_makers(digest) ||
         std::find(extra_roots_.begin(), extra_roots_.end(), digest) != extra_roots_.end();
}

absl::StatusOr<std::vector<Certificate>> SignerPool::Climb(const Certificate& child,
                                                           SignatureSuite suite,
                                                           const IsMakersRoot& is_makers) const {
  std::vector<Certificate> chain;
  Certificate at = child;
  while (chain.size() < kMaxSteps) {
    const auto issuer =
        std::find_if(certificates_.begin(), certificates_.end(), [&](const Certificate& other) {
          return at.IsIssuedInNameOf(other) &&
                 other.CheckIsCa(static_cast<int>(chain.size())).ok() &&
                 at.CheckSignedBy(other, suite).ok();
        });
    if (issuer == certificates_.end()) {
      return absl::UnauthenticatedError(
          absl::StrCat("no certificate at hand signed ", at.Describe()));
    }
    chain.push_back(*issuer);
    if (issuer->IsSelfIssued()) {
      if (IsRoot(*issuer, is_makers)) return chain;
      return absl::UnauthenticatedError(
          absl::StrCat(issuer->Describe(), " has the key of no known root"));
    }
    at = *issuer;
  }
  return absl::UnauthenticatedError(
      absl::StrCat(child.Describe(), " is over ", kMaxSteps, " certificates away from a root"));
}

absl::Time SignerPool::chain_end() const {
  absl::Time end = absl::InfiniteFuture();
  for (size_t i = 0; i < chain_size_; ++i) end = std::min(end, certificates_[i].not_after());
  return end;
}

}  // namespace caravan::attestation
