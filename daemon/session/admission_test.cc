// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/admission.h"

#include <gtest/gtest.h>

#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(HalfOpenGate, CapsInAllAndBySource) {
  HalfOpenGate gate(3, 2);
  EXPECT_TRUE(gate.Enter("a").ok());
  EXPECT_TRUE(gate.Enter("a").ok());
  EXPECT_EQ(ReasonOf(gate.Enter("a")), kHalfOpenSource);
  EXPECT_TRUE(gate.Enter("b").ok());
  EXPECT_EQ(ReasonOf(gate.Enter("c")), kHalfOpen);
  EXPECT_EQ(gate.total(), 3);
  gate.Leave("a");
  gate.Leave("never entered");
  EXPECT_EQ(gate.total(), 2);
  EXPECT_TRUE(gate.Enter("a").ok());
}

TEST(HalfOpenGate, CountsNoMoreThanItsCapsHoweverManyTry) {
  HalfOpenGate gate(256, 32);
  int entered = 0;
  for (int i = 0; i < 10000; ++i) {
    if (gate.Enter("10.0." + std::to_string(i % 200) + ".1").ok()) ++entered;
  }
  EXPECT_EQ(entered, 256);
  EXPECT_EQ(gate.total(), 256);
}

TEST(EvidenceBudget, GivesASecondsWorthAtOnceAndThenMakesThemWait) {
  EvidenceBudget budget(10);
  const EvidenceBudget::Time start{};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(budget.Take(start, start), start);
  // The eleventh and twelfth wait their turn, a tenth of a second each.
  const auto eleventh = budget.Take(start, start + seconds(1));
  const auto twelfth = budget.Take(start, start + seconds(1));
  ASSERT_TRUE(eleventh.has_value() && twelfth.has_value());
  EXPECT_NEAR(std::chrono::duration<double>(*eleventh - start).count(), 0.1, 1e-6);
  EXPECT_NEAR(std::chrono::duration<double>(*twelfth - start).count(), 0.2, 1e-6);
  EXPECT_EQ(budget.Take(start, start + milliseconds(50)), std::nullopt);
  // A refusal costs nothing; time fills the bucket up to its brim, not beyond.
  int taken = 0;
  while (budget.Take(start + seconds(60), start + seconds(60)).has_value()) ++taken;
  EXPECT_EQ(taken, 10);
}

TEST(EvidenceBudget, OfNothingGivesNothing) {
  EvidenceBudget budget(0);
  const EvidenceBudget::Time start{};
  EXPECT_EQ(budget.Take(start, start + seconds(3600)), std::nullopt);
}

}  // namespace
}  // namespace caravan::session
