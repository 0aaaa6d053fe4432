// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/collateral.h"
#include "cli/config_check.h"
#include "cli/evidence/collect.h"
#include "cli/evidence/show.h"
#include "cli/insecure_root.h"
#include "cli/plan/plan.h"
#include "cli/plan_rates.h"
#include "cli/policy.h"
#include "cli/policy_decision.h"
#include "cli/sessions.h"
#include "cli/status.h"
#include "cli/verify.h"

namespace caravan::cli {
namespace {

constexpr char kVersionSchema[] = "caravan.version/1";
constexpr char kErrorSchema[] = "caravan.error/1";

constexpr char kExitCodes[] =
    "Exit codes: 0 ok, 1 internal, 2 usage or configuration, 3 daemon unreachable,\n"
    "4 verification failed, 5 degraded, 6 permission, 7 timed out, 8 not attested yet,\n"
    "9 could not verify.";

int RunVersion(const Context& context) {
  if (context.json) {
    JsonWriter json = BeginDocument(kVersionSchema);
    json.Member("version", kVersion).EndObject();
    context.out << std::move(json).Take();
  } else {
    context.out << "caravanctl " << kVersion << "\n";
  }
  return kOk;
}

// Values that options and arguments are read into.
struct Values {
  std::string output = "table";
  double timeout_s = 10;
  std::string session;
  std::string file;
  VerifyOptions verify;
  CollateralOptions collateral;
  double collateral_deadline_s = 120;
  EvidenceCollectOptions collect;
  EvidenceShowOptions show;
  PlanExplainOptions plan;
  bool measured = false;
  std::string communicator;
};

class CommandLine {
 public:
  explicit CommandLine(Context& context) : context_(context) {
    app_.footer(kExitCodes);
    app_.require_subcommand(0, 1);
    app_.fallthrough();
    app_.add_option("-o,--output", values_.output, "table or json; ear, of verify alone")
        ->check(CLI::IsMember({"table", "json", "ear"}))
        ->capture_default_str();
    app_.add_option("--runtime-dir", context_.runtime_dir, "folder of the daemon's sockets")
        ->envname("CARAVAN_RUNTIME_DIR")
        ->capture_default_str();
    app_.add_option("--timeout", values_.timeout_s, "seconds to wait for the daemon")
        ->check(CLI::Range(0.001, 86400.0))
        ->capture_default_str();
    AddCommands();
  }

  // Throws CLI::ParseError.
  std::function<int()> Parse(const std::vector<std::string>& arguments) {
    app_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    context_.json = values_.output == "json";
    CheckEar();
    context_.timeout = absl::Seconds(values_.timeout_s);
    return run_;
  }

  CLI::App& app() { return app_; }

