// SPDX-License-Identifier: Apache-2.0
//
// caravanctl collateral: what verifiers need besides evidence, fetched into a folder, listed, and
// checked.
#ifndef CARAVAN_CLI_COLLATERAL_H_
#define CARAVAN_CLI_COLLATERAL_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/output.h"
#include "collateral/fetcher.h"

namespace caravan::cli {

struct CollateralOptions {
  std::string cache;                  // folder
  std::vector<std::string> evidence;  // files
  // Files that the evidence's certificates are in, where it does not carry them itself.
  std::vector<std::string> certificates;
  // Addresses; "": the makers' own.
  std::string kds_url, pcs_url, root_crl_url, rim_url, ocsp_url;
  std::string ca_file;                   // PEM, for https://; "": the system's authorities
  std::vector<std::string> extra_roots;  // SHA-256 of public keys, hexadecimal
  bool offline = false;
  bool refresh = false;  // also what still holds
  absl::Duration deadline = absl::Seconds(120);
};

// Schema caravan.collateral/1. Exit: kOk when all that the evidence needs is at hand,
// kNotVerifiable when something is missing, kTimedOut when only time was, kUsage for options and
// files that cannot be used, kNotPermitted.
int RunCollateralFetch(const Context& context, const CollateralOptions& options,
                       const collateral::World& world = collateral::World::Real());
// Everything in the folder. kOk; kUsage when it cannot be read.
int RunCollateralList(const Context& context, const CollateralOptions& options,
                      const collateral::World& world = collateral::World::Real());
// What the evidence needs, or without evidence everything in the folder; asks no service.
// kNotVerifiable when something is missing, expired or corrupted.
int RunCollateralCheck(const Context& context, const CollateralOptions& options,
                       const collateral::World& world = collateral::World::Real());

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_COLLATERAL_H_
