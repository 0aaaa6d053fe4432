// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "collective/algorithms/explain.h"
#include "collective/cost/crossover.h"
#include "collective/cost/selector.h"
#include "collective/types.h"

namespace caravan::cli {
namespace {

using collective::Choice;
using collective::Operation;
using collective::OperationSpec;
using collective::Plan;

constexpr int kOk = 0;
constexpr int kUsage = 2;
constexpr uint64_t kDefaultBytes = 1 << 20;

std::string Quote(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::StatusOr<uint16_t> RankField(absl::string_view name, int value) {
  if (value >= 0 && value <= UINT16_MAX) return static_cast<uint16_t>(value);
  return absl::InvalidArgumentError(absl::StrCat(name, " ", value, " is outside 0 to 65533"));
}

absl::StatusOr<uint64_t> Count(const PlanExplainOptions& options, const OperationSpec& spec) {
  if (options.count.has_value() && options.bytes.has_value()) {
    return absl::InvalidArgumentError("count and bytes are both given: expected one of them");
  }
  if (options.count.has_value()) return *options.count;
  if (spec.op == Operation::kBarrier && !options.bytes.has_value()) return 0;
  const uint64_t bytes = options.bytes.value_or(kDefaultBytes);
  const uint64_t width = collective::SizeOf(spec.dtype);
  if (bytes % width != 0) {
    return absl::InvalidArgumentError(absl::StrCat("bytes ", bytes, " is not a multiple of ", width,
                                                   ", the size of one ", View(Name(spec.dtype))));
  }
  return bytes / width;
}

template <typename T, typename U>
absl::Status Assign(absl::StatusOr<T> value, U& to) {
  if (value.ok()) to = *value;
  return value.status();
}

absl::StatusOr<OperationSpec> ToSpec(const PlanExplainOptions& options) {
  OperationSpec spec;
  spec.chunk_log2 = options.chunk_log2;
  absl::Status status;
  status.Update(Assign(collective::ParseOperation(options.op), spec.op));
  status.Update(Assign(collective::ParseDataType(options.dtype), spec.dtype));
  status.Update(Assign(collective::ParseReduceOp(options.reduce), spec.reduce));
  status.Update(Assign(collective::ParseAlgorithm(options.algorithm), spec.algorithm));
  status.Update(Assign(RankField("root", options.root), spec.root));
  const int next = options.ranks > 0 ? (options.rank + 1) % options.ranks : 0;
  status.Update(Assign(RankField("peer", options.peer.value_or(next)), spec.peer));
  if (!status.ok()) return status;
  status.Update(Assign(Count(options, spec), spec.count));
  if (!status.ok()) return status;
  if (HasCounts(spec.op) && options.ranks > 0 && options.rank >= 0) {
    // As even as whole elements allow, and what everybody sends this rank alike.
    const uint64_t ranks = static_cast<uint64_t>(options.ranks);
    for (uint64_t r = 0; r < ranks; ++r) {
      spec.counts.push_back(spec.count / ranks + (r < spec.count % ranks ? 1 : 0));
    }
    if (spec.op == Operation::kAllToAllV && options.rank < options.ranks) {
      spec.receive_counts.assign(ranks, spec.counts[static_cast<size_t>(options.rank)]);
    }
  }
  return spec;
}

absl::StatusOr<collective::Rates> ToRates(const PlanExplainOptions& options) {
  collective::Rates rates = options.measured.value_or(collective::Rates{});
  for (const std::string& text : options.rates) {
    const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    const auto& known = collective::NamedRates();
    const auto named = std::find_if(known.begin(), known.end(),
                                    [&](const auto& rate) { return parts.front() == rate.name; });
    if (named == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown rate \"", parts.front(), "\": expected one of ",
          absl::StrJoin(known, ", ", [](std::string* out, const collective::NamedRate& rate) {
            out->append(rate.name);
          })));
    }
    if (parts.size() < 2 || !absl::SimpleAtod(parts[1], &(rates.*named->rate))) {
      return absl::InvalidArgumentError(
          absl::StrCat("rate \"", text, "\": expected ", named->name, "=NUMBER"));
    }
  }
  if (absl::Status status = collective::CheckRates(rates); !status.ok()) return status;
  return rates;
}

std::string PlanJson(const Plan& plan, const collective::Price& price) {
  const collective::Counters& c = plan.counters;
  return absl::StrCat(
      "{\"algorithm\": ", Quote(View(Name(plan.spec.algorithm))),
      ", \"predicted_ns\": ", static_cast<uint64_t>(price.total_ns), ", \"rounds\": ", plan.rounds,
      ", \"crypto_depth\": ", plan.crypto_depth, ", \"sealed_bytes\": ", c.sealed,
      ", \"opened_bytes\": ", c.opened, ", \"forwarded_bytes\": ", c.forwarded,
      ", \"sent_bytes\": ", c.sent, ", \"received_bytes\": ", c.received,
      ", \"records_sealed\": ", c.records_sealed, ", \"records_opened\": ", c.records_opened,
      ", \"records_sent\": ", c.records_sent, ", \"steps\": ", plan.steps.size(),
      ", \"scratch_bytes\": ", plan.scratch_bytes, ", \"forward_slots\": ", plan.forward_slots(),
      "}");
}

std::string Json(const Choice& choice) {
  const Plan& plan = *choice.plans.front();
  std::string out = absl::StrCat(
      "{\"schema\": ", Quote(kPlanExplainSchema),
      ", \"ok\": true,\n \"operation\": ", Quote(View(Name(plan.spec.op))),
      ", \"dtype\": ", Quote(View(Name(plan.spec.dtype))),
      ", \"reduce\": ", Quote(View(Name(plan.spec.reduce))), ", \"count\": ", plan.spec.count,
      ", \"chunk_bytes\": ", uint64_t{1} << plan.spec.chunk_log2, ", \"rank\": ", plan.rank,
      ", \"ranks\": ", plan.size, ",\n \"reason\": ", Quote(choice.selection.reason),
      ",\n \"chosen\": ", PlanJson(plan, choice.prices.front()), ",\n \"alternatives\": [");
  for (size_t i = 1; i < choice.plans.size(); ++i) {
    absl::StrAppend(&out, i > 1 ? "," : "", "\n  ", PlanJson(*choice.plans[i], choice.prices[i]));
  }
  absl::StrAppend(&out, "],\n \"rates\": {");
  absl::string_view separator = "";
  for (const collective::NamedRate& named : collective::NamedRates()) {
    absl::StrAppend(&out, separator, Quote(named.name), ": ", choice.rates.*named.rate);
    separator = ", ";
  }
  return out + "}}\n";
}

int Fail(const PlanExplainOptions& options, const absl::Status& status, std::ostream& out,
         std::ostream& err) {
  const std::string code = absl::StatusCodeToString(status.code());
  const std::string message = absl::StrCat("explaining a plan: ", status.message());
  if (options.output == "json") {
    out << "{\"schema\": " << Quote(kPlanExplainSchema)
        << ", \"ok\": false, \"error\": {\"code\": " << Quote(code)
        << ", \"message\": " << Quote(message) << "}}\n";
  }
  err << "caravanctl: " << message << " [" << code << "]\n"
      << "hint: caravanctl plan explain --help lists operations, types and algorithms\n";
  return kUsage;
}

}  // namespace

int RunPlanExplain(const PlanExplainOptions& options, std::ostream& out, std::ostream& err) {
  if (options.output != "table" && options.output != "json") {
    return Fail(options,
                absl::InvalidArgumentError(absl::StrCat("unknown output \"", options.output,
                                                        "\": expected table or json")),
                out, err);
  }
  const absl::StatusOr<OperationSpec> spec = ToSpec(options);
  if (!spec.ok()) return Fail(options, spec.status(), out, err);
  const absl::StatusOr<collective::Rates> rates = ToRates(options);
  if (!rates.ok()) return Fail(options, rates.status(), out, err);
  collective::SelectorTable table;
  if (options.table.has_value()) {
    table = *options.table;
  } else if (options.ranks >= 2) {
    table = collective::DeriveTable(*rates, options.ranks, options.chunk_log2);
  }
  const absl::StatusOr<Choice> choice =
      collective::Compare(*spec, options.rank, options.ranks, table, *rates);
  if (!choice.ok()) return Fail(options, choice.status(), out, err);
  out << (options.output == "json" ? Json(*choice) : collective::ExplainChoice(*choice));
  return kOk;
}

}  // namespace caravan::cli