 private:
  void AddCommands() {
    run_ = [this] { return RunStatus(context_); };
    Add(app_, "status", "the verdict, sessions, communicators, refusals (the default)",
        [this] { return RunStatus(context_); });

    CLI::App* sessions = Add(app_, "sessions", "attested channels to other nodes",
                             [this] { return RunSessionsList(context_); });
    sessions->require_subcommand(0, 1);
    Add(*sessions, "list", "all of them (the default)",
        [this] { return RunSessionsList(context_); });
    Add(*sessions, "show", "one, with every check of its peer's evidence",
        [this] { return RunSessionsShow(context_, values_.session); })
        ->add_option("id", values_.session, "hex id, or the beginning of it")
        ->required();
    Add(*sessions, "close", "end one; its communicators fail on every rank",
        [this] { return RunSessionsClose(context_, values_.session); })
        ->add_option("id", values_.session, "hex id, or at least 4 digits of it")
        ->required();

    CLI::App* config = Group(app_, "config", "the daemon's configuration");
    Add(*config, "check", "is a file right? needs no daemon",
        [this] { return RunConfigCheck(context_, values_.file); })
        ->add_option("file", values_.file, "textproto")
        ->required();

    AddVerifyOptions(*Add(app_, "verify", "judges evidence in a file; needs no daemon",
                          [this] { return RunVerify(context_, values_.verify); }));

    AddCollateralCommands();

    CLI::App* evidence = Group(app_, "evidence", "what this machine's TEEs say; needs no daemon");
    AddCollectOptions(*Add(*evidence, "collect", "asks them", [this] {
      return RunEvidenceCollect(context_, values_.collect, MachineAttesters());
    }));
    CLI::App* show = Add(*evidence, "show", "what evidence in a file says; verifies nothing",
                         [this] { return RunEvidenceShow(context_, values_.show); });
    show->add_option("evidence,--evidence", values_.show.evidence, "file, or folder of parts")
        ->required();
    show->add_option("--kind", values_.show.kind, "auto, snp, tdx, sgx, nvidia, tpm")
        ->capture_default_str();

    CLI::App* policy = Group(app_, "policy", "what evidence must show");
    Add(*policy, "check", "is a file right? needs no daemon",
        [this] { return RunPolicyCheck(context_, values_.file); })
        ->add_option("file", values_.file, "textproto")
        ->required();
    CLI::App* explain =
        Add(*policy, "explain", "what it demands and lets pass; which rule decides about evidence",
            [this] {
              values_.verify.policy = values_.file;
              return values_.verify.evidence.empty() ? RunPolicyExplain(context_, values_.file)
                                                     : RunPolicyDecision(context_, values_.verify);
            });
    explain->add_option("file", values_.file, "textproto")->required();
    CLI::Option* evidence_file = explain->add_option(
        "--evidence", values_.verify.evidence,
        "file: says which rule decides about it; without it the whole policy in sentences");
    for (CLI::Option* option : AddEvidenceOptions(*explain)) option->needs(evidence_file);

    CLI::App* root = Group(app_, "insecure-root", "the root of software stand-ins, for trials");
    Add(*root, "create", "makes one",
        [this] { return RunInsecureRootCreate(context_, values_.file); })
        ->add_option("folder", values_.file, "where to; overwrites nothing")
        ->required();

    CLI::App* plan = Group(app_, "plan", "how collectives run");
    AddPlanOptions(
        *Add(*plan, "explain", "an operation's algorithm, why, and what it costs a rank", [this] {
          values_.plan.output = values_.output;
          if (values_.measured || !values_.communicator.empty()) {
            const absl::Status asked =
                AskDaemonForPlan(context_, values_.communicator, &values_.plan);
            if (!asked.ok()) {
              return Fail(context_, kPlanExplainSchema, FailureOf(asked, "plan explain"));
            }
          }
          return RunPlanExplain(values_.plan, context_.out, context_.err);
        }));

    Add(app_, "version", "of this program", [this] { return RunVersion(context_); });
  }

  // A token is what verify prints when it has a key to sign it with.
  void CheckEar() {
    const bool wanted = values_.output == "ear";
    if (wanted && !app_.got_subcommand("verify")) {
      throw CLI::ValidationError("--output", "ear is for verify alone");
    }
    if (wanted == values_.verify.ear.key.empty()) {
      throw CLI::ValidationError(wanted ? "--output" : "--ear-key",
                                 "-o ear and --ear-key go together");
    }
  }

  // What goes with evidence in a file.
  std::vector<CLI::Option*> AddEvidenceOptions(CLI::App& verify) {
    VerifyOptions& o = values_.verify;
    return {
        verify
            .add_option("--also", o.also,
                        "file of more evidence of the same set, such as its switches; may be given "
                        "again")
            ->allow_extra_args(false),
        verify.add_option("--kind", o.kind, "auto, snp, tdx, sgx, nvidia, tpm")
            ->capture_default_str(),
        verify
            .add_option("--collateral", o.collateral,
                        "file or folder of certificates, revocation lists and Intel's JSON; may be "
                        "given again")
            ->allow_extra_args(false),
        verify.add_option(
            "--report-data", o.report_data,
            "128 hex digits that the report must hold, or the 64 of a device's nonce"),
        verify.add_option("--verification-time", o.verification_time, "RFC 3339; now by default")};
  }

