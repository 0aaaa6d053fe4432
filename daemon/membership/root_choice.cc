// SPDX-License-Identifier: Apache-2.0
#include "daemon/membership/root_choice.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "collective/cost/crossover.h"

namespace caravan::membership {
namespace {

constexpr double kCoresPerLane = 8;
constexpr uint32_t kMostDefaultLanes = 4;
constexpr uint32_t kMostDefaultConnections = 512;

std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

// How many members each host has.
std::map<std::string, int> Hosts(const v1::Roster& roster) {
  std::map<std::string, int> hosts;
  for (const v1::Member& member : roster.members()) ++hosts[HostOf(member.data_address())];
  return hosts;
}

}  // namespace

collective::Rates RatesAmong(const RootFacts& facts, const RoundTrip& round_trip,
                             const v1::Roster& roster) {
  collective::Rates rates = facts.calibration.For(static_cast<crypto::Suite>(roster.suite()));
  rates.link_bytes_per_second = facts.link_bytes_per_second;
  for (const auto& [host, members] : Hosts(roster)) {
    rates.ranks_per_node = std::max<double>(rates.ranks_per_node, members);
  }
  const std::string root_host =
      roster.members().empty() ? "" : HostOf(roster.members(0).data_address());
  for (const v1::Member& member : roster.members()) {
    crypto::SessionId session{};
    if (member.root_session().size() != session.size()) continue;
    if (HostOf(member.data_address()) == root_host) continue;
    std::memcpy(session.data(), member.root_session().data(), session.size());
    const double one_way = absl::ToDoubleNanoseconds(round_trip(session)) / 2;
    rates.latency_ns = std::max(rates.latency_ns, one_way);
  }
  return rates;
}

uint32_t DefaultLanes(double cores, bool one_host, int size) {
  if (one_host || size < 2) return 1;
  const auto by_cores =
      static_cast<uint32_t>(std::clamp<double>(cores / kCoresPerLane, 1, kMostDefaultLanes));
  const uint32_t by_connections = kMostDefaultConnections / static_cast<uint32_t>(size - 1);
  return std::max(1u, std::min(by_cores, by_connections));
}

void ChooseForAll(const RootFacts& facts, const RoundTrip& round_trip, v1::Roster* roster) {
  const int size = roster->members_size();
  const collective::Rates rates = RatesAmong(facts, round_trip, *roster);
  collective::SelectorTable table = facts.choices;
  if (size > 1) {
    const collective::SelectorTable derived =
        collective::DeriveTable(rates, size, static_cast<int>(roster->chunk_log2()));
    table.insert(table.end(), derived.begin(), derived.end());
  }
  roster->set_selector_table(collective::Canonical(table));
  if (roster->lanes() == 0) {
    roster->set_lanes(DefaultLanes(rates.cores, Hosts(*roster).size() == 1, size));
  }
}

}  // namespace caravan::membership
