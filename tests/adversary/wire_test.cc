// SPDX-License-Identifier: Apache-2.0
//
// An adversary on the wire between two engines (docs/protocol.md, "Sealed records"): whatever it
// does to records is refused with its reason, counted, and nothing of it is delivered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "crypto/record.h"
#include "daemon/engine/engine_testing.h"
#include "tests/adversary/wire_proxy.h"

namespace caravan::adversary {
namespace {

using collective::DataType;
using engine::BufferForTest;
using engine::CommunicatorForTest;
using engine::CommunicatorOptionsForTest;
using engine::Fault;
using Op = collective::Operation;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Matcher;

constexpr uint64_t kBytes = 3 * 16384;  // three chunks from each rank
constexpr uint8_t kUntouched = 0xEE;

// Two ranks that gather from each other; the adversary holds the line from rank 0 to rank 1.
class WireTest : public ::testing::Test {
 protected:
  WireTest() : engines_(engine::StartEnginesForTest(3)) {}

  // `tamper` must own what it needs: records come until the next start or the fixture's end.
  void Start(WireProxy::Tamper tamper, uint8_t epoch = 1, int ranks = 2,
             absl::Duration deadline = absl::Seconds(20)) {
    CommunicatorOptionsForTest options;
    options.epoch = epoch;
    options.deadline = deadline;
    comm_.reset();
    proxy_ = std::make_unique<WireProxy>();
    options.connect = [&](int a, int b, int) {
      if (a == 0 && b == 1) return proxy_->Connect(tamper);
      return engine::ConnectedPairForTest(false, 0);
    };
    auto engines = engine::PointersForTest(engines_);
    engines.resize(ranks);
    comm_ = std::make_unique<CommunicatorForTest>(engines, options);
  }
  // Submits one all-gather on all ranks and returns rank 1's id and output.
  std::pair<uint64_t, BufferForTest> Gather() {
    std::pair<uint64_t, BufferForTest> mine;
    for (int rank = 0; rank < comm_->size(); ++rank) {
      const BufferForTest input = comm_->Allocate(rank, kBytes);
      const BufferForTest output = comm_->Allocate(rank, kBytes * comm_->size());
      std::fill_n(input.data, kBytes, static_cast<uint8_t>(rank + 1));
      std::fill_n(output.data, output.size, kUntouched);
      auto entry =
          engine::EntryForTest(Op::kAllGather, kBytes / 4, DataType::kFloat32, input, output);
      entry.algorithm = static_cast<uint8_t>(collective::Algorithm::kDirect);
      const uint64_t id = comm_->ring(rank).Submit(entry);
      if (rank == 1) mine = {id, output};
    }
    return mine;
  }
  void ExpectGathered() {
    const auto [id, output] = Gather();
    ASSERT_TRUE(comm_->ring(1).Wait(id).ok());
    EXPECT_TRUE(std::all_of(output.data, output.data + kBytes, [](uint8_t b) { return b == 1; }));
  }
  // Rank 1 refuses for `reason`; of rank 0's block, `delivered` chunks are in place, the rest is
  // untouched.
  void ExpectRefused(const BufferForTest& output, const Matcher<std::string>& reason,
                     uint64_t tag_failures, uint64_t delivered = 0) {
    const std::optional<Fault> fault = comm_->WaitFault(1);
    ASSERT_TRUE(fault.has_value());
    EXPECT_THAT(fault->message, reason);
    EXPECT_THAT(fault->message,
                AnyOf(HasSubstr("sequence"), HasSubstr("no operation outstanding")));
    EXPECT_EQ(fault->peer, 0);
    EXPECT_FALSE(fault->mismatch);
    EXPECT_EQ(comm_->Status(1).tag_failures, tag_failures);
    const uint8_t* at = output.data;
    EXPECT_TRUE(std::all_of(at, at + delivered * 16384, [](uint8_t b) { return b == 1; }));
    EXPECT_TRUE(std::all_of(at + delivered * 16384, at + kBytes,
                            [](uint8_t b) { return b == kUntouched; }));
    comm_->FailAll(absl::DataLossError(fault->message));
    EXPECT_TRUE(absl::IsDataLoss(comm_->Status(1).failure));
  }

