// SPDX-License-Identifier: Apache-2.0
#include "caravan/caravan.h"
#include "client/ring.h"

namespace caravan {

absl::Status Work::Wait(absl::Time deadline) const { return impl_->Wait(id_, deadline); }

bool Work::Test() const { return impl_->Done(id_); }

}  // namespace caravan
