// SPDX-License-Identifier: Apache-2.0
//
// An exhaustive scheduler over the real handshake machines. The attacker holds every message that
// any end has sent and chooses, step by step, what to deliver to whom: each message as it is
// (late, again, back to its sender, into the other session), evidence inside a wrapper rewritten
// for the target, hellos of its own; on a channel that it terminates itself it also computes
// Accepts. To drop is never to deliver. Channels are their exporter values: the attacker knows
// those of its own channels and no other.
#ifndef CARAVAN_TESTS_ADVERSARY_HANDSHAKE_MODEL_H_
#define CARAVAN_TESTS_ADVERSARY_HANDSHAKE_MODEL_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/session/handshake_testing.h"

namespace caravan::session {

// One honest end of a channel. "m" is the attacker's node.
struct ModelEnd {
  std::string node;
  std::string peer;
  crypto::Role role = crypto::Role::kInitiator;
  std::string channel;
};

struct ModelResult {
  size_t depth = 0;                     // longest run of deliveries that were taken
  size_t states = 0;                    // distinct global states
  size_t deliveries = 0;                // tried
  size_t completed = 0;                 // states in which an end is established
  std::vector<std::string> violations;  // distinct
};

class HandshakeModel {
 public:
  HandshakeModel(std::vector<ModelEnd> ends, HandshakeBugsForTest bugs, uint32_t rounds)
      : ends_(std::move(ends)), bugs_(bugs), rounds_(rounds) {}

  // Explores everything up to `max_depth` deliveries that were taken.
  ModelResult Explore(size_t max_depth);

 private:
  // What one end has become after the messages it took; follows from them alone.
  struct Local {
    size_t end = 0;
    std::vector<int> taken;  // message ids
    std::vector<int> sent;   // message ids
    bool dead = false;
    bool established = false;
    uint32_t round = 0;
    std::map<uint32_t, std::string> agreed;  // by completed round: session id, secret, th
    Hello hello;                             // the last one that it sent
    bool wants_hello = false;
    std::vector<std::string> evidence_taken;  // payloads
    std::vector<std::string> evidence_sent;
    std::vector<int> accepts_taken;
    std::vector<int> accepts_sent;
    std::array<std::string, 4> covered;  // what th of the round under way covers, in its order
  };

  int Intern(const std::string& message);
  int LocalAfter(int local, int message);  // memoised; the new local state, maybe a dead one
  int MakeLocal(size_t end, std::vector<int> taken);
  std::set<int> Attacks(const std::vector<int>& state, size_t end);
  void AddCraftedHellos(const Local& target, const std::set<int>& known, std::set<int>* out);
  void AddRewrappedEvidence(const Local& target, const std::set<int>& known, std::set<int>* out);
  void AddForgedAccept(const Local& target, std::set<int>* out);
  void Take(Local* local, const std::string& message);
  void Send(Local* local, const std::string& message);
  void Check(const std::vector<int>& state, size_t end);
  const Local* PeerOf(const std::vector<int>& state, size_t end) const;
  void Violation(size_t end, const std::string& what);

  const std::vector<ModelEnd> ends_;
  const HandshakeBugsForTest bugs_;
  const uint32_t rounds_;
  std::vector<std::string> messages_;
  std::map<std::string, int> message_ids_;
  std::vector<Local> locals_;
  std::map<std::pair<size_t, std::vector<int>>, int> local_ids_;
  std::map<std::pair<int, int>, int> steps_;
  std::set<std::string> violations_;
};

}  // namespace caravan::session

#endif  // CARAVAN_TESTS_ADVERSARY_HANDSHAKE_MODEL_H_
