// SPDX-License-Identifier: Apache-2.0
#include "cli/insecure_root.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "attestation/insecure_software/insecure_root.h"
#include "base/file.h"
#include "base/hex.h"

namespace caravan::cli {
namespace {

constexpr char kSchema[] = "caravan.insecure-root/1";

int Refuse(const Context& context, int error, const std::string& path) {
  Failure failure{kUsage, "CANNOT_CREATE",
                  absl::StrCat("insecure-root create: ", path, ": ", std::strerror(error)), ""};
  if (error == EEXIST) {
    failure.hint = "choose another folder: an existing root is never overwritten";
  } else if (error == EACCES || error == EPERM) {
    failure.exit = kNotPermitted;
  } else if (error != ENOENT && error != ENOTDIR) {
    failure.exit = kInternalError;
  }
  return Fail(context, kSchema, failure);
}

// 0, or the error number. Never opens what is there already.
int CreateFile(const std::string& path, std::string_view bytes, mode_t mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return errno;
  int error = base::WriteAll(fd, bytes);
  if (error == 0 && fsync(fd) != 0) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

int RunInsecureRootCreate(const Context& context, const std::string& directory) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Refuse(context, errno, directory);
  }
  const absl::Time now = absl::Now();
  absl::StatusOr<attestation::InsecureRoot> root = attestation::InsecureRoot::Create(now);
  if (!root.ok()) return Fail(context, kSchema, FailureOf(root.status(), "insecure-root create"));
  absl::StatusOr<attestation::InsecureRootPem> pem = root->ToPem();
  if (!pem.ok()) return Fail(context, kSchema, FailureOf(pem.status(), "insecure-root create"));
  absl::StatusOr<std::vector<std::string>> documents = root->intel()->Documents(now);
  if (!documents.ok()) {
    return Fail(context, kSchema, FailureOf(documents.status(), "insecure-root create"));
  }
  const absl::Span<const uint8_t> key = pem->key.Expose();
  // The key comes first: where one is there already, nothing else is written.
  const struct {
    const char* name;
    std::string_view bytes;
    mode_t mode;
  } files[] = {
      {attestation::kInsecureKeyFile,
       {reinterpret_cast<const char*>(key.data()), key.size()},
       0600},
      {attestation::kInsecureChainFile, pem->chain, 0644},
      {attestation::kInsecureCrlFile, pem->crl, 0644},
      {attestation::kInsecureTcbInfoFile, documents->at(0), 0644},
      {attestation::kInsecureQeIdentityFile, documents->at(1), 0644},
  };
  for (const auto& file : files) {
    const std::string path = absl::StrCat(directory, "/", file.name);
    if (const int error = CreateFile(path, file.bytes, file.mode); error != 0) {
      return Refuse(context, error, path);
    }
  }
  // AMD's part, which NVIDIA's shares, and Intel's: a policy pins those whose evidence it takes.
  const std::string pin = base::ToHex(root->SpkiSha256());
  const std::string tdx_pin = base::ToHex(root->intel()->SpkiSha256());
  if (context.json) {
    JsonWriter json = BeginDocument(kSchema);
    json.Member("insecure_root_spki_sha256", pin)
        .Member("insecure_tdx_root_spki_sha256", tdx_pin)
        .EndObject();
    context.out << std::move(json).Take();
  } else {
    context.out << "insecure_root_spki_sha256: \"" << pin << "\"  # snp, nvidia\n"
                << "insecure_root_spki_sha256: \"" << tdx_pin << "\"  # tdx\n";
  }
  return kOk;
}

}  // namespace caravan::cli
