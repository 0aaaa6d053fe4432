// SPDX-License-Identifier: Apache-2.0
//
// Whole command lines against a fake Admin service: what is printed, and every exit code.
#include "cli/command_line.h"

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/fake_admin.h"
#include "collective/cost/selector.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simdjson.h"

namespace caravan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kNow = 1'800'000'000'000;

class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() : admin_(FakeAdmin::Start()) {
    v1::GetStatusReply& status = admin_->status;
    status.set_node("node-a");
    status.set_version("0.1.0");
    status.set_attester("insecure-software");
    status.set_policy("demo@sha256:ab12cd34ef");
    status.set_insecure(true);
    status.set_spki("5b71");
    status.set_measurement("6d65");
    status.set_control_address("10.0.0.1:7400");
    status.set_data_address("10.0.0.1:7401");
    status.set_now_unix_ms(kNow);
    status.set_started_unix_ms(kNow - 3'700'000);
    for (const char* id : {"aa01ff00", "aa02ff00", "bb03ff00"}) {
      v1::SessionInfo* s = status.add_sessions();
      s->set_id(id);
      s->set_peer_address("10.0.0.2:7400");
      s->set_role("initiator");
      s->set_platform("insecure-software");
      s->set_verdict("warning");
      s->set_insecure(true);
      s->set_attested_unix_ms(kNow - 41'000);
      s->set_established_unix_ms(kNow - 50'000);
    }
    v1::CheckInfo* check = status.mutable_sessions(2)->add_checks();
    check->set_id("SNP_DEBUG");
    check->set_what("debug is off");
    check->set_outcome("passed");
    (*status.mutable_sessions(2)->mutable_claims())["measurement"] = "6d65";
    v1::CommunicatorInfo* c = status.add_communicators();
    c->set_name("train");
    c->set_rank(1);
    c->set_size(4);
    c->set_suite("AES_256_GCM/ipsec-mb");
    c->set_operations(12);
    c->set_sealed_bytes(4 << 20);
    c->set_expected_sealed_bytes(4 << 20);
    c->set_opened_bytes(6 << 20);
    c->set_expected_opened_bytes((6 << 20) + 1);
  }

  int Run(std::vector<std::string> arguments, bool color = false) {
    out_.str("");
    err_.str("");
    Context context{out_, err_};
    context.color = color;
    arguments.insert(arguments.end(), {"--runtime-dir", admin_->runtime_dir()});
    return RunCommandLine(arguments, context);
  }

  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  // The value at a JSON pointer of what was printed: one document, the whole of it.
  std::string At(const std::string& pointer) {
    simdjson::dom::element value;
    const auto error = parser_.parse(out()).at_pointer(pointer).get(value);
    return error ? std::string("none: ") + simdjson::error_message(error) : simdjson::minify(value);
  }

  std::unique_ptr<FakeAdmin> admin_;
  std::ostringstream out_;
  std::ostringstream err_;
  simdjson::dom::parser parser_;
};

TEST_F(CommandLineTest, IsStatusWithoutACommand) {
  ASSERT_EQ(Run({}), kOk);
  const std::string alone = out();
  ASSERT_EQ(Run({"status"}), kOk);
  EXPECT_EQ(alone, out());
  EXPECT_EQ(err(), "");
}

TEST_F(CommandLineTest, BeginsStatusWithTheVerdict) {
  ASSERT_EQ(Run({"status"}), kOk);
  EXPECT_THAT(out(), StartsWith("attested  insecure-software  policy demo@sha256:ab12…  "
                                "evidence 41s old  3 sessions\n"
                                "node node-a  control 10.0.0.1:7400  data 10.0.0.1:7401  "
                                "0 applications  up 61m  version 0.1.0\n"));
}

TEST_F(CommandLineTest, ShowsCountedAgainstExpectedBytes) {
  ASSERT_EQ(Run({"status"}), kOk);
  EXPECT_THAT(out(), HasSubstr("  train  1 of 4  AES_256_GCM/ipsec-mb  12          "
                               "4.0 MiB (4.0 MiB)  6291456 B (6291457 B)  0 B (0 B)"));
}

TEST_F(CommandLineTest, ShowsWhoWasRefusedAndWhy) {
  admin_->status.set_refused(7);
  v1::RefusalInfo* refusal = admin_->status.add_refusals();
  refusal->set_unix_ms(kNow - 5'000);
  refusal->set_peer_address("10.0.0.9:1");
  refusal->set_reason("measurement 11… is not listed\x1b[2J [SNP_MEASUREMENT]");
  ASSERT_EQ(Run({"status"}), kOk);
  EXPECT_THAT(out(), HasSubstr("Refused  7 handshakes since the start\n"));
  // A peer's text never drives the terminal.
  EXPECT_THAT(out(), HasSubstr("5s   10.0.0.9:1  measurement 11… is not listed?[2J"));
}

TEST_F(CommandLineTest, ColoursOnlyWhereAsked) {
  Run({"status"});
  EXPECT_THAT(out(), Not(HasSubstr("\x1b")));
  Run({"status"}, /*color=*/true);
  EXPECT_THAT(out(), StartsWith("\x1b[33mattested\x1b[0m"));
  Run({"status", "-o", "json"}, /*color=*/true);
  EXPECT_THAT(out(), Not(HasSubstr("\x1b")));
}

TEST_F(CommandLineTest, PrintsStatusAsOneDocument) {
  ASSERT_EQ(Run({"status", "-o", "json"}), kOk);
  EXPECT_EQ(At("/schema"), "\"caravan.status/1\"");
  EXPECT_EQ(At("/verdict"), "\"attested\"");
  EXPECT_EQ(At("/policy"), "\"demo@sha256:ab12cd34ef\"");
  EXPECT_EQ(At("/sessions/2/checks/0/id"), "\"SNP_DEBUG\"");
  EXPECT_EQ(At("/sessions/2/claims/measurement"), "\"6d65\"");
  EXPECT_EQ(At("/communicators/0/counted/opened_bytes"), "6291456");
  EXPECT_EQ(At("/communicators/0/expected/opened_bytes"), "6291457");
  EXPECT_EQ(At("/now_unix_ms"), "1800000000000");
  EXPECT_EQ(At("/refusals"), "[]");
}

TEST_F(CommandLineTest, IsDegradedWhenACommunicatorHasFailed) {
  admin_->status.mutable_communicators(0)->set_failure("rank 2: tag mismatch");
  EXPECT_EQ(Run({"status"}), kDegraded);
  EXPECT_THAT(out(), StartsWith("degraded  "));
  EXPECT_THAT(out(), HasSubstr("failed  train: rank 2: tag mismatch\n"));
}

TEST_F(CommandLineTest, IsDegradedWhenATagWasWrong) {
  admin_->status.mutable_communicators(0)->set_tag_failures(1);
  EXPECT_EQ(Run({}), kDegraded);
}

TEST_F(CommandLineTest, SaysWhenThereIsNoEvidenceYet) {
  admin_->status.clear_measurement();
  admin_->status.clear_sessions();
  EXPECT_EQ(Run({"status"}), kNotAttested);
  EXPECT_THAT(out(), StartsWith("not attested yet  insecure-software"));
  EXPECT_THAT(out(), Not(HasSubstr("evidence")));
}

TEST_F(CommandLineTest, ListsSessions) {
  ASSERT_EQ(Run({"sessions"}), kOk);
  const std::string alone = out();
  EXPECT_THAT(alone, HasSubstr("bb03ff00  10.0.0.2:7400  initiator"));
  ASSERT_EQ(Run({"sessions", "list"}), kOk);
  EXPECT_EQ(out(), alone);
  ASSERT_EQ(Run({"sessions", "list", "-o", "json"}), kOk);
  EXPECT_EQ(At("/schema"), "\"caravan.sessions/1\"");
  EXPECT_EQ(At("/sessions/1/id"), "\"aa02ff00\"");
  admin_->status.clear_sessions();
  ASSERT_EQ(Run({"sessions"}), kOk);
  EXPECT_EQ(out(), "no sessions\n");
}

TEST_F(CommandLineTest, ShowsASessionByTheBeginningOfItsId) {
  ASSERT_EQ(Run({"sessions", "show", "BB"}), kOk);
  EXPECT_THAT(out(), HasSubstr("session  bb03ff00\n"));
  EXPECT_THAT(out(), HasSubstr("  passed  debug is off [SNP_DEBUG]\n"));
  ASSERT_EQ(Run({"sessions", "show", "bb", "-o", "json"}), kOk);
  EXPECT_EQ(At("/schema"), "\"caravan.session/1\"");
  EXPECT_EQ(At("/session/id"), "\"bb03ff00\"");
}

TEST_F(CommandLineTest, RefusesIdsOfNoneOrSeveral) {
  EXPECT_EQ(Run({"sessions", "show", "aa"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("more than one session's id"));
  EXPECT_EQ(Run({"sessions", "show", "cc"}), kUsage);
  EXPECT_EQ(err(),
            "caravanctl: sessions show: no session has the id \"cc\" [NOT_FOUND]\n"
            "hint: caravanctl sessions lists them\n");
  EXPECT_EQ(Run({"sessions", "show"}), kUsage);
}

TEST_F(CommandLineTest, ClosesASession) {
  ASSERT_EQ(Run({"sessions", "close", "bb03"}), kOk);
  EXPECT_EQ(admin_->closed, std::vector<std::string>{"bb03"});
  EXPECT_EQ(out(), "closed session bb03\n");
}

TEST_F(CommandLineTest, SaysThatNoDaemonListens) {
  out_.str("");
  err_.str("");
  EXPECT_EQ(RunCommandLine({"status", "-o", "json", "--runtime-dir", "/nonexistent"},
                           Context{out_, err_}),
            kUnreachable);
  EXPECT_EQ(At("/schema"), "\"caravan.status/1\"");
  EXPECT_EQ(At("/error/code"), "\"UNAVAILABLE\"");
  EXPECT_THAT(err(), StartsWith("caravanctl: status: /nonexistent/admin.sock: No such file or "
                                "directory [UNAVAILABLE]\nhint: is caravand running?"));
}

struct ErrorCase {
  absl::StatusCode code;
  int exit;
};

class DaemonErrorTest : public CommandLineTest, public ::testing::WithParamInterface<ErrorCase> {};

TEST_P(DaemonErrorTest, HasItsExitCodeInBothForms) {
  admin_->error = absl::Status(GetParam().code, "what was wrong");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"status"}, {"sessions"}, {"sessions", "close", "aa01"}}) {
    EXPECT_EQ(Run(command), GetParam().exit);
    EXPECT_EQ(out(), "");
    const std::string code = absl::StatusCodeToString(GetParam().code);
    EXPECT_THAT(err(), HasSubstr(": what was wrong [" + code + "]\n"));
    std::vector<std::string> json = command;
    json.push_back("--output=json");
    EXPECT_EQ(Run(json), GetParam().exit);
    EXPECT_EQ(At("/error/code"), "\"" + code + "\"");
  }
}

INSTANTIATE_TEST_SUITE_P(CommandLine, DaemonErrorTest,
                         ::testing::Values(ErrorCase{absl::StatusCode::kInternal, 1},
                                           ErrorCase{absl::StatusCode::kInvalidArgument, 2},
                                           ErrorCase{absl::StatusCode::kNotFound, 2},
                                           ErrorCase{absl::StatusCode::kUnavailable, 3},
                                           ErrorCase{absl::StatusCode::kPermissionDenied, 6},
                                           ErrorCase{absl::StatusCode::kUnauthenticated, 6},
                                           ErrorCase{absl::StatusCode::kDeadlineExceeded, 7},
                                           ErrorCase{absl::StatusCode::kFailedPrecondition, 8}));

TEST_F(CommandLineTest, TimesOut) {
  admin_->answers = false;
  EXPECT_EQ(Run({"status", "--timeout", "0.05"}), kTimedOut);
}

TEST_F(CommandLineTest, RefusesWhatItDoesNotKnow) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"dance"},
                                                    {"--frobnicate"},
                                                    {"-o", "xml"},
                                                    {"config"},
                                                    {"--timeout", "0"},
                                                    {"sessions", "dance"}}) {
    EXPECT_EQ(Run(arguments), kUsage);
    EXPECT_EQ(out(), "");
    EXPECT_THAT(err(), StartsWith("caravanctl: "));
    EXPECT_THAT(err(), HasSubstr(" [USAGE]\nhint: "));
  }
  EXPECT_EQ(Run({"dance", "-o", "json"}), kUsage);
  EXPECT_EQ(At("/schema"), "\"caravan.error/1\"");
  EXPECT_EQ(At("/error/code"), "\"USAGE\"");
}

