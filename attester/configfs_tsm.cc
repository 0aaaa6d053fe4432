// SPDX-License-Identifier: Apache-2.0
#include "attester/configfs_tsm.h"

#include <sodium.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "attester/report_checks.h"
#include "base/hex.h"

namespace caravan::attester {
namespace {

using attestation::Evidence;
using attestation::EvidenceKind;
using attestation::EvidenceSet;
using attestation::ReportData;

constexpr size_t kMaxText = 256;        // bytes of an attribute in text
constexpr size_t kMaxBlob = 256 << 10;  // of a report or a certificate table
constexpr int kMaxAttempts = 3;
constexpr uint32_t kMaxVmpl = 3;  // TSM_REPORT_PRIVLEVEL_MAX

// The status of a failed access to `attribute`; "" stands for the entry itself.
absl::Status FromError(int error, std::string_view folder, std::string_view attribute) {
  const std::string what = absl::StrCat(std::string(folder), attribute.empty() ? "" : ": ",
                                        std::string(attribute), ": ");
  switch (error) {
    case EBUSY:
    case EAGAIN:
      return absl::UnavailableError(
          absl::StrCat(what, "busy with another request; try again in a moment"));
    case ETIMEDOUT:
      return absl::UnavailableError(absl::StrCat(
          what,
          "the host did not answer in time; does it run a quote service, or throttle this "
          "guest? try again later"));
    case EINTR:
      return absl::UnavailableError(absl::StrCat(what, "interrupted; try again"));
    case ENXIO:
      return absl::NotFoundError(
          absl::StrCat(what,
                       "the kernel has no provider of reports: load the guest driver, sev-guest or "
                       "tdx_guest; is this a confidential VM?"));
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(absl::StrCat(
          what, attribute.empty()
                    ? "is not there: it takes Linux 6.7 or later with configfs mounted at "
                      "/sys/kernel/config, in a confidential VM"
                    : "is not there: this provider does not offer it"));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(
          absl::StrCat(what, "not permitted: reports are root's, or for whom root lets in"));
    case EINVAL:
      return absl::FailedPreconditionError(absl::StrCat(
          what,
          "refused as invalid: does the TEE take this privilege level, and has its firmware "
          "a signing key?"));
    case ENOTTY:
      return absl::FailedPreconditionError(absl::StrCat(
          what,
          "the guest's channel to the firmware was closed after an error; it stays so until "
          "the machine starts anew"));
    case EFBIG:
      return absl::DataLossError(
          absl::StrCat(what, "holds more than is taken, ", kMaxBlob, " bytes"));
    case EIO:
      return absl::InternalError(
          absl::StrCat(what, "the firmware or the host failed; the kernel's log has its code"));
    default:
      return absl::InternalError(absl::StrCat(what, std::strerror(error)));
  }
}

// One folder below the tree; removed when it goes, whatever happened.
class Entry {
 public:
  static absl::StatusOr<Entry> Make(TsmTree* tree) {
    int error = EEXIST;
    std::string name;
    for (int attempt = 0; attempt < kMaxAttempts && error == EEXIST; ++attempt) {
      uint8_t bytes[8];
      randombytes_buf(bytes, sizeof(bytes));
      name = absl::StrCat("caravan-", base::ToHex(bytes));
      error = tree->MakeEntry(name);
    }
    if (error != 0) return FromError(error, tree->Describe(), "");
    return Entry(tree, std::move(name));
  }
  Entry(Entry&& other) noexcept
      : tree_(std::exchange(other.tree_, nullptr)), name_(std::move(other.name_)) {}
  Entry& operator=(Entry&&) = delete;
  ~Entry() {
    if (tree_ != nullptr) (void)tree_->RemoveEntry(name_);
  }

  // An entry that stays would be one more for each call: its caller has to hear of it.
  absl::Status Remove() {
    const int error = std::exchange(tree_, nullptr)->RemoveEntry(name_);
    if (error == 0 || error == ENOENT) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("cannot remove ", name_, ": ", std::strerror(error)));
  }
  absl::Status Write(const char* attribute, std::string_view bytes) const {
    const int error = tree_->Write(name_, attribute, bytes);
    return error == 0 ? absl::OkStatus() : FromError(error, tree_->Describe(), attribute);
  }
  absl::StatusOr<std::string> Read(const char* attribute, size_t limit) const {
    std::string bytes;
    const int error = tree_->Read(name_, attribute, limit, &bytes);
    if (error != 0) return FromError(error, tree_->Describe(), attribute);
    return bytes;
  }
  absl::StatusOr<std::string> ReadText(const char* attribute) const {
    absl::StatusOr<std::string> text = Read(attribute, kMaxText);
    if (!text.ok()) return text.status();
    return std::string(absl::StripSuffix(*text, "\n"));
  }
  absl::StatusOr<uint64_t> ReadNumber(const char* attribute) const {
    absl::StatusOr<std::string> text = ReadText(attribute);
    if (!text.ok()) return text.status();
    uint64_t number = 0;
    if (absl::SimpleAtoi(*text, &number)) return number;
    return absl::DataLossError(
        absl::StrCat(tree_->Describe(), ": ", attribute, ": is no number: \"", *text, "\""));
  }

 private:
  Entry(TsmTree* tree, std::string name) : tree_(tree), name_(std::move(name)) {}

