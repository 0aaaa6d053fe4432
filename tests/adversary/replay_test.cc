// SPDX-License-Identifier: Apache-2.0
//
// Genuine records where they do not belong: of an earlier operation, of another one, of another
// epoch, of a communicator beside this one, for and from other ranks. As they came each is refused
// for what it is; with the header of the record that is due, for its tag.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collective/simulate/shapes_for_test.h"
#include "crypto/record.h"
#include "daemon/engine/operations_testing.h"
#include "tests/adversary/wire_proxy.h"

namespace caravan::adversary {
namespace {

using collective::Algorithm;
using collective::OperationSpec;
using collective::ShapeForTest;
using engine::Fault;
using Op = collective::Operation;
using ::testing::HasSubstr;

constexpr int kRanks = 3;
using Route = std::pair<int, int>;

// A communicator whose every record passes through the adversary's hands.
class Tapped {
 public:
  Tapped(const std::vector<engine::Engine*>& engines, uint8_t epoch) {
    engine::CommunicatorOptionsForTest options;
    options.epoch = epoch;
    options.connect = [this](int a, int b, int) {
      proxies_.push_back(std::make_unique<WireProxy>());
      return proxies_.back()->Connect(Tap({a, b}), Tap({b, a}));
    };
    comm_ = std::make_unique<engine::CommunicatorForTest>(engines, options);
  }

  engine::CommunicatorForTest& comm() { return *comm_; }

  void Run(const ShapeForTest& shape) {
    const engine::OperationForTest run = Submit(shape);
    engine::CheckForTest(*comm_, run);
  }
  engine::OperationForTest Submit(const ShapeForTest& shape) {
    OperationSpec spec;
    spec.op = shape.op;
    spec.algorithm = shape.algorithm;
    // Towards rank 1 from rank 0, whatever the root does.
    spec.root = shape.op == Op::kGather || shape.op == Op::kReduce ? 1 : 0;
    spec.count = collective::CountForTest(shape.op, spec.dtype, kRanks, 20'000);
    return engine::SubmitForTest(*comm_, spec, 1);
  }

  // The first record of operation `sequence` that went from one rank to another.
  std::optional<WireBytes> Captured(Route route, uint64_t sequence) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const WireBytes& record : seen_[route]) {
      if (crypto::DecodeRecordHeader(HeaderOf(record))->sequence == sequence) return record;
    }
    return std::nullopt;
  }
  // From now on, instead of the next record from rank 0 to rank 1: `record`, or its ciphertext and
  // tag under the header of the one that is due.
  void Inject(const WireBytes& record, bool forged) {
    std::lock_guard<std::mutex> lock(mutex_);
    injected_ = record;
    forged_ = forged;
  }

 private:
  static absl::Span<const uint8_t> HeaderOf(const WireBytes& record) {
    return absl::MakeSpan(record).first(crypto::kRecordHeaderSize);
  }
  WireProxy::Tamper Tap(Route route) {
    return [this, route](int, const WireBytes& record) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (route != Route{0, 1} || !injected_.has_value()) {
        seen_[route].push_back(record);
        return std::vector<WireBytes>{record};
      }
      WireBytes instead = *std::exchange(injected_, std::nullopt);
      if (forged_) {
        instead.resize(record.size());
        std::copy_n(record.begin(), crypto::kRecordHeaderSize, instead.begin());
      }
      return std::vector<WireBytes>{instead};
    };
  }

  std::mutex mutex_;
  std::map<Route, std::vector<WireBytes>> seen_;
  std::optional<WireBytes> injected_;
  bool forged_ = false;
  // The first to go: the communicator closes the lanes, and then no thread uses the above.
  std::vector<std::unique_ptr<WireProxy>> proxies_;
  std::unique_ptr<engine::CommunicatorForTest> comm_;
};

enum class Origin { kEarlier, kOtherKind, kEarlierEpoch, kBeside, kToAnother, kFromAnother, kOwn };
struct Named {
  Origin origin;
  const char* name;
  std::vector<const char*> words;  // of the reason, where the record is as it came
};

const std::vector<Named>& Origins() {
  static const std::vector<Named>& origins = *new std::vector<Named>{
      {Origin::kEarlier, "an earlier operation", {"RECORD_REPLAYED", "RECORD_UNEXPECTED"}},
      {Origin::kOtherKind, "an earlier operation of another kind", {"RECORD_REPLAYED"}},
      {Origin::kEarlierEpoch, "an earlier epoch", {"RECORD_EPOCH"}},
      {Origin::kBeside, "a communicator beside this one", {"RECORD_EPOCH"}},
      // What all may read under sender keys, again.
      {Origin::kToAnother, "another destination", {"RECORD_UNEXPECTED", "RECORD_REPLAYED"}},
      {Origin::kFromAnother,
       "another source",
       {"RECORD_UNEXPECTED", "RECORD_REPLAYED", "RECORD_TAG"}},
      {Origin::kOwn, "the receiver itself", {"RECORD_UNEXPECTED", "RECORD_REPLAYED", "RECORD_TAG"}},
  };
  return origins;
}