TEST_F(CommandLineTest, HelpsOnStdout) {
  EXPECT_EQ(Run({"--help"}), kOk);
  for (const char* word : {"status", "sessions", "config", "version", "9 could not verify"}) {
    EXPECT_THAT(out(), HasSubstr(word));
  }
  EXPECT_EQ(Run({"sessions", "--help"}), kOk);
  EXPECT_THAT(out(), HasSubstr("close"));
  EXPECT_EQ(err(), "");
}

TEST_F(CommandLineTest, TellsItsVersion) {
  EXPECT_EQ(Run({"version"}), kOk);
  EXPECT_EQ(out(), "caravanctl 0.1.0\n");
  EXPECT_EQ(Run({"version", "-o", "json"}), kOk);
  EXPECT_EQ(At("/version"), "\"0.1.0\"");
}

TEST_F(CommandLineTest, ExplainsPlans) {
  EXPECT_EQ(
      Run({"plan", "explain", "allgather", "--bytes", "1048576", "--ranks", "4", "-o", "json"}),
      kOk);
  EXPECT_EQ(At("/operation"), "\"allgather\"");
  EXPECT_EQ(At("/ranks"), "4");
  EXPECT_EQ(At("/count"), "262144");
  EXPECT_EQ(Run({"plan", "explain", "--rate", "latency_ns=1e7", "--rate",
                 "link_bytes_per_second=1e10", "--bytes", "65536", "--ranks", "4", "-o", "json"}),
            kOk);
  EXPECT_EQ(At("/chosen/algorithm"), "\"one-shot\"");
  EXPECT_EQ(Run({"plan", "explain", "dance"}), kUsage);
  EXPECT_EQ(Run({"plan"}), kUsage);
}

