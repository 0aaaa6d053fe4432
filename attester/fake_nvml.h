// SPDX-License-Identifier: Apache-2.0
//
// A shared library that answers as NVIDIA's does, with reports that nobody signed, and fails where
// told to. A test loads it by its path, and finds FakeNvmlScript in it.
#ifndef CARAVAN_ATTESTER_FAKE_NVML_H_
#define CARAVAN_ATTESTER_FAKE_NVML_H_

namespace caravan::attester {

struct FakeNvmlScript {
  // What each function returns.
  int init = 0;
  int count = 0;
  int handle = 0;
  int state = 0;
  int settings = 0;
  int report = 0;
  int certificate = 0;

  unsigned gpus = 2;
  unsigned cc_feature = 1;
  unsigned multi_gpu_mode = 0;
  bool other_nonce = false;
  bool response_alone = false;
  unsigned report_size = 0;  // 0: what it has
  bool empty_report = false;
  unsigned certificate_size = 0;  // 0: what it has
  char pem[0x1400] = {};

  int initialised = 0;  // nvmlInit_v2 less nvmlShutdown
};

}  // namespace caravan::attester

// The library's own.
extern "C" caravan::attester::FakeNvmlScript* GetFakeNvmlScript();

#endif  // CARAVAN_ATTESTER_FAKE_NVML_H_
