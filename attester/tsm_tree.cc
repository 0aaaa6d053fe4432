// SPDX-License-Identifier: Apache-2.0
#include "attester/tsm_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/descriptor.h"

namespace caravan::attester {
namespace {

constexpr size_t kPage = 4096;

int OpenRetrying(const std::string& path, int flags) {
  int fd;
  do {
    fd = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

class FileTree : public TsmTree {
 public:
  explicit FileTree(std::string folder) : folder_(std::move(folder)) {}

  int MakeEntry(const std::string& entry) override {
    return mkdir(Path(entry).c_str(), 0700) == 0 ? 0 : errno;
  }
  int RemoveEntry(const std::string& entry) override {
    return rmdir(Path(entry).c_str()) == 0 ? 0 : errno;
  }
  int Write(const std::string& entry, const char* attribute, std::string_view bytes) override {
    base::Descriptor fd(OpenRetrying(Path(entry) + "/" + attribute, O_WRONLY));
    if (!fd.valid()) return errno;
    const ssize_t put = write(fd.get(), bytes.data(), bytes.size());
    const int error = put < 0 ? errno : put == static_cast<ssize_t>(bytes.size()) ? 0 : EIO;
    // A binary attribute is handed to the driver when the file is closed.
    const int closed = fd.Close();
    return error != 0 ? error : closed;
  }
  int Read(const std::string& entry, const char* attribute, size_t limit,
           std::string* bytes) override {
    bytes->clear();
    const base::Descriptor fd(OpenRetrying(Path(entry) + "/" + attribute, O_RDONLY));
    if (!fd.valid()) return errno;
    int error = 0;
    while (error == 0) {
      const size_t have = bytes->size();
      if (have > limit) {
        error = EFBIG;
        break;
      }
      bytes->resize(have + std::min(kPage, limit + 1 - have));
      const ssize_t got = read(fd.get(), bytes->data() + have, bytes->size() - have);
      bytes->resize(have + (got > 0 ? static_cast<size_t>(got) : 0));
      if (got == 0) break;
      if (got < 0) error = errno;
    }
    return error;
  }
  std::string Describe() const override { return folder_; }

 private:
  std::string Path(const std::string& entry) const { return folder_ + "/" + entry; }

  const std::string folder_;
};

}  // namespace

std::unique_ptr<TsmTree> MakeTsmTree(std::string folder) {
  return std::make_unique<FileTree>(std::move(folder));
}

}  // namespace caravan::attester
