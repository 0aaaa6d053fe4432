// SPDX-License-Identifier: Apache-2.0
//
// The folder in which the kernel hands out reports of a TEE: /sys/kernel/config/tsm/report (Linux
// Documentation/ABI/testing/configfs-tsm-report). The seam below ConfigfsTsm.
#ifndef CARAVAN_ATTESTER_TSM_TREE_H_
#define CARAVAN_ATTESTER_TSM_TREE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace caravan::attester {

inline constexpr char kTsmPath[] = "/sys/kernel/config/tsm/report";

// Every call returns 0 or the error number of the system call that failed. Thread-safe.
class TsmTree {
 public:
  virtual ~TsmTree() = default;
  virtual int MakeEntry(const std::string& entry) = 0;
  virtual int RemoveEntry(const std::string& entry) = 0;
  // All of `bytes` in one write: configfs takes a write for the whole value.
  virtual int Write(const std::string& entry, const char* attribute, std::string_view bytes) = 0;
  // EFBIG when there are more than `limit` bytes.
  virtual int Read(const std::string& entry, const char* attribute, size_t limit,
                   std::string* bytes) = 0;
  virtual std::string Describe() const = 0;  // the folder
};

std::unique_ptr<TsmTree> MakeTsmTree(std::string folder);

}  // namespace caravan::attester

#endif  // CARAVAN_ATTESTER_TSM_TREE_H_
