// SPDX-License-Identifier: Apache-2.0
//
// caravanctl sessions: list, show and close the attested channels to other nodes.
#ifndef CARAVAN_CLI_SESSIONS_H_
#define CARAVAN_CLI_SESSIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/json.h"
#include "cli/output.h"
#include "proto/caravan/v1/admin.pb.h"

namespace caravan::cli {

using SessionList = google::protobuf::RepeatedPtrField<v1::SessionInfo>;

// Schemas caravan.sessions/1, caravan.session/1, caravan.session-close/1. An `id` is the hex id of
// a session, or a prefix that no other session shares: kUsage when none or several match.
int RunSessionsList(const Context& context);
int RunSessionsShow(const Context& context, const std::string& id);
int RunSessionsClose(const Context& context, const std::string& id);

// Pure: the pieces of them.
absl::StatusOr<const v1::SessionInfo*> FindSession(const SessionList& sessions,
                                                   absl::string_view id);
std::string RenderSessions(const SessionList& sessions, int64_t now_unix_ms,
                           absl::string_view indent);
std::string RenderSession(const v1::SessionInfo& session, int64_t now_unix_ms, bool color);
void WriteSession(JsonWriter& json, const v1::SessionInfo& session);

}  // namespace caravan::cli

#endif  // CARAVAN_CLI_SESSIONS_H_
