// SPDX-License-Identifier: Apache-2.0
//
// Pictures of a comparison: allreduce's bus bandwidth and latency against size, a line a contender.
#ifndef CARAVAN_BENCH_PLOTS_H_
#define CARAVAN_BENCH_PLOTS_H_

#include <string>

#include "absl/status/status.h"
#include "bench/ratios.h"

namespace caravan::bench {

// The points of one picture as gnuplot reads them: a block a contender, lines of "size median-time
// (µs) busbw (GB/s)"; busbw = size / time × 2(ranks − 1) / ranks. Empty where nothing was measured
// with so many ranks.
std::string PlotData(const Measurements& measurements, int ranks);

// Writes allreduce-R-ranks-busbw and …-latency as .svg and .png for each rank count R measured,
// with their data (.dat) and gnuplot scripts (.gnuplot), into `folder`, which is made where it is
// missing. FailedPrecondition where gnuplot is missing or fails.
absl::Status WritePlots(const Measurements& measurements, const std::string& folder);

}  // namespace caravan::bench

#endif  // CARAVAN_BENCH_PLOTS_H_
