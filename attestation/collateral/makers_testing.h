// SPDX-License-Identifier: Apache-2.0
//
// Two makers for tests, AMD's and Intel's namesakes with keys of their own: evidence of their
// machines, and what their services would say about it at `now`.
#ifndef CARAVAN_ATTESTATION_COLLATERAL_MAKERS_TESTING_H_
#define CARAVAN_ATTESTATION_COLLATERAL_MAKERS_TESTING_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "attestation/collateral_source.h"
#include "attestation/evidence.h"
#include "attestation/intel/test_world.h"
#include "attestation/sev_snp/test_world.h"

namespace caravan::attestation {

// A Milan, Genoa or Turin, its chain under genuine names.
class AmdForTest {
 public:
  explicit AmdForTest(v1::SnpProduct product = v1::MILAN);

  EvidenceSet Evidence(bool with_chain = false);
  std::vector<CollateralRequest> Requests();  // what Evidence() needs
  CollateralItem Vcek();
  CollateralItem Chain();
  CollateralItem CrlOf(absl::Time this_update, absl::Time next_update);
  CollateralItem CrlNow() { return CrlOf(now - absl::Hours(1), now + absl::Hours(30 * 24)); }
  std::string RootDigest();  // of its root's public key
  std::string line() const { return std::string(sev_snp::AmdName(product)); }  // "Milan"

  const v1::SnpProduct product;
  caravan::attestation::TestWorld world;
  const absl::Time now = world.now;

 private:
  std::vector<std::string> Certificates();  // leaf, intermediate, root
};

struct IntelDates {
  absl::Time issue, next_update;
  int evaluation_number = 18;
};

// A TDX or SGX machine under the platform CA.
class IntelForTest {
 public:
  explicit IntelForTest(intel::WorldKind kind = intel::WorldKind::kTd10);

  EvidenceSet Evidence();
  std::vector<CollateralRequest> Requests();  // what Evidence() needs
  CollateralItem TcbInfo(IntelDates dates);
  CollateralItem TcbInfo() { return TcbInfo(Now()); }
  CollateralItem QeIdentity(IntelDates dates);
  CollateralItem QeIdentity() { return QeIdentity(Now()); }
  CollateralItem PckCrl();
  CollateralItem RootCrl();
  std::string RootDigest();
  IntelDates Now() const { return {now - absl::Hours(24), now + absl::Hours(30 * 24), 18}; }

  intel::TestWorld world;
  const absl::Time now = world.now;

 private:
  struct Made {
    std::string quote;
    Endorsements endorsements;       // the signer; root and PCK lists; TCB info, identity
    std::vector<std::string> chain;  // PCK, CA, root
  };
  Made Make();
};

}  // namespace caravan::attestation

#endif  // CARAVAN_ATTESTATION_COLLATERAL_MAKERS_TESTING_H_
