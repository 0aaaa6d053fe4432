// SPDX-License-Identifier: Apache-2.0
//
// Intel's quote generation service (QGS), which turns a TDREPORT into a quote on the host. Source:
// Intel DCAP, QuoteGeneration/quote_wrapper/qgs_msg_lib/inc/qgs_msg_lib.h (get quote, version 1);
// on a stream each message follows its length, u32 big endian.
#ifndef CARAVAN_ATTESTER_QUOTE_SERVICE_H_
#define CARAVAN_ATTESTER_QUOTE_SERVICE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace caravan::attester {

inline constexpr uint32_t kQuoteServicePort = 4050;
inline constexpr size_t kMaxQuoteMessage = 256 << 10;

// A connected stream's descriptor, which the caller closes.
using Connect = std::function<absl::StatusOr<int>(absl::Time deadline)>;

// To the host's vsock. NotFound: this kernel or machine has no vsock. Unavailable: nobody listens
// there, or nobody answered by the deadline.
Connect ConnectToHost(uint32_t port);

// Unavailable: no connection, no whole answer by the deadline, a connection that ended before it.
// FailedPrecondition: the service refuses, with its code and the name of it. DataLoss: an answer
// that is none: its type, version or lengths, which have to agree; over kMaxQuoteMessage.
absl::StatusOr<std::string> RequestQuote(const Connect& connect, std::string_view td_report,
                                         absl::Time deadline);

}  // namespace caravan::attester

#endif  // CARAVAN_ATTESTER_QUOTE_SERVICE_H_
