// SPDX-License-Identifier: Apache-2.0
//
// An application for the integration tests: one rank that averages until it is told to stop or
// something fails. Writes "stands", then "done" or "failed CODE REASON", a line each, on stdout.
//
//   worker RUNTIME_DIR ROOT_ADDRESS NAME RANK SIZE COUNT DEADLINE_MS OPERATIONS
//
// COUNT: floats an operation. OPERATIONS: 0 for as many as there is time for.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "client/caravan.h"

namespace {

int Fail(const absl::Status& status) {
  std::printf("failed %d %s\n", static_cast<int>(status.code()),
              std::string(status.message()).c_str());
  std::fflush(stdout);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) return 2;
  const int rank = std::atoi(argv[4]);
  const int size = std::atoi(argv[5]);
  const uint64_t count = std::strtoull(argv[6], nullptr, 10);
  const uint64_t operations = std::strtoull(argv[8], nullptr, 10);

  caravan::NodeOptions node_options;
  node_options.runtime_dir = argv[1];
  auto node = caravan::Node::Connect(node_options);
  if (!node.ok()) return Fail(node.status());
  caravan::CommunicatorOptions options;
  options.deadline = absl::Milliseconds(std::atoi(argv[7]));
  options.create_timeout = absl::Seconds(60);
  auto communicator =
      caravan::Communicator::Create(**node, {argv[3], argv[2]}, rank, size, options);
  if (!communicator.ok()) return Fail(communicator.status());
  auto buffer = (*node)->Allocate(count * sizeof(float));
  if (!buffer.ok()) return Fail(buffer.status());
  float* values = (*buffer)->As<float>();
  std::puts("stands");
  std::fflush(stdout);

  for (uint64_t done = 0; operations == 0 || done < operations; ++done) {
    for (uint64_t i = 0; i < count; ++i) values[i] = static_cast<float>(rank + 1);
    auto work =
        (*communicator)
            ->AllReduce(**buffer, count, caravan::DataType::kFloat32, caravan::ReduceOp::kSum);
    absl::Status status = work.ok() ? work->Wait() : work.status();
    if (!status.ok()) return Fail(status);
    const float expected = static_cast<float>(size * (size + 1) / 2);
    for (uint64_t i = 0; i < count; ++i) {
      if (values[i] != expected) return Fail(absl::DataLossError("a wrong sum"));
    }
  }
  std::puts("done");
  return 0;
}