  TsmTree* tree_;  // null: removed or moved away
  std::string name_;
};

absl::StatusOr<EvidenceKind> KindOfProvider(const std::string& provider, std::string_view folder) {
  // The kernel's names are its modules'.
  if (provider == "sev_guest") return EvidenceKind::kSevSnp;
  if (provider == "tdx_guest") return EvidenceKind::kTdx;
  return absl::FailedPreconditionError(absl::StrCat(std::string(folder), ": the provider is \"",
                                                    provider,
                                                    "\", expected sev_guest or tdx_guest"));
}

class ConfigfsTsmAttester : public attestation::Attester {
 public:
  ConfigfsTsmAttester(std::unique_ptr<TsmTree> tree, EvidenceKind kind,
                      const ConfigfsTsmOptions& options)
      : tree_(std::move(tree)), kind_(kind), options_(options) {}

  absl::StatusOr<EvidenceSet> Collect(const ReportData& report_data) override {
    absl::StatusOr<Evidence> item = absl::AbortedError("not tried");
    for (int attempt = 0; attempt < kMaxAttempts && absl::IsAborted(item.status()); ++attempt) {
      absl::StatusOr<Entry> entry = Entry::Make(tree_.get());
      if (!entry.ok()) return entry.status();
      item = Ask(*entry, report_data);
      if (absl::Status removed = entry->Remove(); item.ok() && !removed.ok()) return removed;
    }
    if (!item.ok()) return item.status();
    return EvidenceSet{{*std::move(item)}};
  }
  std::string Describe() const override { return std::string(attestation::Name(kind_)); }

 private:
  // Aborted when somebody else wrote to the entry.
  absl::StatusOr<Evidence> Ask(const Entry& entry, const ReportData& report_data) const {
    const std::string folder = tree_->Describe();
    absl::StatusOr<uint64_t> before = entry.ReadNumber("generation");
    if (!before.ok()) return before.status();
    uint64_t writes = 0;
    if (kind_ == EvidenceKind::kSevSnp) {
      if (absl::Status status = WriteVmpl(entry, &writes); !status.ok()) return status;
    }
    const std::string_view in(reinterpret_cast<const char*>(report_data.bytes.data()),
                              report_data.bytes.size());
    if (absl::Status status = entry.Write("inblob", in); !status.ok()) return status;
    ++writes;

    Evidence item{kind_, {}, {}};
    absl::StatusOr<std::string> report = entry.Read("outblob", kMaxBlob);
    if (!report.ok()) return report.status();
    absl::StatusOr<std::string> table = std::string();
    if (kind_ == EvidenceKind::kSevSnp) table = entry.Read("auxblob", kMaxBlob);
    // Hosts need not hand certificates out, nor kernels the attribute.
    if (!table.ok() && !absl::IsNotFound(table.status())) return table.status();
    absl::StatusOr<uint64_t> after = entry.ReadNumber("generation");
    if (!after.ok()) return after.status();
    if (*after != *before + writes) {
      return absl::AbortedError(absl::StrCat(
          folder, ": generation is ", *after, ", expected ", *before + writes,
          ": another process writes to this daemon's entry; find out which, and stop it"));
    }
    if (absl::Status status = CheckAnswers(kind_, *report, report_data, folder); !status.ok()) {
      return status;
    }
    item.report = *std::move(report);
    if (table.ok()) {
      auto certificates = CertificatesOfTable(*table);
      if (!certificates.ok()) return certificates.status();
      item.certificates = *std::move(certificates);
    }
    return item;
  }

  absl::Status WriteVmpl(const Entry& entry, uint64_t* writes) const {
    absl::StatusOr<uint64_t> floor = entry.ReadNumber("privlevel_floor");
    // A provider without levels has one, and nothing to choose.
    if (absl::IsNotFound(floor.status()) && !options_.vmpl.has_value()) return absl::OkStatus();
    if (!floor.ok()) return floor.status();
    const uint64_t vmpl = options_.vmpl.value_or(*floor);
    if (vmpl < *floor || vmpl > kMaxVmpl) {
      return absl::FailedPreconditionError(
          absl::StrCat(tree_->Describe(), ": a report of VMPL ", vmpl,
                       " was asked for, this guest may ask for ", *floor, " to ", kMaxVmpl));
    }
    ++*writes;
    return entry.Write("privlevel", absl::StrCat(vmpl));
  }

  const std::unique_ptr<TsmTree> tree_;
  const EvidenceKind kind_;
  const ConfigfsTsmOptions options_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<attestation::Attester>> MakeConfigfsTsmAttester(
    std::unique_ptr<TsmTree> tree, const ConfigfsTsmOptions& options) {
  absl::StatusOr<Entry> entry = Entry::Make(tree.get());
  if (!entry.ok()) return entry.status();
  absl::StatusOr<std::string> provider = entry->ReadText("provider");
  if (absl::Status removed = entry->Remove(); provider.ok() && !removed.ok()) return removed;
  if (!provider.ok()) return provider.status();
  absl::StatusOr<EvidenceKind> kind = KindOfProvider(*provider, tree->Describe());
  if (!kind.ok()) return kind.status();
  if (options.kind.has_value() && *options.kind != *kind) {
    return absl::FailedPreconditionError(
        absl::StrCat(tree->Describe(), ": the provider is ", *provider, ": this machine makes ",
                     std::string(attestation::Name(*kind)), " evidence, not ",
                     std::string(attestation::Name(*options.kind))));
  }
  return std::make_unique<ConfigfsTsmAttester>(std::move(tree), *kind, options);
}

}  // namespace caravan::attester