  void AddVerifyOptions(CLI::App& verify) {
    VerifyOptions& o = values_.verify;
    verify
        .add_option("evidence", o.evidence,
                    "file, or folder of reports and their certificates, or of a vTPM's parts")
        ->required();
    AddEvidenceOptions(verify);
    verify.add_option("--policy", o.policy, "file; without it everything is refused");
    verify.add_option("--event-log", o.event_log, "CCEL that has to replay to the TD's RTMRs");
    verify.add_option("--ear-key", o.ear.key,
                      "with -o ear: PEM, a key on P-384 or P-256 or an Ed25519 key, to sign with");
    verify.add_option("--nonce", o.ear.nonce, "with -o ear: 16 to 128 hex digits to echo");
    verify.add_option("--ear-profile", o.ear.profile, "with -o ear: ietf or veraison")
        ->check(CLI::IsMember({"ietf", "veraison"}))
        ->capture_default_str();
  }

  void AddCollateralCommands() {
    CollateralOptions& o = values_.collateral;
    CLI::App* group =
        Group(app_, "collateral", "what verifiers need besides evidence, in a folder");
    CLI::App* fetch =
        Add(*group, "fetch", "brings what evidence needs from the makers' services", [this] {
          values_.collateral.deadline = absl::Seconds(values_.collateral_deadline_s);
          return RunCollateralFetch(context_, values_.collateral);
        });
    CLI::App* list = Add(*group, "list", "what is there, from where, until when",
                         [this] { return RunCollateralList(context_, values_.collateral); });
    CLI::App* check = Add(*group, "check", "is all there that evidence needs? asks no service",
                          [this] { return RunCollateralCheck(context_, values_.collateral); });
    for (CLI::App* command : {fetch, list, check}) {
      command->add_option("--cache", o.cache, "the folder")
          ->envname("CARAVAN_COLLATERAL")
          ->required();
    }
    fetch->add_option("--evidence", o.evidence, "file; may be given again")
        ->required()
        ->allow_extra_args(false);
    check->add_option("--evidence", o.evidence, "file; without it everything in the folder")
        ->allow_extra_args(false);
    for (CLI::App* command : {fetch, check}) {
      command
          ->add_option(
              "--certificates", o.certificates,
              "file that the evidence's certificates are in, where it carries none; may be "
              "given again")
          ->allow_extra_args(false);
    }
    fetch->add_option("--kds-url", o.kds_url, "in place of AMD's https://kdsintf.amd.com");
    fetch->add_option("--pcs-url", o.pcs_url,
                      "a PCCS, in place of Intel's https://api.trustedservices.intel.com");
    fetch->add_option("--root-crl-url", o.root_crl_url, "of the list of Intel's root");
    fetch->add_option("--rim-url", o.rim_url,
                      "in place of NVIDIA's https://rim.attestation.nvidia.com/v1/rim");
    fetch->add_option("--ocsp-url", o.ocsp_url,
                      "in place of NVIDIA's https://ocsp.ndis.nvidia.com");
    fetch->add_option("--ca-file", o.ca_file, "authorities for https://, PEM");
    fetch
        ->add_option(
            "--extra-root", o.extra_roots,
            "SHA-256 of a root's public key to take beside the makers'; may be given again")
        ->allow_extra_args(false);
    fetch->add_flag("--offline", o.offline, "only says what is missing");
    fetch->add_flag("--refresh", o.refresh, "also fetches lists and documents that still hold");
    fetch->add_option("--deadline", values_.collateral_deadline_s, "seconds for all of it")
        ->check(CLI::Range(0.001, 86400.0))
        ->capture_default_str();
  }

  void AddCollectOptions(CLI::App& collect) {
    EvidenceCollectOptions& o = values_.collect;
    collect
        .add_option("--attester", o.attester,
                    "auto (the first of the next three), configfs-tsm, sev-guest, tdx, nvml")
        ->capture_default_str();
    collect.add_option("--report-data", o.report_data,
                       "128 hex digits that a CPU's report shall hold; random by default");
    collect.add_option("--nonce", o.nonce,
                       "64 hex digits that GPUs' reports shall hold; random by default");
    collect.add_option("--out", o.out,
                       "file; certificates go to FILE.pem, several GPUs to FILE.0, FILE.1, …; "
                       "without it hexadecimal on stdout");
    collect.add_option("--tsm-path", o.tsm_path, "of configfs-tsm");
    collect.add_option("--nvml-library", o.nvml_library, "of NVIDIA's driver");
    collect.add_option("--gpu", o.gpu, "one alone, as the driver counts; all by default")
        ->check(CLI::Range(0, 63));
  }

