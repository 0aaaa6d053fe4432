// SPDX-License-Identifier: Apache-2.0
#include "cli/evidence/collect.h"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attestation/evidence.h"
#include "attestation/pem.h"
#include "attester/configfs_tsm.h"
#include "attester/machine.h"
#include "attester/nvml.h"
#include "base/file.h"
#include "base/hex.h"
#include "cli/text.h"
#include "crypto/hash.h"

namespace caravan::cli {
namespace {

using attestation::Evidence;
using attestation::ReportData;

constexpr char kSchema[] = "caravan.evidence-collect/1";

struct Collected {
  std::string attester;   // as it describes itself
  std::string freshness;  // report data or nonce
  bool random = false;
  std::vector<Evidence> items;
  std::vector<std::string> files;  // one an item; empty when none were asked for
};

// `size` bytes of an option, or random ones.
template <size_t kSize>
absl::StatusOr<std::array<uint8_t, kSize>> BytesOf(const char* option, const std::string& text,
                                                   bool* random) {
  std::array<uint8_t, kSize> bytes;
  *random = text.empty();
  if (*random) {
    randombytes_buf(bytes.data(), bytes.size());
    return bytes;
  }
  const std::optional<std::string> decoded = base::FromHex(text);
  if (!decoded.has_value() || decoded->size() != kSize) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " is not ", 2 * kSize, " hexadecimal digits"));
  }
  std::copy(decoded->begin(), decoded->end(), bytes.begin());
  return bytes;
}

absl::Status AskCpu(attestation::Attester* attester, const ReportData& data, Collected* collected) {
  auto set = attester->Collect(data);
  if (!set.ok()) return set.status();
  collected->attester = attester->Describe();
  collected->items = std::move(set->items);
  return absl::OkStatus();
}

absl::Status CollectFrom(const AttesterMakers::Cpu& make, const EvidenceCollectOptions& options,
                         const ReportData& data, Collected* collected) {
  auto attester = make(options);
  if (!attester.ok()) return attester.status();
  return AskCpu(attester->get(), data, collected);
}

// The first that this machine has; where it has none, why not, one by one.
absl::Status CollectAuto(const AttesterMakers& makers, const EvidenceCollectOptions& options,
                         const ReportData& data, Collected* collected) {
  std::string reasons;
  absl::StatusCode code = absl::StatusCode::kNotFound;
  for (const AttesterMakers::Cpu* make : {&makers.configfs_tsm, &makers.sev_guest, &makers.tdx}) {
    auto attester = (*make)(options);
    // One that is there and fails is the answer.
    if (attester.ok()) return AskCpu(attester->get(), data, collected);
    absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", attester.status().message());
    if (absl::IsPermissionDenied(attester.status())) code = attester.status().code();
  }
  return absl::Status(code, absl::StrCat("this machine offers no evidence: ", reasons));
}

absl::Status CollectGpus(const AttesterMakers::Gpus& make, const EvidenceCollectOptions& options,
                         Collected* collected) {
  auto nonce = BytesOf<32>("--nonce", options.nonce, &collected->random);
  if (!nonce.ok()) return nonce.status();
  collected->freshness = base::ToHex(*nonce);
  auto attester = make(options);
  if (!attester.ok()) return attester.status();
  collected->attester = (*attester)->Describe();
  for (size_t i = 0; i < (*attester)->DeviceCount(); ++i) {
    auto item = (*attester)->Collect(i, *nonce);
    if (!item.ok()) return item.status();
    collected->items.push_back(*std::move(item));
  }
  return absl::OkStatus();
}

absl::Status CollectCpu(const AttesterMakers& makers, const EvidenceCollectOptions& options,
                        Collected* collected) {
  auto data = BytesOf<64>("--report-data", options.report_data, &collected->random);
  if (!data.ok()) return data.status();
  collected->freshness = base::ToHex(*data);
  if (options.attester == "auto") return CollectAuto(makers, options, {*data}, collected);
  const std::pair<const char*, const AttesterMakers::Cpu*> ways[] = {
      {"configfs-tsm", &makers.configfs_tsm},
      {"sev-guest", &makers.sev_guest},
      {"tdx", &makers.tdx},
  };
  for (const auto& [name, make] : ways) {
    if (options.attester == name) return CollectFrom(*make, options, {*data}, collected);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--attester is \"", options.attester,
                   "\", expected auto, configfs-tsm, sev-guest, tdx or nvml"));
}

absl::StatusOr<Collected> Collect(const EvidenceCollectOptions& options,
                                  const AttesterMakers& makers) {
  const bool gpus = options.attester == "nvml";
  if (gpus ? !options.report_data.empty() : !options.nonce.empty()) {
    return absl::InvalidArgumentError(
        gpus ? "--report-data is of CPUs; GPUs take --nonce, 64 hexadecimal digits"
             : "--nonce is of GPUs; CPUs take --report-data, 128 hexadecimal digits");
  }
  if (!gpus && options.gpu >= 0) {
    return absl::InvalidArgumentError("--gpu goes with --attester nvml");
  }
  Collected collected;
  absl::Status status = gpus ? CollectGpus(makers.nvml, options, &collected)
                             : CollectCpu(makers, options, &collected);
  if (!status.ok()) return status;
  return collected;
}

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  int error = fd < 0 ? errno : base::WriteAll(fd, bytes);
  if (fd >= 0 && close(fd) != 0 && error == 0) error = errno;
  if (error == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot write ", path, ": ", std::strerror(error)));
}

