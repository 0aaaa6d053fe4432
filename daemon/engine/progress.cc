// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/progress.h"

namespace caravan::engine {

void Progress::CountCompleted(const collective::Counters& planned) {
  expected_.sealed += planned.sealed;
  expected_.opened += planned.opened;
  expected_.forwarded += planned.forwarded;
  expected_.sent += planned.sent;
  expected_.received += planned.received;
  expected_.records_sealed += planned.records_sealed;
  expected_.records_opened += planned.records_opened;
  expected_.records_sent += planned.records_sent;
  ++operations_;
}

}  // namespace caravan::engine
