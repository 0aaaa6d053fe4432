// SPDX-License-Identifier: Apache-2.0
//
// A lane's stream: a peer that sends anything gets the operation to complete only where it sent the
// records that are due; else there is a fault, and the engine lives on. The first byte chooses the
// operation and algorithm, V forms included.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/time/clock.h"
#include "collective/simulate/shapes_for_test.h"
#include "daemon/engine/operations_testing.h"
#include "tests/adversary/wire_proxy.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

using collective::ShapeForTest;
using Op = collective::Operation;

constexpr size_t kMostBytes = 1 << 16;  // fits a socket

std::vector<ShapeForTest> Shapes() {
  std::vector<ShapeForTest> shapes = collective::AllShapesForTest();
  shapes.push_back({Op::kSend, collective::Algorithm::kDirect});
  return shapes;
}

std::vector<std::unique_ptr<engine::Engine>>& Engines() {
  static auto& engines = *new std::vector(engine::StartEnginesForTest(2));
  return engines;
}

// Two ranks; what rank 0 sends is the input.
engine::OperationForTest Submit(engine::CommunicatorForTest& comm, const ShapeForTest& shape) {
  collective::OperationSpec spec;
  spec.op = shape.op;
  spec.algorithm = shape.algorithm;
  spec.root = shape.op == Op::kGather || shape.op == Op::kReduce ? 1 : 0;
  spec.count = collective::CountForTest(shape.op, spec.dtype, 2, 100);
  return engine::SubmitForTest(comm, spec, 1);
}

std::string Recorded(const ShapeForTest& shape) {
  std::string bytes;
  std::mutex mutex;
  adversary::WireProxy proxy;
  engine::CommunicatorOptionsForTest options;
  options.connect = [&](int, int, int) {
    return proxy.Connect([&](int, const adversary::WireBytes& record) {
      std::lock_guard<std::mutex> lock(mutex);
      bytes.append(record.begin(), record.end());
      return std::vector<adversary::WireBytes>{record};
    });
  };
  engine::CommunicatorForTest comm(engine::PointersForTest(Engines()), options);
  engine::CheckForTest(comm, Submit(comm, shape));
  std::lock_guard<std::mutex> lock(mutex);
  return bytes;
}

}  // namespace

// These have all there is in two ranks' plans: several phases and chunks of pair and sender keys,
// counts that differ by rank, empty records, point to point. Any first byte reaches the others.
std::vector<std::string> Seeds() {
  const std::vector<ShapeForTest> shapes = Shapes();
  std::vector<std::string> seeds;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const bool direct = shapes[i].algorithm == collective::Algorithm::kDirect;
    const bool both_halves = shapes[i].algorithm == collective::Algorithm::kRingForward &&
                             shapes[i].op == Op::kAllReduce;
    if (both_halves ||
        (direct && (collective::HasCounts(shapes[i].op) || shapes[i].op == Op::kSend))) {
      seeds.push_back(static_cast<char>(i) + Recorded(shapes[i]));
    }
  }
  return seeds;
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  using fuzz::Require;
  if (size < 1 || size > fuzz::kMostBytes) return 0;
  static const std::vector<collective::ShapeForTest>& shapes = *new std::vector(fuzz::Shapes());
  const collective::ShapeForTest& shape = shapes[data[0] % shapes.size()];

  int peer = -1;
  engine::CommunicatorOptionsForTest options;
  options.connect = [&](int, int, int) {
    const auto [ours, theirs] = engine::ConnectedPairForTest(false, 0);
    peer = ours;
    return std::pair(-1, theirs);
  };
  {
    engine::CommunicatorForTest comm({nullptr, fuzz::Engines()[1].get()}, options);
    const engine::OperationForTest run = fuzz::Submit(comm, shape);
    (void)!send(peer, data + 1, size - 1, MSG_NOSIGNAL);
    shutdown(peer, SHUT_WR);
    // The receiver is the second of a pair.
    const size_t index = run.specs.size() - 1;
    const auto completed = [&] {
      return comm.ring(1).ring()->complete_tail.load() > run.ids[index];
    };
    const absl::Time end = absl::Now() + absl::Seconds(5);
    bool failed = false;
    while (!completed() && !failed) {
      Require(absl::Now() < end, "the operation completes or fails");
      failed = comm.WaitFault(1, absl::Microseconds(100)).has_value();
    }
    if (completed()) {
      Require(std::equal(run.expected[index].begin(), run.expected[index].end(),
                         run.outputs[index].data),
              "what completes is right");
    }
  }
  close(peer);
  return 0;
}