  void AddPlanOptions(CLI::App& explain) {
    PlanExplainOptions& o = values_.plan;
    explain
        .add_option("op", o.op,
                    "allreduce, allgather, allgatherv, reducescatter, broadcast, reduce, gather, "
                    "scatter, alltoall, alltoallv, send, recv, barrier")
        ->capture_default_str();
    explain.add_option("--count", o.count,
                       "elements, as NCCL counts them; the sum of equal counts for a v form");
    explain.add_option("--bytes", o.bytes, "the same in bytes; 1 MiB when neither is given");
    explain.add_option("--dtype", o.dtype, "f16, bf16, f32, f64, int8 to int64, uint8 to uint64")
        ->capture_default_str();
    explain.add_option("--reduce", o.reduce, "sum, prod, min, max, avg")->capture_default_str();
    explain.add_option("--ranks", o.ranks, "of the communicator")->capture_default_str();
    explain.add_option("--rank", o.rank, "whose plan")->capture_default_str();
    explain.add_option("--root", o.root, "of a broadcast, reduce, gather or scatter")
        ->capture_default_str();
    explain.add_option("--peer", o.peer, "of a send or recv; the next rank by default");
    explain
        .add_option("--algorithm", o.algorithm,
                    "auto, direct, ring, ring-forward, chain-forward, doubling-forward, one-shot, "
                    "binomial-forward, bruck-forward")
        ->capture_default_str();
    explain
        .add_option("--rate", o.rates, "name=value, as the output lists them; may be given again")
        ->allow_extra_args(false);
    explain.add_flag("--measured", values_.measured, "by the rates that the daemon measured");
    explain.add_option(
        "--communicator", values_.communicator,
        "of the daemon: by the table of its ranks, and for as many; implies --measured");
    explain.add_option("--chunk-log2", o.chunk_log2, "chunks of 2^14 to 2^18 bytes")
        ->capture_default_str();
  }

  // A command: of a group's commands, the innermost that is given runs.
  CLI::App* Add(CLI::App& parent, const char* name, const char* summary, std::function<int()> run) {
    CLI::App* command = parent.add_subcommand(name, summary);
    command->parse_complete_callback([this, command, run = std::move(run)] {
      const auto inner = command->get_subcommands();
      if (inner.empty()) run_ = run;
    });
    return command;
  }

  // A word that only groups commands.
  CLI::App* Group(CLI::App& parent, const char* name, const char* summary) {
    CLI::App* group = parent.add_subcommand(name, summary);
    group->require_subcommand(1);
    return group;
  }

  Context& context_;
  Values values_;
  CLI::App app_{"Asks and checks Caravan's daemon.", "caravanctl"};
  std::function<int()> run_;
};

// Whether JSON was asked for, of arguments that could not be parsed.
bool WantsJson(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    const bool next_is_json = i + 1 < arguments.size() && arguments[i + 1] == "json";
    if (a == "-ojson" || a == "--output=json") return true;
    if ((a == "-o" || a == "--output") && next_is_json) return true;
  }
  return false;
}

}  // namespace

// CLI11 reports by exceptions; none leaves this function.
int RunCommandLine(const std::vector<std::string>& arguments, Context context) {
  CommandLine line(context);
  std::function<int()> run;
  try {
    run = line.Parse(arguments);
  } catch (const CLI::Success& success) {
    line.app().exit(success, context.out, context.err);
    return kOk;
  } catch (const CLI::ParseError& error) {
    context.json = WantsJson(arguments);
    return Fail(context, kErrorSchema,
                {kUsage, "USAGE", error.what(), "caravanctl --help lists commands and options"});
  }
  return run();
}

}  // namespace caravan::cli