TEST_F(CommandLineTest, ExplainsPlansByWhatADaemonMeasuredAndAgreed) {
  (*admin_->status.mutable_rates())["key_ns"] = 77;
  v1::CommunicatorInfo* info = admin_->status.add_communicators();
  info->set_name("fine-tune");
  info->set_size(6);
  info->set_selector_table(collective::Canonical(
      {{collective::Operation::kAllReduce, UINT64_MAX, 6, collective::Algorithm::kRing}}));
  EXPECT_EQ(Run({"plan", "explain", "--measured", "-o", "json"}), kOk);
  EXPECT_EQ(At("/rates/key_ns"), "77");
  EXPECT_EQ(At("/ranks"), "2");
  EXPECT_EQ(Run({"plan", "explain", "--communicator", "fine-tune", "-o", "json"}), kOk) << err();
  EXPECT_EQ(At("/ranks"), "6");
  EXPECT_EQ(At("/chosen/algorithm"), "\"ring\"");
  EXPECT_NE(Run({"plan", "explain", "--communicator", "other"}), kOk);
  EXPECT_THAT(err(), HasSubstr("has no communicator \"other\""));
}

TEST_F(CommandLineTest, MakesARootAndReadsPolicies) {
  const std::string folder = ::testing::TempDir() + "/insecure-root";
  EXPECT_EQ(Run({"insecure-root", "create", folder}), kOk);
  EXPECT_EQ(Run({"insecure-root", "create", folder}), kUsage);
  const std::string file = ::testing::TempDir() + "/policy.textproto";
  std::ofstream(file) << "no_such_field: 1\n";
  for (const char* command : {"check", "explain"}) {
    EXPECT_EQ(Run({"policy", command, file, "-o", "json"}), kUsage);
    EXPECT_EQ(At("/schema"), "\"caravan.policy/1\"");
    EXPECT_THAT(At("/error/message"), HasSubstr(file + ":1:"));
  }
}

