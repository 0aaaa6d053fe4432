// SPDX-License-Identifier: Apache-2.0
#include "cli/sessions.h"

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/admin_client.h"
#include "cli/text.h"

namespace caravan::cli {
namespace {

constexpr char kListSchema[] = "caravan.sessions/1";
constexpr char kShowSchema[] = "caravan.session/1";
constexpr char kCloseSchema[] = "caravan.session-close/1";
constexpr size_t kShortId = 8;  // characters

// Ordered: a map of protobuf's has no order of its own.
std::map<std::string, std::string> Claims(const v1::SessionInfo& session) {
  return {session.claims().begin(), session.claims().end()};
}

Color ColorOf(const v1::CheckInfo& check) {
  if (check.outcome() == "passed") return Color::kGreen;
  if (check.outcome() == "failed" || check.outcome() == "missing") return Color::kRed;
  return Color::kYellow;
}

}  // namespace

absl::StatusOr<const v1::SessionInfo*> FindSession(const SessionList& sessions,
                                                   absl::string_view id) {
  const std::string wanted = absl::AsciiStrToLower(id);
  const v1::SessionInfo* found = nullptr;
  for (const auto& session : sessions) {
    if (wanted.empty() || !absl::StartsWith(session.id(), wanted)) continue;
    if (found != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", id, "\" begins more than one session's id; give more of it"));
    }
    found = &session;
  }
  if (found == nullptr)
    return absl::NotFoundError(absl::StrCat("no session has the id \"", id, "\""));
  return found;
}

std::string RenderSessions(const SessionList& sessions, int64_t now_unix_ms,
                           absl::string_view indent) {
  Table table({"ID", "PEER", "ROLE", "PLATFORM", "VERDICT", "ROUND", "EVIDENCE", "AGE"});
  for (const auto& s : sessions) {
    table.Add({s.id().substr(0, kShortId), s.peer_address(), s.role(), s.platform(), s.verdict(),
               absl::StrCat(s.round()), FormatAge(now_unix_ms - s.attested_unix_ms()),
               FormatAge(now_unix_ms - s.established_unix_ms())});
  }
  return table.empty() ? absl::StrCat(indent, "no sessions\n") : table.Render(indent);
}

std::string RenderSession(const v1::SessionInfo& session, int64_t now_unix_ms, bool color) {
  std::string out = absl::StrCat(Paint(session.insecure() ? Color::kYellow : Color::kGreen,
                                       Printable(session.verdict()), color),
                                 "  ", Printable(session.platform()), "  evidence ",
                                 FormatAge(now_unix_ms - session.attested_unix_ms()),
                                 " old  round ", session.round(), "\n");
  absl::StrAppend(&out, "session  ", Printable(session.id()), "\n");
  absl::StrAppend(&out, "peer     ", Printable(session.peer_address()), "\n");
  absl::StrAppend(&out, "key      sha256:", Printable(session.peer_spki()), "\n");
  absl::StrAppend(&out, "role     ", Printable(session.role()), "\n");
  if (session.checks_size() > 0) {
    absl::StrAppend(&out, "\n", Paint(Color::kBold, "Checks", color), "\n");
  }
  for (const auto& c : session.checks()) {
    absl::StrAppend(&out, "  ", Paint(ColorOf(c), Printable(c.outcome()), color), "  ",
                    Printable(c.what()), " [", Printable(c.id()), "]",
                    c.detail().empty() ? "" : ": ", Printable(c.detail()), "\n");
    if (!c.hint().empty()) absl::StrAppend(&out, "    hint: ", Printable(c.hint()), "\n");
  }
  if (session.claims_size() > 0) {
    Table claims({"CLAIM", "VALUE"});
    for (const auto& [key, value] : Claims(session)) claims.Add({key, value});
    absl::StrAppend(&out, "\n", claims.Render("  "));
  }
  return out;
}

void WriteSession(JsonWriter& json, const v1::SessionInfo& session) {
  json.BeginObject()
      .Member("id", session.id())
      .Member("peer_address", session.peer_address())
      .Member("peer_spki", session.peer_spki())
      .Member("role", session.role())
      .Member("round", session.round())
      .Member("established_unix_ms", session.established_unix_ms())
      .Member("attested_unix_ms", session.attested_unix_ms())
      .Member("platform", session.platform())
      .Member("verdict", session.verdict())
      .Member("insecure", session.insecure());
  json.Key("checks").BeginArray();
  for (const auto& c : session.checks()) {
    json.BeginObject()
        .Member("id", c.id())
        .Member("what", c.what())
        .Member("outcome", c.outcome())
        .Member("detail", c.detail())
        .Member("hint", c.hint())
        .EndObject();
  }
  json.EndArray().Key("claims").BeginObject();
  for (const auto& [key, value] : Claims(session)) json.Member(key, value);
  json.EndObject().EndObject();
}

int RunSessionsList(const Context& context) {
  auto client = AdminClient::Connect(context.runtime_dir, context.timeout);
  if (!client.ok()) return Fail(context, kListSchema, FailureOf(client.status(), "sessions"));
  auto reply = (*client)->ListSessions();
  if (!reply.ok()) return Fail(context, kListSchema, FailureOf(reply.status(), "sessions"));
  if (!context.json) {
    context.out << RenderSessions(reply->sessions(), reply->now_unix_ms(), "");
    return kOk;
  }
  JsonWriter json = BeginDocument(kListSchema);
  json.Member("now_unix_ms", reply->now_unix_ms()).Key("sessions").BeginArray();
  for (const auto& s : reply->sessions()) WriteSession(json, s);
  json.EndArray().EndObject();
  context.out << std::move(json).Take();
  return kOk;
}

int RunSessionsShow(const Context& context, const std::string& id) {
  constexpr char kDoing[] = "sessions show";
  auto client = AdminClient::Connect(context.runtime_dir, context.timeout);
  if (!client.ok()) return Fail(context, kShowSchema, FailureOf(client.status(), kDoing));
  auto reply = (*client)->ListSessions();
  if (!reply.ok()) return Fail(context, kShowSchema, FailureOf(reply.status(), kDoing));
  auto session = FindSession(reply->sessions(), id);
  if (!session.ok()) {
    Failure failure = FailureOf(session.status(), kDoing);
    failure.hint = "caravanctl sessions lists them";
    return Fail(context, kShowSchema, failure);
  }
  if (!context.json) {
    context.out << RenderSession(**session, reply->now_unix_ms(), context.color);
    return kOk;
  }
  JsonWriter json = BeginDocument(kShowSchema);
  json.Member("now_unix_ms", reply->now_unix_ms()).Key("session");
  WriteSession(json, **session);
  json.EndObject();
  context.out << std::move(json).Take();
  return kOk;
}

int RunSessionsClose(const Context& context, const std::string& id) {
  constexpr char kDoing[] = "sessions close";
  auto client = AdminClient::Connect(context.runtime_dir, context.timeout);
  if (!client.ok()) return Fail(context, kCloseSchema, FailureOf(client.status(), kDoing));
  if (auto status = (*client)->CloseSession(id); !status.ok()) {
    return Fail(context, kCloseSchema, FailureOf(status, kDoing));
  }
  if (!context.json) {
    context.out << "closed session " << Printable(id) << "\n";
    return kOk;
  }
  JsonWriter json = BeginDocument(kCloseSchema);
  json.Member("closed", id).EndObject();
  context.out << std::move(json).Take();
  return kOk;
}

}  // namespace caravan::cli
