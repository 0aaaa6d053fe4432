// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <functional>
#include <sstream>

namespace caravan::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome Explain(const PlanExplainOptions& options) {
  std::ostringstream out, err;
  const int code = RunPlanExplain(options, out, err);
  return {code, out.str(), err.str()};
}

TEST(PlanExplain, StartsWithTheChoiceAndItsReason) {
  const Outcome outcome = Explain({.ranks = 4});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("direct: row "));
  EXPECT_THAT(outcome.out, HasSubstr("* direct "));
  EXPECT_THAT(outcome.out, HasSubstr("\n  predicted "));
  EXPECT_THAT(outcome.out, HasSubstr("\nrates\n  seal_ns_per_byte "));
  EXPECT_THAT(outcome.out, HasSubstr("allreduce(f32 × 262144, sum) on rank 0 of 4"));
  EXPECT_EQ(outcome.err, "");
}

TEST(PlanExplain, PrintsOneJsonDocument) {
  const Outcome outcome = Explain({.bytes = 4096,
                                   .ranks = 16,
                                   .rank = 3,
                                   .algorithm = "direct",
                                   .rates = {"key_ns=1000"},
                                   .output = "json"});
  EXPECT_EQ(outcome.code, 0);
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  ASSERT_EQ(parser.parse(outcome.out).get(document), simdjson::SUCCESS) << outcome.out;
  EXPECT_EQ(std::string_view(document["schema"]), "caravan.plan.explain/1");
  EXPECT_TRUE(bool(document["ok"]));
  EXPECT_EQ(std::string_view(document["chosen"]["algorithm"]), "direct");
  EXPECT_EQ(uint64_t(document["chosen"]["sealed_bytes"]), 4096u);
  EXPECT_EQ(uint64_t(document["chosen"]["crypto_depth"]), 2u);
  EXPECT_GT(uint64_t(document["chosen"]["predicted_ns"]), 1000u);
  EXPECT_EQ(double(document["rates"]["key_ns"]), 1000);
  EXPECT_EQ(simdjson::dom::array(document["alternatives"]).size(), 3u);
}

TEST(PlanExplain, ChoosesByTheRatesThatItIsGiven) {
  const PlanExplainOptions small = {.bytes = 64 << 10, .ranks = 4};
  PlanExplainOptions far_away = small;
  far_away.rates = {"latency_ns=1e7", "link_bytes_per_second=1e10"};
  EXPECT_THAT(Explain(far_away).out, StartsWith("one-shot: "));
  PlanExplainOptions slow_aes = small;
  slow_aes.rates = {"seal_ns_per_byte=5", "open_ns_per_byte=5"};
  EXPECT_THAT(Explain(slow_aes).out, StartsWith("direct: "));
  // What a daemon measured is the base.
  PlanExplainOptions measured = small;
  measured.measured = collective::Rates{};
  measured.measured->latency_ns = 1e7;
  EXPECT_THAT(Explain(measured).out, StartsWith("one-shot: "));
}

TEST(PlanExplain, ChoosesByTheTableOfACommunicator) {
  PlanExplainOptions options = {.ranks = 4};
  options.table = {
      {collective::Operation::kAllReduce, UINT64_MAX, 4, collective::Algorithm::kRing}};
  EXPECT_THAT(Explain(options).out, StartsWith("ring: row 0 of the table (any size, up to 4"));
}

TEST(PlanExplain, ExplainsEveryOperation) {
  for (const char* op :
       {"allreduce", "allgather", "allgatherv", "reducescatter", "broadcast", "reduce", "gather",
        "scatter", "alltoall", "alltoallv", "send", "recv", "barrier"}) {
    EXPECT_EQ(Explain({.op = op, .ranks = 3}).code, 0) << op;
  }
}

TEST(PlanExplain, RefusesOptionsThatDescribeNoPlan) {
  const std::pair<const char*, std::function<void(PlanExplainOptions&)>> cases[] = {
      {"unknown operation \"sum\"", [](PlanExplainOptions& o) { o.op = "sum"; }},
      {"unknown data type", [](PlanExplainOptions& o) { o.dtype = "f8"; }},
      {"unknown reduction", [](PlanExplainOptions& o) { o.reduce = "xor"; }},
      {"unknown algorithm", [](PlanExplainOptions& o) { o.algorithm = "tree"; }},
      {"cannot carry", [](PlanExplainOptions& o) { o.algorithm = "chain-forward"; }},
      {"rank 2 is outside", [](PlanExplainOptions& o) { o.rank = 2; }},
      {"size 0 is outside", [](PlanExplainOptions& o) { o.ranks = 0; }},
      {"root -1 is outside", [](PlanExplainOptions& o) { o.root = -1; }},
      {"peer 70000 is outside", [](PlanExplainOptions& o) { o.peer = 70000; }},
      {"chunk_log2 40", [](PlanExplainOptions& o) { o.chunk_log2 = 40; }},
      {"bytes 7 is not a multiple of 4", [](PlanExplainOptions& o) { o.bytes = 7; }},
      {"both given",
       [](PlanExplainOptions& o) {
         o.bytes = 4;
         o.count = 1;
       }},
      {"split the operation", [](PlanExplainOptions& o) { o.count = UINT64_MAX; }},
      {"unknown rate \"speed\": expected one of seal_ns_per_byte, ",
       [](PlanExplainOptions& o) { o.rates = {"speed=1"}; }},
      {"expected key_ns=NUMBER", [](PlanExplainOptions& o) { o.rates = {"key_ns"}; }},
      {"expected key_ns=NUMBER", [](PlanExplainOptions& o) { o.rates = {"key_ns=x"}; }},
      {"key_ns: 0 is not between", [](PlanExplainOptions& o) { o.rates = {"key_ns=0"}; }},
      {"unknown output", [](PlanExplainOptions& o) { o.output = "xml"; }},
  };
  for (const auto& [text, change] : cases) {
    PlanExplainOptions options;
    change(options);
    const Outcome outcome = Explain(options);
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_THAT(outcome.err, StartsWith("caravanctl: explaining a plan: "));
    EXPECT_THAT(outcome.err, HasSubstr(text));
    EXPECT_THAT(outcome.err, HasSubstr("\nhint: "));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(PlanExplain, PrintsJsonOnFailureToo) {
  const Outcome outcome = Explain({.op = "a\"\n\\b", .output = "json"});
  EXPECT_EQ(outcome.code, 2);
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  ASSERT_EQ(parser.parse(outcome.out).get(document), simdjson::SUCCESS) << outcome.out;
  EXPECT_FALSE(bool(document["ok"]));
  EXPECT_EQ(std::string_view(document["error"]["code"]), "INVALID_ARGUMENT");
  EXPECT_THAT(std::string(std::string_view(document["error"]["message"])),
              HasSubstr("unknown operation \"a\"\n\\b\""));
}

}  // namespace
}  // namespace caravan::cli
