// SPDX-License-Identifier: Apache-2.0
#include "bench/plots.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Measurements Some() {
  Measurements measurements;
  for (const uint64_t bytes : {1024u, 65536u}) {
    Row row;
    row.bytes = bytes;
    row.ranks = 4;
    row.p50 = 1e-3;
    measurements.Add(Contender::kSecure, 0, row);
    row.p50 = 2e-3;
    measurements.Add(Contender::kGloo, 0, row);
  }
  return measurements;
}

TEST(Plots, GiveMicrosecondsAndBusBandwidth) {
  const std::string data = PlotData(Some(), 4);
  // 65536 B / 1 ms × 2 × 3 / 4 = 0.0983 GB/s.
  EXPECT_THAT(data, HasSubstr("# Caravan\n1024 1000.000 0.0015\n65536 1000.000 0.0983\n\n\n"));
  EXPECT_THAT(data, HasSubstr("# Gloo, plain TCP\n1024 2000.000 0.0008\n"));
  EXPECT_THAT(data, Not(HasSubstr("TLS")));
  EXPECT_EQ(PlotData(Some(), 2), "");
}

TEST(Plots, AreDrawnAsSvgAndPng) {
  if (std::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "gnuplot is not installed";
  const std::string folder = absl::StrCat(::testing::TempDir(), "/pictures here");
  ASSERT_TRUE(WritePlots(Some(), folder).ok());
  for (const char* name : {"busbw", "latency"}) {
    for (const char* kind : {".svg", ".png"}) {
      const std::string file = absl::StrCat(folder, "/allreduce-4-ranks-", name, kind);
      std::error_code error;
      EXPECT_GT(std::filesystem::file_size(file, error), 1000u) << file;
    }
  }
}

TEST(Plots, SayWhereTheyCannotBeWritten) {
  const absl::Status status = WritePlots(Some(), "/proc/nowhere");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace caravan::bench
