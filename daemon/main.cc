// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "crypto/record.h"
#include "daemon/daemon.h"

int main(int argc, char** argv) {
  std::unique_ptr<caravan::crypto::RecordCipherFactory> ciphers = caravan::crypto::SealedRecords();
  return caravan::RunDaemon(argc, argv, {.ciphers = *ciphers});
}
