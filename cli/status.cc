// SPDX-License-Identifier: Apache-2.0
#include "cli/status.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/admin_client.h"
#include "cli/json.h"
#include "cli/sessions.h"
#include "cli/text.h"

namespace caravan::cli {
namespace {

absl::string_view VerdictWord(ExitCode verdict) {
  return verdict == kOk ? "attested" : verdict == kDegraded ? "degraded" : "not attested yet";
}

// "demo@sha256:ab12…": enough to recognise it; JSON has all of it.
std::string ShortPolicy(const std::string& policy) {
  const size_t digest = policy.find("@sha256:");
  if (digest == std::string::npos) return policy;
  const size_t start = digest + sizeof("@sha256:") - 1;
  return policy.substr(0, start) + Shorten(absl::string_view(policy).substr(start), 4);
}

std::string Count(uint64_t n, absl::string_view one) {
  return absl::StrCat(n, " ", one, n == 1 ? "" : "s");
}

std::string VerdictLine(const v1::GetStatusReply& reply, bool color) {
  const ExitCode verdict = VerdictOf(reply);
  const Color paint = verdict != kOk     ? Color::kRed
                      : reply.insecure() ? Color::kYellow
                                         : Color::kGreen;
  std::string line = Paint(paint, VerdictWord(verdict), color);
  absl::StrAppend(&line, "  ", Printable(reply.attester()), "  policy ",
                  Printable(ShortPolicy(reply.policy())));
  // The oldest is the one that says least about now.
  int64_t oldest = reply.now_unix_ms();
  for (const auto& s : reply.sessions()) oldest = std::min<int64_t>(oldest, s.attested_unix_ms());
  if (reply.sessions_size() > 0) {
    absl::StrAppend(&line, "  evidence ", FormatAge(reply.now_unix_ms() - oldest), " old");
  }
  absl::StrAppend(&line, "  ", Count(static_cast<uint64_t>(reply.sessions_size()), "session"),
                  "\n");
  return line;
}

// Equal in print does not mean equal: then both are shown to the byte.
std::string Counted(uint64_t counted, uint64_t expected) {
  std::string a = FormatBytes(counted);
  std::string b = FormatBytes(expected);
  if (counted != expected && a == b) return absl::StrCat(counted, " B (", expected, " B)");
  return absl::StrCat(a, " (", b, ")");
}

// "2 of 4", or "2-3 of 4" where the node has several.
std::string Ranks(const v1::CommunicatorInfo& c) {
  const std::string last =
      c.ranks_here() > 1 ? absl::StrCat("-", c.rank() + c.ranks_here() - 1) : "";
  return absl::StrCat(c.rank(), last, " of ", c.size());
}

std::string RenderCommunicators(const v1::GetStatusReply& reply, bool color) {
  Table table({"NAME", "RANK", "SUITE", "OPERATIONS", "SEALED (EXPECTED)", "OPENED (EXPECTED)",
               "FORWARDED (EXPECTED)", "SENT (EXPECTED)", "BAD TAGS"});
  std::string failures;
  for (const auto& c : reply.communicators()) {
    table.Add({c.name(), Ranks(c), c.suite(), absl::StrCat(c.operations()),
               Counted(c.sealed_bytes(), c.expected_sealed_bytes()),
               Counted(c.opened_bytes(), c.expected_opened_bytes()),
               Counted(c.forwarded_bytes(), c.expected_forwarded_bytes()),
               Counted(c.sent_bytes(), c.expected_sent_bytes()), absl::StrCat(c.tag_failures())});
    if (!c.failure().empty()) {
      absl::StrAppend(&failures, "  ", Paint(Color::kRed, "failed", color), "  ",
                      Printable(c.name()), ": ", Printable(c.failure()), "\n");
    }
  }
  if (table.empty()) return "";
  return absl::StrCat("\n", Paint(Color::kBold, "Communicators", color), "\n", table.Render("  "),
                      failures);
}

std::string RenderRefusals(const v1::GetStatusReply& reply, bool color) {
  if (reply.refused() == 0) return "";
  Table table({"AGE", "PEER", "REASON"});
  for (const auto& r : reply.refusals()) {
    table.Add({FormatAge(reply.now_unix_ms() - r.unix_ms()), r.peer_address(), r.reason()});
  }
  return absl::StrCat("\n", Paint(Color::kBold, "Refused", color), "  ",
                      Count(reply.refused(), "handshake"), " since the start\n",
                      table.empty() ? "" : table.Render("  "));
}

void WriteCommunicator(JsonWriter& json, const v1::CommunicatorInfo& c) {
  json.BeginObject()
      .Member("name", c.name())
      .Member("epoch", c.epoch())
      .Member("rank", c.rank())
      .Member("ranks_here", std::max<uint32_t>(c.ranks_here(), 1))
      .Member("size", c.size())
      .Member("suite", c.suite())
      .Member("operations", c.operations());
  json.Key("counted")
      .BeginObject()
      .Member("sealed_bytes", c.sealed_bytes())
      .Member("opened_bytes", c.opened_bytes())
      .Member("forwarded_bytes", c.forwarded_bytes())
      .Member("sent_bytes", c.sent_bytes())
      .Member("received_bytes", c.received_bytes())
      .EndObject();
  json.Key("expected")
      .BeginObject()
      .Member("sealed_bytes", c.expected_sealed_bytes())
      .Member("opened_bytes", c.expected_opened_bytes())
      .Member("forwarded_bytes", c.expected_forwarded_bytes())
      .Member("sent_bytes", c.expected_sent_bytes())
      .EndObject();
  json.Member("tag_failures", c.tag_failures())
      .Member("memory_bytes", c.memory_bytes())
      .Member("failure", c.failure())
      .EndObject();
}

}  // namespace

ExitCode VerdictOf(const v1::GetStatusReply& reply) {
  if (reply.measurement().empty()) return kNotAttested;
  for (const auto& c : reply.communicators()) {
    if (!c.failure().empty() || c.tag_failures() != 0) return kDegraded;
  }
  return kOk;
}

std::string RenderStatus(const v1::GetStatusReply& reply, bool color) {
  std::string out = VerdictLine(reply, color);
  absl::StrAppend(&out, "node ", Printable(reply.node()), "  control ",
                  Printable(reply.control_address()), "  data ", Printable(reply.data_address()),
                  "  ", Count(reply.applications(), "application"), "  up ",
                  FormatAge(reply.now_unix_ms() - reply.started_unix_ms()), "  version ",
                  Printable(reply.version()), "\n");
  if (reply.sessions_size() > 0) {
    absl::StrAppend(&out, "\n", Paint(Color::kBold, "Sessions", color), "\n",
                    RenderSessions(reply.sessions(), reply.now_unix_ms(), "  "));
  }
  absl::StrAppend(&out, RenderCommunicators(reply, color), RenderRefusals(reply, color));
  return out;
}

std::string StatusDocument(const v1::GetStatusReply& reply) {
  JsonWriter json = BeginDocument(kStatusSchema);
  json.Member("verdict", VerdictWord(VerdictOf(reply)))
      .Member("node", reply.node())
      .Member("version", reply.version())
      .Member("attester", reply.attester())
      .Member("insecure", reply.insecure())
      .Member("policy", reply.policy())
      .Member("spki", reply.spki())
      .Member("measurement", reply.measurement())
      .Member("control_address", reply.control_address())
      .Member("data_address", reply.data_address())
      .Member("started_unix_ms", reply.started_unix_ms())
      .Member("now_unix_ms", reply.now_unix_ms())
      .Member("applications", reply.applications());
  json.Key("sessions").BeginArray();
  for (const auto& s : reply.sessions()) WriteSession(json, s);
  json.EndArray().Key("communicators").BeginArray();
  for (const auto& c : reply.communicators()) WriteCommunicator(json, c);
  json.EndArray().Member("refused", reply.refused()).Key("refusals").BeginArray();
  for (const auto& r : reply.refusals()) {
    json.BeginObject()
        .Member("unix_ms", r.unix_ms())
        .Member("peer_address", r.peer_address())
        .Member("reason", r.reason())
        .EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Take();
}

int RunStatus(const Context& context) {
  auto client = AdminClient::Connect(context.runtime_dir, context.timeout);
  if (!client.ok()) return Fail(context, kStatusSchema, FailureOf(client.status(), "status"));
  auto reply = (*client)->GetStatus();
  if (!reply.ok()) return Fail(context, kStatusSchema, FailureOf(reply.status(), "status"));
  context.out << (context.json ? StatusDocument(*reply) : RenderStatus(*reply, context.color));
  return VerdictOf(*reply);
}

}  // namespace caravan::cli
