// SPDX-License-Identifier: Apache-2.0
//
// What the application makes of a ring that the daemon has broken.
#include "client/ring.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::client {
namespace {

using ::testing::HasSubstr;
using v1::SharedRing;

class RingTest : public ::testing::Test {
 protected:
  RingTest() {
    EXPECT_EQ(ftruncate(memory_.get(), sizeof(SharedRing)), 0);
    EXPECT_EQ(fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    mapping_ = *Mapping::Map(memory_, sizeof(SharedRing));
    shared_ = new (mapping_->data()) SharedRing{};
    shared_->magic = v1::kRingMagic;
    shared_->version = v1::kRingVersion;
    shared_->capacity = v1::kRingCapacity;
    shared_->rank = 1;
    shared_->size = 4;
  }

  absl::StatusOr<std::shared_ptr<Work::Impl>> Open(uint64_t bytes = sizeof(SharedRing)) {
    return Ring::Open(*Mapping::Map(memory_, bytes), 1, 4, wake_.get());
  }

  void Complete(uint64_t id, uint32_t code) {
    const uint64_t at = shared_->complete_tail.load();
    shared_->completions[at % v1::kRingCapacity] = {id, code, 0};
    shared_->complete_tail.store(at + 1);
  }

  base::Descriptor memory_{memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  base::Descriptor wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::unique_ptr<Mapping> mapping_;
  SharedRing* shared_ = nullptr;
};

TEST_F(RingTest, RefusesAHeaderThatIsNotOurs) {
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Open(sizeof(SharedRing) - 1).status().code(), absl::StatusCode::kInternal);
  for (uint32_t SharedRing::*field :
       {&SharedRing::magic, &SharedRing::version, &SharedRing::capacity, &SharedRing::rank,
        &SharedRing::size}) {
    shared_->*field ^= 0x80000000;
    EXPECT_EQ(Open().status().code(), absl::StatusCode::kInternal);
    shared_->*field ^= 0x80000000;
  }
}

TEST_F(RingTest, WakesTheDaemonOnlyWhenItSleeps) {
  auto ring = *Open();
  uint64_t count = 0;
  ASSERT_EQ(*ring->Submit({}), 0);
  EXPECT_LT(read(wake_.get(), &count, sizeof count), 0);
  shared_->daemon_sleeping = 1;
  ASSERT_EQ(*ring->Submit({}), 1);
  EXPECT_EQ(read(wake_.get(), &count, sizeof count), 8);
  EXPECT_EQ(shared_->submit_tail, 2);
  EXPECT_EQ(shared_->entries[1].id, 1);
}

TEST_F(RingTest, KeepsASuccessThatCameBeforeTheFailure) {
  auto ring = *Open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring->Submit({}).ok());
  Complete(0, 0);
  memcpy(shared_->reason, "peer gone", 9);
  shared_->reason_size = 9;
  shared_->failed = static_cast<uint32_t>(absl::StatusCode::kUnavailable);
  Complete(1, 14);
  EXPECT_EQ(ring->Wait(0, absl::InfinitePast()), absl::OkStatus());
  EXPECT_EQ(ring->Wait(1, absl::InfinitePast()), absl::UnavailableError("peer gone"));
  // Not completed yet, but it can't succeed any more.
  EXPECT_EQ(ring->Wait(2, absl::InfinitePast()), absl::UnavailableError("peer gone"));
}

TEST_F(RingTest, FailsAnOperationWithoutAReason) {
  auto ring = *Open();
  ASSERT_TRUE(ring->Submit({}).ok());
  Complete(0, 13);
  EXPECT_EQ(ring->Wait(0, absl::InfinitePast()).code(), absl::StatusCode::kInternal);
}

TEST_F(RingTest, KeepsTheFirstFailure) {
  auto ring = *Open();
  ASSERT_TRUE(ring->Submit({}).ok());
  ring->Fail(absl::UnavailableError("first"));
  ring->Fail(absl::InternalError("second"));
  shared_->failed = 1;
  EXPECT_EQ(ring->Failure(), absl::UnavailableError("first"));
  EXPECT_EQ(ring->Wait(0, absl::InfiniteFuture()), absl::UnavailableError("first"));
}

TEST_F(RingTest, CarriesAReasonOfFullLength) {
  auto ring = *Open();
  memset(shared_->reason, 'r', sizeof shared_->reason);
  shared_->reason_size = v1::kReasonCapacity;
  shared_->failed = 8;
  EXPECT_EQ(ring->Failure(), absl::ResourceExhaustedError(std::string(2048, 'r')));
}

TEST_F(RingTest, RefusesAnOperationThatWasNeverSubmitted) {
  auto ring = *Open();
  EXPECT_EQ(ring->Wait(0, absl::InfiniteFuture()).code(), absl::StatusCode::kInvalidArgument);
}

struct Damage {
  std::string name;
  std::function<void(SharedRing&)> apply;  // after two operations, the first complete
};

class BrokenRing : public RingTest, public ::testing::WithParamInterface<Damage> {};

TEST_P(BrokenRing, FailsEveryOperationAndNeverHangs) {
  auto ring = *Open();
  ASSERT_TRUE(ring->Submit({}).ok());
  ASSERT_TRUE(ring->Submit({}).ok());
  Complete(0, 0);
  ASSERT_EQ(ring->Wait(0, absl::InfinitePast()), absl::OkStatus());
  GetParam().apply(*shared_);
  const absl::Status status = ring->Wait(1, absl::InfiniteFuture());
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the daemon broke the ring"));
  EXPECT_EQ(ring->Submit({}).status(), status);
  EXPECT_EQ(ring->Failure(), status);
  EXPECT_EQ(ring->Wait(0, absl::InfinitePast()), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(
    Ring, BrokenRing,
    ::testing::Values(
        Damage{"MoreCompletionsThanOperations", [](SharedRing& r) { r.complete_tail = 3; }},
        Damage{"CompletionsFarAhead", [](SharedRing& r) { r.complete_tail = ~uint64_t{0}; }},
        Damage{"WrongId",
               [](SharedRing& r) {
                 r.completions[1] = {7, 0, 0};
                 r.complete_tail = 2;
               }},
        Damage{"UnknownCode",
               [](SharedRing& r) {
                 r.completions[1] = {1, 17, 0};
                 r.complete_tail = 2;
               }},
        Damage{"UnknownFailure", [](SharedRing& r) { r.failed = 1000; }},
        Damage{"ReasonTooLong",
               [](SharedRing& r) {
                 r.reason_size = v1::kReasonCapacity + 1;
                 r.failed = 1;
               }}),
    [](const auto& info) { return info.param.name; });

TEST_F(RingTest, SeesCompletionsThatAreTakenBack) {
  auto ring = *Open();
  ASSERT_TRUE(ring->Submit({}).ok());
  Complete(0, 0);
  ASSERT_EQ(ring->Wait(0, absl::InfinitePast()), absl::OkStatus());
  shared_->complete_tail = 0;
  EXPECT_EQ(ring->Submit({}).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace caravan::client