TEST_F(CommandLineTest, ExplainsADecisionAboutEvidence) {
  const std::string file = ::testing::TempDir() + "/policy.textproto", none = file + ".absent";
  EXPECT_EQ(Run({"policy", "explain", file, "--evidence", none, "-o", "json"}), kUsage);
  EXPECT_EQ(At("/schema"), "\"caravan.decision/1\"");
  EXPECT_THAT(At("/error/message"), HasSubstr(none));
  EXPECT_EQ(Run({"policy", "explain", file, "--collateral", none}), kUsage);
  EXPECT_THAT(err(), HasSubstr("--evidence"));
}

TEST_F(CommandLineTest, RefusesEvidenceThatIsNone) {
  const std::string file = ::testing::TempDir() + "/evidence";
  std::ofstream(file) << "not evidence";
  EXPECT_EQ(Run({"verify", file, "-o", "json"}), kUsage);
  EXPECT_EQ(At("/schema"), "\"caravan.verify/1\"");
  // An option's value never swallows the evidence.
  EXPECT_EQ(Run({"verify", "--collateral", file, file}), kUsage);
  EXPECT_THAT(err(), HasSubstr(file));
  EXPECT_EQ(Run({"verify"}), kUsage);
}

TEST_F(CommandLineTest, ListsAndChecksCollateral) {
  const std::string folder = ::testing::TempDir() + "/no-collateral";
  EXPECT_EQ(Run({"collateral", "list", "--cache", folder}), kOk);
  EXPECT_THAT(out(), StartsWith("complete  0 items  cache "));
  EXPECT_EQ(Run({"collateral", "check", "--cache", folder, "-o", "json"}), kOk);
  EXPECT_EQ(At("/schema"), "\"caravan.collateral/1\"");
  const std::string file = ::testing::TempDir() + "/no-evidence";
  std::ofstream(file) << "not evidence";
  EXPECT_EQ(Run({"collateral", "fetch", "--cache", folder, "--offline", "--evidence", file}),
            kUsage);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"collateral"},
        {"collateral", "list"},
        {"collateral", "fetch", "--cache", folder},
        {"collateral", "fetch", "--cache", folder, "--evidence", file, "--deadline", "0"}}) {
    EXPECT_EQ(Run(arguments), kUsage);
  }
}