  std::vector<std::unique_ptr<engine::Engine>> engines_;
  std::unique_ptr<WireProxy> proxy_;
  std::unique_ptr<CommunicatorForTest> comm_;
};

WireProxy::Tamper Honest() {
  return [](int, const WireBytes& record) { return std::vector<WireBytes>{record}; };
}

TEST_F(WireTest, HonestProxyChangesNothing) {
  Start(Honest());
  for (int i = 0; i < 3; ++i) ExpectGathered();
}

struct Field {
  const char* name;
  size_t first, last;  // bytes of the record; counted from the end where negative
  bool from_end;
  std::vector<const char*> reasons;
};

class FlipTest : public WireTest, public ::testing::WithParamInterface<Field> {};

TEST_P(FlipTest, IsRefused) {
  const Field& field = GetParam();
  std::vector<Matcher<std::string>> reasons;
  for (const char* reason : field.reasons) {
    reasons.push_back(HasSubstr(absl::StrCat("[", reason, "]")));
  }
  for (size_t byte = field.first; byte <= field.last; ++byte) {
    for (const uint8_t mask : {0x01, 0x80}) {
      SCOPED_TRACE(absl::StrCat("byte ", byte, ", mask ", mask));
      Start([field, byte, mask](int index, const WireBytes& record) {
        WireBytes changed = record;
        if (index == 0) changed[field.from_end ? changed.size() - 1 - byte : byte] ^= mask;
        return std::vector<WireBytes>{changed};
      });
      const auto [id, output] = Gather();
      const std::optional<Fault> fault = comm_->WaitFault(1);
      ASSERT_TRUE(fault.has_value());
      const bool tag = fault->message.find("[RECORD_TAG]") != std::string::npos;
      ExpectRefused(output, ::testing::AnyOfArray(reasons), tag ? 1 : 0);
      EXPECT_TRUE(absl::IsDataLoss(comm_->ring(1).Wait(id)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, FlipTest,
    ::testing::Values(Field{"Version", 0, 0, false, {"RECORD_MALFORMED"}},
                      Field{"Suite", 1, 1, false, {"RECORD_MALFORMED"}},
                      Field{"Operation", 2, 2, false, {"RECORD_TAG"}},
                      Field{"Flags", 3, 3, false, {"RECORD_UNEXPECTED", "RECORD_MALFORMED"}},
                      Field{"Phase", 4, 5, false, {"RECORD_UNEXPECTED"}},
                      Field{"Source", 6, 7, false, {"RECORD_UNEXPECTED"}},
                      Field{"Destination", 8, 9, false, {"RECORD_UNEXPECTED"}},
                      Field{"Zero", 10, 11, false, {"RECORD_MALFORMED"}},
                      Field{
                          "PayloadSize", 12, 15, false, {"RECORD_UNEXPECTED", "RECORD_MALFORMED"}},
                      Field{"Epoch", 16, 23, false, {"RECORD_EPOCH"}},
                      Field{"Sequence", 24, 31, false, {"RECORD_TAG"}},
                      Field{"Chunk", 32, 35, false, {"RECORD_REORDERED", "RECORD_MALFORMED"}},
                      Field{"ChunkCount", 36, 39, false, {"RECORD_UNEXPECTED"}},
                      Field{"Digest", 40, 47, false, {"RECORD_TAG"}},
                      Field{"Ciphertext", 48, 49, false, {"RECORD_TAG"}},
                      Field{"Tag", 0, 15, true, {"RECORD_TAG"}}),
    [](const auto& info) { return info.param.name; });

TEST_F(WireTest, TruncationIsSeen) {
  for (const size_t kept : {size_t{1}, size_t{47}, size_t{48}, size_t{5000}}) {
    Start([kept](int index, const WireBytes& record) {
      if (index < 1) return std::vector<WireBytes>{record};
      return std::vector<WireBytes>{WireBytes(record.begin(), record.begin() + kept), {}};
    });
    ExpectRefused(Gather().second, HasSubstr("[RECORD_TRUNCATED]"), 0, 1);
  }
}

TEST_F(WireTest, EndOfTheConnectionBetweenRecordsIsSeen) {
  Start([](int index, const WireBytes& record) {
    if (index < 2) return std::vector<WireBytes>{record};
    return std::vector<WireBytes>{{}};
  });
  ExpectRefused(Gather().second, HasSubstr("[PEER_CLOSED]"), 0, 2);
}

TEST_F(WireTest, ReorderingIsRefused) {
  Start([held = WireBytes()](int index, const WireBytes& record) mutable {
    if (index == 0) held = record;
    if (index == 0) return std::vector<WireBytes>{};
    if (index == 1) return std::vector<WireBytes>{record, held};
    return std::vector<WireBytes>{record};
  });
  ExpectRefused(Gather().second, HasSubstr("[RECORD_REORDERED]"), 0);
}

TEST_F(WireTest, LossOfARecordIsSeen) {
  Start([](int index, const WireBytes& record) {
    if (index == 1) return std::vector<WireBytes>{};
    return std::vector<WireBytes>{record};
  });
  ExpectRefused(Gather().second, HasSubstr("[RECORD_REORDERED]"), 0, 1);
}

TEST_F(WireTest, ReplayWithinAnOperationIsRefused) {
  Start([](int index, const WireBytes& record) {
    if (index == 0) return std::vector<WireBytes>{record, record};
    return std::vector<WireBytes>{record};
  });
  ExpectRefused(Gather().second, HasSubstr("[RECORD_REPLAYED]"), 0, 1);
}

TEST_F(WireTest, ReplayOfAnEarlierOperationIsRefused) {
  Start([first = WireBytes()](int index, const WireBytes& record) mutable {
    if (index == 0) first = record;
    if (index == 3) return std::vector<WireBytes>{first, record};
    return std::vector<WireBytes>{record};
  });
  ExpectGathered();
  ExpectRefused(Gather().second, HasSubstr("[RECORD_REPLAYED]"), 0);
}

TEST_F(WireTest, ReplayIntoSilenceIsRefusedByTheNextOperation) {
  Start([](int index, const WireBytes& record) {
    if (index == 2) return std::vector<WireBytes>{record, record};
    return std::vector<WireBytes>{record};
  });
  ExpectGathered();
  ExpectRefused(Gather().second, HasSubstr("[RECORD_REPLAYED]"), 0);
}

TEST_F(WireTest, ReplayOfAnotherEpochIsRefused) {
  std::vector<WireBytes> earlier;
  std::mutex mutex;
  Start(
      [&](int, const WireBytes& record) {
        std::lock_guard<std::mutex> lock(mutex);
        earlier.push_back(record);
        return std::vector<WireBytes>{record};
      },
      1);
  ExpectGathered();
  const std::vector<WireBytes> captured = [&] {
    std::lock_guard<std::mutex> lock(mutex);
    return earlier;
  }();
  auto replay = [captured](int index, const WireBytes&) {
    return std::vector<WireBytes>{captured[index]};
  };
  Start(replay, 2);
  ExpectRefused(Gather().second, HasSubstr("[RECORD_EPOCH]"), 0);
  // With the epoch in the header made to fit, the key does not.
  auto forged = [captured](int index, const WireBytes& record) {
    WireBytes changed = captured[index];
    std::copy_n(record.begin() + 16, 8, changed.begin() + 16);
    return std::vector<WireBytes>{changed};
  };
  Start(forged, 3);
  ExpectRefused(Gather().second, HasSubstr("[RECORD_TAG]"), 1);
}

TEST_F(WireTest, SpliceBetweenStreamsIsRefused) {
  // The second record's ciphertext and tag under the first one's header.
  Start([first = WireBytes()](int index, const WireBytes& record) mutable {
    if (index == 0) first = record;
    if (index == 0) return std::vector<WireBytes>{};
    WireBytes spliced = record;
    std::copy_n(first.begin(), crypto::kRecordHeaderSize, spliced.begin());
    return std::vector<WireBytes>{spliced};
  });
  ExpectRefused(Gather().second, HasSubstr("[RECORD_TAG]"), 1);
}

TEST_F(WireTest, SpliceFromAnotherRankIsRefused) {
  // A record of rank 2's stream, which rank 1 expects, but from rank 2.
  Start(
      [](int index, const WireBytes& record) {
        WireBytes changed = record;
        if (index == 0) changed[6] = 2;
        return std::vector<WireBytes>{changed};
      },
      1, 3);
  ExpectRefused(Gather().second,
                AnyOf(HasSubstr("[RECORD_UNEXPECTED]"), HasSubstr("[RECORD_REPLAYED]")), 0);
}

TEST_F(WireTest, DelayPastTheDeadlineEndsTheOperation) {
  Start(
      [](int index, const WireBytes& record) {
        if (index == 1) absl::SleepFor(absl::Milliseconds(500));
        return std::vector<WireBytes>{record};
      },
      1, 2, absl::Milliseconds(150));
  const std::pair<uint64_t, BufferForTest> mine = Gather();
  const std::optional<Fault> fault = comm_->WaitFault(1);
  ASSERT_TRUE(fault.has_value());
  EXPECT_THAT(fault->message, HasSubstr("[DEADLINE]"));
  comm_->FailAll(absl::DeadlineExceededError(fault->message));
  EXPECT_TRUE(absl::IsDeadlineExceeded(comm_->ring(1).Wait(mine.first)));
  // The late records find nobody.
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_TRUE(std::all_of(mine.second.data + 16384, mine.second.data + kBytes,
                          [](uint8_t b) { return b == kUntouched; }));
}

}  // namespace
}  // namespace caravan::adversary
