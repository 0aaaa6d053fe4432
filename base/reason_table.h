// SPDX-License-Identifier: Apache-2.0
//
// All words by which Caravan itself refuses, once each: base/reason.h makes and reads them.
#ifndef CARAVAN_BASE_REASON_TABLE_H_
#define CARAVAN_BASE_REASON_TABLE_H_

#include "absl/strings/string_view.h"

namespace caravan::base {

struct ReasonRow {
  absl::string_view word;
  absl::string_view meaning;  // one sentence
  absl::string_view remedy;   // what the user can do
};

inline constexpr ReasonRow kReasonTable[] = {
    // The channel.
    {"TLS_VERSION", "The peer does not speak TLS 1.3.", "Run the same release on both nodes."},
    {"TLS_ALPN", "The peer does not offer Caravan's application protocol.",
     "See that the address is a caravand's control address."},
    {"TLS_EARLY_DATA", "The peer sent early data, which could be replayed.",
     "Run the same release on both nodes."},
    {"TLS_RESUMPTION", "The peer tried to resume an earlier TLS session.",
     "Run the same release on both nodes."},
    {"TLS_NO_CERTIFICATE", "The peer presented no certificate.",
     "See that the address is a caravand's control address."},
    {"TLS_CERTIFICATE_CHAIN", "The peer presented more than its one certificate.",
     "Run the same release on both nodes."},
    {"TLS_CERTIFICATE_KEY",
     "The certificate's key is not Ed25519, or is encoded in another way than RFC 8410's.",
     "Run the same release on both nodes."},
    {"TLS_CERTIFICATE_SIGNATURE", "The certificate is not signed by its own key.",
     "Look for a proxy between the nodes."},
    {"TLS_MESSAGE_SIZE", "A TLS message is larger than allowed.",
     "See that the address is a caravand's control address."},
    {"TLS_PARAMETERS", "Another suite, group or signature algorithm was negotiated.",
     "Run the same release on both nodes."},
    {"TLS_PEER_ALERT", "The peer ended the TLS handshake with an alert.",
     "Read the peer's log: it says why."},
    {"TLS_PROTOCOL", "What arrived is not TLS, or was changed on the way.",
     "See that the address is a caravand's; look for a proxy between the nodes."},
    {"TLS_LOCAL", "This node lacked memory or randomness for TLS.", "See this node's memory."},
    {"EXPORTER", "The channel yielded no keying material.", "Report it with both logs."},
    {"SELF", "The peer holds this node's own key.",
     "Correct the address, which leads back here; never copy a node's key."},
    // Frames and messages.
    {"FRAME_STREAM", "A frame names a stream that does not exist.",
     "Run the same release on both nodes."},
    {"FRAME_FLAGS", "A frame has unknown flags.", "Run the same release on both nodes."},
    {"FRAME_LENGTH", "A frame is longer than allowed.", "Run the same release on both nodes."},
    {"FRAME_EARLY", "Data arrived before both sides had accepted each other.",
     "Run the same release on both nodes."},
    {"FRAME_ENDED", "Data arrived after its stream had ended.",
     "Run the same release on both nodes."},
    {"MESSAGE_TYPE", "A message is of an unknown type.", "Run the same release on both nodes."},
    {"MESSAGE_SIZE", "A message is larger than its type allows.",
     "Run the same release on both nodes."},
    {"MESSAGE_FORMAT", "A message cannot be read.", "Run the same release on both nodes."},
    {"MESSAGE_ORDER", "A message came when another was due.",
     "Run the same release on both nodes."},
    // Hello, evidence, Accept.
    {"HELLO_VERSION", "The peer speaks another version of the handshake.",
     "Run the same release on both nodes."},
    {"HELLO_ROLE", "The peer claims this side's role.", "Run the same release on both nodes."},
    {"HELLO_ROUND", "The hello is of another attestation round.",
     "Run the same release on both nodes."},
    {"HELLO_NONCE", "The peer's nonce is this node's own, or zeros.",
     "Look for something between the nodes that reflects messages."},
    {"HELLO_REPLACES", "The peer would replace a session that it cannot prove to share.",
     "Connect again: both begin without the old session."},
    {"EVIDENCE_ROLE", "The evidence is of the other role.",
     "Look for something between the nodes that reflects messages."},
    {"EVIDENCE_ROUND", "The evidence is of another attestation round.",
     "Look for something between the nodes that replays messages."},
    {"EVIDENCE_SESSION", "The evidence is of another session.",
     "Look for something between the nodes that relays messages."},
    {"EVIDENCE_NONCE", "The evidence is of another handshake.",
     "Look for something between the nodes that replays messages."},
    {"EVIDENCE_POLICY", "The evidence answers another policy than this node's.",
     "Look for something between the nodes that replays messages."},
    {"EVIDENCE_FORMAT", "The evidence cannot be read.", "Run the same release on both nodes."},
    {"APPRAISAL", "The evidence was refused and no decisive check was named.",
     "Run caravanctl verify on the evidence."},
    {"NOT_APPRAISED", "Nothing appraised the evidence.", "See that the policy has rules for it."},
    {"ATTESTER", "The node could not make its evidence.",
     "See that node's log and its attestation device."},
    {"ACCEPT_ROUND", "The acceptance is of another attestation round.",
     "Run the same release on both nodes."},
    {"ACCEPT_MAC", "The two sides differ in pre-shared key or in what they saw of the handshake.",
     "Give both nodes the same pre-shared key; look for a proxy between them."},
    // The host.
    {"HALF_OPEN", "Too many handshakes are under way.", "Try again; see who connects so often."},
    {"HALF_OPEN_SOURCE", "One source has too many handshakes under way.",
     "Try again; see why that source connects so often."},
    {"SESSIONS", "Too many sessions are open.", "Close sessions, or raise the limit."},
    {"EVIDENCE_RATE", "Evidence is asked of this node more often than allowed.",
     "Try again later."},
    {"DEADLINE", "It did not happen in time.",
     "See the rank or node that the message names, and the network to it."},
    {"CROSSING", "Both sides connected at once, and the other connection is kept.",
     "Nothing: the other connection serves."},
    {"REPLACED", "A newer session with the peer takes over.", "Nothing: ask over the newer one."},
    {"CLOSED", "The session was closed on purpose.", "Nothing, or connect again."},
    {"LOST", "The connection ended without a farewell.",
     "See whether the peer runs, and the network to it."},
    // Applications and their operations.
    {"APPLICATION_RING", "The application's submission ring holds an entry that is not allowed.",
     "Correct the application, or use the client library of this release."},
    {"APPLICATION_BUFFER", "An operation names memory that it may not use.",
     "Correct the buffer, offset or count that the message names."},
    {"OPERATION_MISMATCH", "Ranks called different operations.",
     "Call the same operations in the same order on all ranks."},
    {"RANK_LEFT", "A rank has left the communicator while others call an operation.",
     "Let all ranks leave after the same operation."},
    {"PLAN", "The operation's steps could not be prepared.", "See the reason in the message."},
    {"COUNTERS", "What an operation moved differs from its plan.", "Report it with all logs."},
    {"SEAL", "A record could not be encrypted.", "Report it with this node's log."},
    {"OPEN", "A record could not be decrypted for a reason of this node.",
     "Report it with this node's log."},
    // Records between nodes.
    {"RECORD_MALFORMED", "A record's header cannot be read.",
     "Look for something on the network that changes bytes."},
    {"RECORD_EPOCH", "A record is of another epoch.",
     "Look for something on the network that replays records."},
    {"RECORD_UNEXPECTED", "A record is none that the plan expects here.",
     "Look for something on the network that changes or splices records."},
    {"RECORD_REPLAYED", "A record was taken before, or its operation has ended here.",
     "Look for something on the network that replays records."},
    {"RECORD_REORDERED", "A record arrived before one that precedes it.",
     "Look for something on the network that drops or reorders records."},
    {"RECORD_TAG", "A record is not authentic.",
     "Look for something on the network that changes bytes."},
    {"RECORD_TRUNCATED", "The connection ended within a record.",
     "See whether the peer runs, and the network to it."},
    {"PEER_CLOSED", "The peer closed a data connection.", "Read the peer's log: it says why."},
    {"CONNECTION_FAILED", "A data connection failed on this node.",
     "See the network between the two nodes."},
};

}  // namespace caravan::base

#endif  // CARAVAN_BASE_REASON_TABLE_H_