TEST_F(CommandLineTest, SignsNothingWithoutAKeyNorAnythingButAnAppraisal) {
  EXPECT_EQ(Run({"verify", "file", "-o", "ear"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("-o ear and --ear-key go together"));
  EXPECT_EQ(Run({"verify", "file", "--ear-key", "key.pem"}), kUsage);
  EXPECT_EQ(Run({"verify", "file", "--ear-key", "key.pem", "-o", "json"}), kUsage);
  EXPECT_EQ(Run({"status", "-o", "ear"}), kUsage);
  EXPECT_THAT(err(), HasSubstr("for verify alone"));
  EXPECT_EQ(Run({"verify", "file", "--ear-key", "k", "-o", "ear", "--ear-profile", "x"}), kUsage);
}

TEST_F(CommandLineTest, ShowsEvidenceThatIsAnArgumentOrAnOption) {
  const std::string file = ::testing::TempDir() + "/report";
  std::string report(1184, '\0');
  report[0] = 3;
  report[0x34] = 1;
  std::ofstream(file, std::ios::binary) << report;
  EXPECT_EQ(Run({"evidence", "show", file}), kOk);
  EXPECT_THAT(out(), StartsWith("not verified  sev-snp"));
  EXPECT_EQ(Run({"evidence", "show", "--evidence", file, "-o", "json"}), kOk);
  EXPECT_EQ(At("/verified"), "false");
  EXPECT_EQ(Run({"evidence", "show"}), kUsage);
}

TEST_F(CommandLineTest, SaysWhichTeeThisMachineLacks) {
  EXPECT_EQ(Run({"evidence", "collect", "--attester", "configfs-tsm", "--tsm-path", "/nonexistent",
                 "-o", "json"}),
            kNotAttested);
  EXPECT_EQ(At("/error/code"), "\"NOT_FOUND\"");
  EXPECT_THAT(err(), HasSubstr("/nonexistent: is not there"));
  EXPECT_EQ(Run({"evidence", "collect", "--attester", "nvml", "--nvml-library", "/nonexistent.so"}),
            kNotAttested);
  EXPECT_EQ(Run({"evidence", "collect", "--gpu", "64"}), kUsage);
  EXPECT_EQ(Run({"evidence"}), kUsage);
}

TEST_F(CommandLineTest, ChecksConfigurations) {
  const std::string file = ::testing::TempDir() + "/caravan.textproto";
  std::ofstream(file) << "no_such_field: 1\n";
  EXPECT_EQ(Run({"config", "check", file}), kUsage);
  EXPECT_THAT(err(), HasSubstr(file + ":1:"));
  EXPECT_EQ(Run({"config", "check", file, "-o", "json"}), kUsage);
  EXPECT_EQ(At("/schema"), "\"caravan.config-check/1\"");
  EXPECT_EQ(Run({"config", "check", "/nonexistent"}), kUsage);
}

}  // namespace
}  // namespace caravan::cli