absl::Status WriteFiles(const std::string& out, Collected* collected) {
  for (size_t i = 0; i < collected->items.size(); ++i) {
    const Evidence& item = collected->items[i];
    const std::string path = collected->items.size() == 1 ? out : absl::StrCat(out, ".", i);
    absl::Status status = WriteFile(path, item.report);
    if (status.ok() && !item.certificates.empty()) {
      status =
          WriteFile(absl::StrCat(path, ".pem"), attestation::CertificatesToPem(item.certificates));
    }
    if (!status.ok()) return status;
    collected->files.push_back(path);
  }
  return absl::OkStatus();
}

void PrintText(const Context& context, const Collected& collected) {
  const bool files = !collected.files.empty();
  // The evidence alone goes where a pipe reads it.
  std::ostream& words = files ? context.out : context.err;
  for (size_t i = 0; i < collected.items.size(); ++i) {
    const Evidence& item = collected.items[i];
    words << "collected  " << attestation::Name(item.kind) << "  " << item.report.size()
          << " bytes  " << item.certificates.size()
          << (item.certificates.size() == 1 ? " certificate" : " certificates");
    if (files) {
      words << "  " << Printable(collected.files[i]);
      if (!item.certificates.empty()) words << " and " << Printable(collected.files[i]) << ".pem";
    }
    words << "\n";
    if (!files) context.out << base::ToHex(crypto::AsBytes(item.report)) << "\n";
  }
  words << (collected.attester == "nvidia" ? "nonce " : "report data ") << collected.freshness
        << (collected.random ? ", random" : "") << "\n";
}

void PrintJson(const Context& context, const Collected& collected) {
  JsonWriter json = BeginDocument(kSchema);
  json.Member("attester", collected.attester)
      .Member(collected.attester == "nvidia" ? "nonce" : "report_data", collected.freshness)
      .Member("random", collected.random);
  json.Key("items").BeginArray();
  for (size_t i = 0; i < collected.items.size(); ++i) {
    const Evidence& item = collected.items[i];
    json.BeginObject()
        .Member("kind", std::string(attestation::Name(item.kind)))
        .Member("bytes", item.report.size())
        .Member("sha256", base::ToHex(crypto::Sha256(crypto::AsBytes(item.report))));
    if (!collected.files.empty()) {
      json.Member("file", collected.files[i]);
    } else {
      json.Member("report", base::ToHex(crypto::AsBytes(item.report)));
    }
    json.Key("certificates").BeginArray();
    for (const std::string& der : item.certificates) {
      json.Value(base::ToHex(crypto::AsBytes(der)));
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  context.out << std::move(json).Take();
}

int Refuse(const Context& context, const absl::Status& status) {
  Failure failure = FailureOf(status, "evidence collect");
  failure.hint.clear();
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
      failure.exit = kNotAttested;
      break;
    case absl::StatusCode::kUnavailable:
      failure.exit = kTimedOut;
      break;
    case absl::StatusCode::kPermissionDenied:
      failure.hint = "run as root, or as a user that may open the TEE's device";
      break;
    default:
      break;
  }
  return Fail(context, kSchema, failure);
}

}  // namespace

AttesterMakers MachineAttesters() {
  using attester::kTsmPath;
  return {
      .configfs_tsm =
          [](const EvidenceCollectOptions& options) {
            return attester::MakeConfigfsTsmAttester(
                attester::MakeTsmTree(options.tsm_path.empty() ? kTsmPath : options.tsm_path), {});
          },
      .sev_guest = [](const EvidenceCollectOptions&) { return attester::MakeSevGuest({}, 0); },
      .tdx =
          [](const EvidenceCollectOptions&) {
            return attester::MakeTdxGuest({}, attester::kQuoteServicePort);
          },
      .nvml =
          [](const EvidenceCollectOptions& options) {
            attester::NvmlOptions nvml;
            if (!options.nvml_library.empty()) nvml.library = options.nvml_library;
            if (options.gpu >= 0) nvml.indices = {static_cast<unsigned>(options.gpu)};
            return attester::MakeNvmlAttester(nvml);
          },
  };
}

int RunEvidenceCollect(const Context& context, const EvidenceCollectOptions& options,
                       const AttesterMakers& makers) {
  absl::StatusOr<Collected> collected = Collect(options, makers);
  if (!collected.ok()) return Refuse(context, collected.status());
  if (!options.out.empty()) {
    if (absl::Status status = WriteFiles(options.out, &*collected); !status.ok()) {
      return Refuse(context, status);
    }
  }
  if (context.json) {
    PrintJson(context, *collected);
  } else {
    PrintText(context, *collected);
  }
  return kOk;
}

}  // namespace caravan::cli
