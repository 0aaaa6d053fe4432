// SPDX-License-Identifier: Apache-2.0
//
// Records that are copied, not sealed: the plaintext engine, to measure what sealing costs. The
// same layout, plan, chunks and threads; the tag is zero. Bench and tests only.
#ifndef CARAVAN_BENCH_PLAINTEXT_COPIED_RECORDS_H_
#define CARAVAN_BENCH_PLAINTEXT_COPIED_RECORDS_H_

#include <memory>

#include "crypto/record.h"

namespace caravan::bench {

// Protects nothing. Never null.
std::unique_ptr<crypto::RecordCipherFactory> CopiedRecords();

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_PLAINTEXT_COPIED_RECORDS_H_
