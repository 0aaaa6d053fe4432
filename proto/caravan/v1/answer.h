// SPDX-License-Identifier: Apache-2.0
//
// Tells a daemon's answer from gRPC's account of a call that did not get through: both may be
// UNAVAILABLE, and only one of them means that the daemon is gone.
#ifndef CARAVAN_PROTO_CARAVAN_V1_ANSWER_H_
#define CARAVAN_PROTO_CARAVAN_V1_ANSWER_H_

namespace caravan::v1 {

// The error_details of every failure that a daemon answers with.
inline constexpr char kDaemonAnswers[] = "caravand";

}  // namespace caravan::v1

#endif  // CARAVAN_PROTO_CARAVAN_V1_ANSWER_H_
