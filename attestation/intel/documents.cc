// SPDX-License-Identifier: Apache-2.0
#include "attestation/intel/documents.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "attestation/ecdsa.h"
#include "base/hex.h"
#include "crypto/hash.h"

namespace caravan::attestation::intel {
namespace {

std::string FormatUtc(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

bool HoldsAt(const Validity& validity, absl::Time now) {
  return validity.issue_date <= now && now <= validity.next_update;
}

template <typename Statement>
struct Candidate {
  Statement statement;
  SignedDocument document;
};

template <typename Statement>
struct Found {
  std::optional<Candidate<Statement>> best;
  std::string other;      // describes one for something else
  std::string malformed;  // why one could not be read
};

// The texts and ids of one kind of statement.
struct Words {
  const char* id;  // of the checks: "TCB_INFO" gives TCB_INFO, TCB_INFO_SIGNATURE, TCB_INFO_TIME
  const char* name;
  const char* claim;
  std::string wanted;
  std::string hint;
};

class DocumentChecker {
 public:
  DocumentChecker(bool tdx, const Chain& chain, const v1::IntelPlatformPolicy& policy,
                  absl::Time now, Findings* findings)
      : tdx_(tdx), chain_(chain), policy_(policy), now_(now), findings_(*findings) {}

  void Take(SignedDocument document) {
    if (document.name == "tcbInfo") {
      TakeTcbInfo(std::move(document));
    } else {
      TakeIdentity(std::move(document));
    }
  }

  Documents Check() {
    const std::string fmspc = base::ToHex(chain_.pck->fmspc);
    const char* kind = tdx_ ? "tdx" : "sgx";
    const Words info{
        "TCB_INFO", "TCB info", "tcb_evaluation_number",
        absl::StrCat(kind, " with FMSPC ", fmspc, " and PCE id ", base::ToHex(chain_.pck->pce_id)),
        absl::StrCat("bring https://api.trustedservices.intel.com/", kind,
                     "/certification/v4/tcb?fmspc=", fmspc)};
    const Words identity{"QE_IDENTITY", "QE identity", "qe_evaluation_number", WantedIdentity(),
                         absl::StrCat("bring https://api.trustedservices.intel.com/", kind,
                                      "/certification/v4/qe/identity")};
    Documents documents;
    documents.tcb_info = CheckOne(info, tcb_info_, &documents);
    documents.identity = CheckOne(identity, identity_, &documents);
    return documents;
  }

 private:
  std::string WantedIdentity() const { return tdx_ ? "TD_QE" : "QE"; }

  void TakeTcbInfo(SignedDocument document) {
    absl::StatusOr<TcbInfo> info = ParseTcbInfo(document.body);
    if (!info.ok()) {
      tcb_info_.malformed = std::string(info.status().message());
    } else if (info->tdx != tdx_ || info->fmspc != chain_.pck->fmspc ||
               info->pce_id != chain_.pck->pce_id) {
      tcb_info_.other =
          absl::StrCat(info->tdx ? "tdx" : "sgx", " with FMSPC ", base::ToHex(info->fmspc),
                       " and PCE id ", base::ToHex(info->pce_id));
    } else {
      Offer(*std::move(info), std::move(document), &tcb_info_);
    }
  }

  void TakeIdentity(SignedDocument document) {
    absl::StatusOr<EnclaveIdentity> identity = ParseEnclaveIdentity(document.body);
    if (!identity.ok()) {
      identity_.malformed = std::string(identity.status().message());
    } else if (identity->id != WantedIdentity()) {
      identity_.other = absl::CHexEscape(identity->id);
    } else {
      Offer(*std::move(identity), std::move(document), &identity_);
    }
  }

  template <typename Statement>
  void Offer(Statement statement, SignedDocument document, Found<Statement>* found) {
    const auto rank = [this](const Validity& validity) {
      return std::make_tuple(HoldsAt(validity, now_), validity.evaluation_number,
                             validity.issue_date);
    };
    if (found->best.has_value() &&
        rank(found->best->statement.validity) >= rank(statement.validity)) {
      return;
    }
    found->best = Candidate<Statement>{std::move(statement), std::move(document)};
  }

  template <typename Statement>
  std::optional<Statement> CheckOne(const Words& words, const Found<Statement>& found,
                                    Documents* documents) {
    const std::string what = absl::StrCat(words.name, " for this platform is at hand");
    if (!found.best.has_value()) {
      if (!found.other.empty()) {
        findings_.Fail(
            words.id, what,
            absl::StrCat(words.name, " is for ", found.other, ", the quote needs ", words.wanted),
            words.hint);
      } else {
        findings_.Missing(words.id, what,
                          found.malformed.empty()
                              ? absl::StrCat("no ", words.name, " for ", words.wanted)
                              : absl::StrCat(words.name, " cannot be read: ", found.malformed),
                          words.hint);
      }
      return std::nullopt;
    }
    findings_.Pass(words.id, what, words.wanted);
    const Candidate<Statement>& best = *found.best;
    if (!CheckSignature(words, best.document, documents)) return std::nullopt;
    CheckTime(words, best.statement.validity);
    CheckEvaluationNumber(words, best.statement.validity);
    return best.statement;
  }

  bool CheckSignature(const Words& words, const SignedDocument& document, Documents* documents) {
    const std::string id = absl::StrCat(words.id, "_SIGNATURE");
    const std::string what = absl::StrCat(words.name, " is Intel's, byte for byte");
    if (chain_.signers.empty()) {
      findings_.Missing(id, what,
                        "no valid TCB signing certificate of the root is among the certificates",
                        "bring the issuer chain that came with the document");
      return false;
    }
    for (const Certificate& signer : chain_.signers) {
      if (!CheckEcdsa(Curve::kP256, signer.public_key(), document.signature, document.body).ok()) {
        continue;
      }
      findings_.Pass(id, what, signer.Describe());
      documents->signers.push_back(signer);
      return true;
    }
    findings_.Fail(id, what,
                   absl::StrCat("the signature over \"", document.name,
                                "\" verifies under no TCB signing certificate"),
                   "fetch it anew; it has to stay as it came, to the byte");
    return false;
  }

  void CheckTime(const Words& words, const Validity& validity) {
    const std::string id = absl::StrCat(words.id, "_TIME");
    const std::string what = absl::StrCat(words.name, " holds now");
    const std::string detail = absl::StrCat("holds from ", FormatUtc(validity.issue_date), " to ",
                                            FormatUtc(validity.next_update));
    if (HoldsAt(validity, now_)) {
      findings_.Pass(id, what, detail);
    } else {
      findings_.Missing(id, what,
                        absl::StrCat(words.name, " ", detail, ", not at ", FormatUtc(now_)),
                        words.hint);
    }
  }

  void CheckEvaluationNumber(const Words& words, const Validity& validity) {
    const std::string id = absl::StrCat(words.id, "_EVALUATION");
    const std::string what = absl::StrCat(words.name, " is no older than the policy wants");
    findings_.claim(words.claim) = absl::StrCat(validity.evaluation_number);
    if (policy_.any_tcb_evaluation_number()) {
      findings_.Skip(id, what, "the policy takes any TCB evaluation number");
      return;
    }
    findings_.Require(validity.evaluation_number >= policy_.min_tcb_evaluation_number(), id, what,
                      absl::StrCat("TCB evaluation number ", validity.evaluation_number,
                                   ", policy wants >= ", policy_.min_tcb_evaluation_number()),
                      "older collateral is played back, or update=early is needed at the fetch");
  }

  const bool tdx_;
  const Chain& chain_;
  const v1::IntelPlatformPolicy& policy_;
  const absl::Time now_;
  Findings& findings_;
  Found<TcbInfo> tcb_info_;
  Found<EnclaveIdentity> identity_;
};

}  // namespace

Documents CheckDocuments(bool tdx, const Chain& chain, const Endorsements& endorsements,
                         const v1::IntelPlatformPolicy& policy, absl::Time now,
                         Findings* findings) {
  DocumentChecker checker(tdx, chain, policy, now, findings);
  for (size_t i = 0; i < endorsements.documents.size(); ++i) {
    absl::StatusOr<SignedDocument> document = ParseSignedDocument(endorsements.documents[i]);
    if (document.ok()) {
      checker.Take(*std::move(document));
    } else if (!absl::IsNotFound(document.status())) {
      findings->Warn("COLLATERAL_FORM", "collateral is well formed",
                     absl::StrCat("document ", i, ": ", document.status().message()),
                     "remove or replace it");
    }
  }
  return checker.Check();
}

}  // namespace caravan::attestation::intel