class Replays : public ::testing::TestWithParam<ShapeForTest> {
 protected:
  Replays() : engines_(engine::StartEnginesForTest(kRanks)) {}

  std::unique_ptr<Tapped> Tap() {
    static std::atomic<uint8_t> epochs{0};
    return std::make_unique<Tapped>(engine::PointersForTest(engines_), ++epochs);
  }

  std::vector<std::unique_ptr<engine::Engine>> engines_;
};

TEST_P(Replays, AreRefusedWhereverTheyComeFrom) {
  // In direct operations every rank sends to every other.
  const ShapeForTest other = GetParam().op == Op::kAllGather
                                 ? ShapeForTest{Op::kAllToAll, Algorithm::kDirect}
                                 : ShapeForTest{Op::kAllGather, Algorithm::kDirect};
  int injected = 0;
  for (const Named& named : Origins()) {
    for (const bool forged : {false, true}) {
      SCOPED_TRACE(absl::StrCat("a record of ", named.name, forged ? ", forged" : ""));
      std::unique_ptr<Tapped> before;
      if (named.origin == Origin::kEarlierEpoch || named.origin == Origin::kBeside) {
        before = Tap();
        before->Run(GetParam());
        before->Run(GetParam());
      }
      std::optional<WireBytes> foreign;
      if (before != nullptr) foreign = before->Captured({0, 1}, 1);
      if (named.origin == Origin::kEarlierEpoch) before.reset();
      auto tapped = Tap();
      tapped->Run(GetParam());
      tapped->Run(other);
      switch (named.origin) {
        case Origin::kEarlier:
          foreign = tapped->Captured({0, 1}, 0);
          break;
        case Origin::kOtherKind:
          foreign = tapped->Captured({0, 1}, 1);
          break;
        case Origin::kToAnother:
          foreign = tapped->Captured({0, 2}, 0);
          break;
        case Origin::kFromAnother:
          foreign = tapped->Captured({2, 1}, 0);
          break;
        case Origin::kOwn:
          foreign = tapped->Captured({1, 2}, 0);
          if (!foreign.has_value()) foreign = tapped->Captured({1, 0}, 0);
          break;
        case Origin::kEarlierEpoch:
        case Origin::kBeside:
          break;
      }
      // Some plans send nothing that way.
      if (!foreign.has_value() || !tapped->Captured({0, 1}, 0).has_value()) continue;
      ++injected;
      tapped->Inject(*foreign, forged);
      const engine::OperationForTest run = tapped->Submit(GetParam());
      std::optional<Fault> fault;
      for (absl::Time end = absl::Now() + absl::Seconds(20); !fault && absl::Now() < end;) {
        for (int rank = 0; rank < kRanks && !fault; ++rank) {
          fault = tapped->comm().WaitFault(rank, absl::Milliseconds(2));
        }
      }
      ASSERT_TRUE(fault.has_value());
      std::vector<::testing::Matcher<std::string>> words;
      for (const char* word : named.words) {
        words.push_back(HasSubstr(absl::StrCat("[", forged ? "RECORD_TAG" : word, "]")));
      }
      EXPECT_THAT(fault->message, ::testing::AnyOfArray(words));
      EXPECT_EQ(fault->code, absl::StatusCode::kDataLoss);
      if (!absl::StrContains(fault->message, "cannot check")) {
        EXPECT_EQ(fault->rank, 1);
        EXPECT_EQ(fault->peer, 0);
      }
      const absl::Status reason(fault->code, fault->message);
      tapped->comm().FailAll(reason);
      EXPECT_EQ(tapped->comm().ring(1).Wait(run.ids[1]), reason);
      // The communicator beside it goes on.
      if (before != nullptr) before->Run(GetParam());
    }
  }
  // A chain to rank 1 has nothing to another rank, nor from one.
  EXPECT_GE(injected, 8);
}

INSTANTIATE_TEST_SUITE_P(Each, Replays, ::testing::ValuesIn(collective::AllShapesForTest()),
                         [](const auto& info) { return collective::NameForTest(info.param); });

}  // namespace
}  // namespace caravan::adversary
