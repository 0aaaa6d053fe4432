// SPDX-License-Identifier: Apache-2.0
//
// What the root chooses for all members once all have joined: which algorithm at which size, from
// the rates that its node measured, and how many lanes. It stands in the roster, so that every
// member takes the same. Pure.
#ifndef CARAVAN_DAEMON_MEMBERSHIP_ROOT_CHOICE_H_
#define CARAVAN_DAEMON_MEMBERSHIP_ROOT_CHOICE_H_

#include <functional>

#include "absl/time/time.h"
#include "collective/cost/cost.h"
#include "collective/cost/selector.h"
#include "crypto/key_tree.h"
#include "daemon/engine/calibration.h"
#include "proto/caravan/v1/peer.pb.h"

namespace caravan::membership {

// What a node knows of itself.
struct RootFacts {
  engine::Calibration calibration;
  collective::SelectorTable choices;  // the configuration's: they stand before what is derived
  double link_bytes_per_second = collective::Rates{}.link_bytes_per_second;
};

// The TCP round trip of an open session, zero where it is not known.
using RoundTrip = std::function<absl::Duration(const crypto::SessionId&)>;

// The root's rates as they are among these members. Members whose data addresses have one host
// share its cores, and no link. Between hosts the longest round trip to the root stands for all
// pairs.
collective::Rates RatesAmong(const RootFacts& facts, const RoundTrip& round_trip,
                             const v1::Roster& roster);

// Lanes a peer, where the application leaves it open. One reactor moves a communicator's bytes, so
// lanes gain what the kernel's side of a connection limits: one receive queue, one congestion
// window. That takes spare cores and a network: one lane on one host, then one more for each eight
// cores, at most four, and no more than 512 connections of a member in all.
uint32_t DefaultLanes(double cores, bool one_host, int size);

// Fills in selector_table, and lanes where they are 0. The roster is complete otherwise.
void ChooseForAll(const RootFacts& facts, const RoundTrip& round_trip, v1::Roster* roster);

}  // namespace caravan::membership

#endif  // CARAVAN_DAEMON_MEMBERSHIP_ROOT_CHOICE_H_
