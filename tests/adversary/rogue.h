// SPDX-License-Identifier: Apache-2.0
//
// A member of a communicator written a second time, in the plainest way, with deliberate bugs to
// switch on. It runs the same plans as the engines it plays with, holds its own keys as a member
// does, and lives on one thread of its own. With no bug it is an honest member: a test that finds
// none of its bugs would be no test.
#ifndef CARAVAN_TESTS_ADVERSARY_ROGUE_H_
#define CARAVAN_TESTS_ADVERSARY_ROGUE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "collective/plan/plan.h"
#include "collective/types.h"
#include "crypto/record.h"

namespace caravan::adversary {

using Bytes = std::vector<uint8_t>;

struct Bugs {
  // The operation that it runs where the others run what was agreed.
  std::function<void(collective::OperationSpec&)> spec = nullptr;
  uint64_t first_sequence = 0;  // it counts its operations from here

  // Faults of records. They are injected into one that this member sealed, or that it hands on
  // (`forwards`); `at` counts those, from 0.
  bool forwards = false;
  int at = 0;
  std::function<void(crypto::RecordHeader&)> header = nullptr;  // before sealing: its tag fits
  bool other_key = false;  // seals under the key to another rank
  bool corrupt = false;    // changes a byte of the payload
  bool twice = false;      // sends it again
  bool reseal = false;     // sends other bytes as well, sealed under the same nonce
  bool stale = false;      // sends the first record it ever sent that peer instead
  bool skip = false;       // does not send it
  bool garbage = false;    // sends bytes that are no record
  bool leave = false;      // closes its connections instead
  bool silent = false;     // from here on does nothing at all, and stays
  absl::Duration late = absl::ZeroDuration();  // sends it after this long
};

class Rogue {
 public:
  static constexpr int kChunkLog2 = 14;

  Rogue(int rank, int size, uint8_t epoch, Bugs bugs);
  ~Rogue();  // closes its connections
  Rogue(const Rogue&) = delete;
  Rogue& operator=(const Rogue&) = delete;

  // A connection with `peer`: returns the peer's end. Before Start().
  int Meet(int peer);
  // Takes part in these operations, its own views with algorithms resolved, one after another.
  void Start(std::vector<collective::OperationSpec> specs, std::vector<Bytes> inputs);
  // Waits for the end: the outputs of the operations that it completed.
  std::vector<Bytes> Finish();

 private:
  // One operation at this rank.
  struct Running {
    std::shared_ptr<const collective::Plan> plan;
    uint64_t sequence = 0;
    uint8_t wire_op = 0;
    std::array<uint8_t, 8> digest{};
    std::vector<uint32_t> waits;
    uint64_t left = 0;
    Bytes input, output, scratch, record;
    // By source, destination, phase and superchunk.
    std::map<std::tuple<uint16_t, uint16_t, uint16_t, uint32_t>,
             std::unique_ptr<crypto::RecordCipher>>
        ciphers;
  };
  struct Lane {
    int fd = -1;
    Bytes in;
    Bytes out;
    Bytes first;  // the first record that went out
    bool ended = false;
  };

  void Run(const std::vector<collective::OperationSpec>& specs, const std::vector<Bytes>& inputs);
  bool RunOne(Running& run);
  bool RunReady(Running& run);
  bool TakeRecords(Running& run, int peer);
  void Seal(Running& run, const collective::Step& step);
  void Open(Running& run, const collective::Step& step, const Bytes& record);
  void Ran(Running& run, const collective::Step& step);
  uint8_t* At(Running& run, const collective::Region& region);
  crypto::RecordHeader HeaderOf(const Running& run, const collective::Step& step) const;
  std::unique_ptr<crypto::RecordCipher> MakeCipher(const crypto::RecordHeader& header,
                                                   bool other_key) const;
  crypto::RecordCipher& CipherFor(Running& run, const crypto::RecordHeader& header);
  // Hands a record to its targets, or does what the bugs say.
  void Send(Running& run, const collective::Step& step, Bytes record, bool forwarded);
  bool Pump();  // reads and writes what can be; true when anything moved
  void Wait();  // until something may move
  bool Strikes(bool forwarded);
  void Leave();

  const int rank_;
  const int size_;
  const uint8_t epoch_;
  const Bugs bugs_;
  std::vector<Lane> lanes_;  // by rank
  int sealed_ = 0;
  int forwarded_ = 0;
  bool silent_ = false;
  std::vector<Bytes> outputs_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace caravan::adversary

#endif  // CARAVAN_TESTS_ADVERSARY_ROGUE_H_
