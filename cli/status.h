// SPDX-License-Identifier: Apache-2.0
//
// caravanctl status: the verdict, then sessions, communicators and the latest refusals.
#ifndef CARAVAN_CLI_STATUS_H_
#define CARAVAN_CLI_STATUS_H_

#include <string>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "proto/caravan/v1/admin.pb.h"

namespace caravan::cli {

inline constexpr char kStatusSchema[] = "caravan.status/1";

// Asks the daemon and prints. Returns the verdict's code: kOk when attested; kDegraded when
// a communicator has failed or a record's tag was wrong; kNotAttested when the daemon has no
// evidence of its own yet.
int RunStatus(const Context& context);

// Pure: the pieces of it.
ExitCode VerdictOf(const v1::GetStatusReply& reply);
std::string RenderStatus(const v1::GetStatusReply& reply, bool color);
std::string StatusDocument(const v1::GetStatusReply& reply);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_STATUS_H_
