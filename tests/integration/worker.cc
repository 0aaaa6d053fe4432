// SPDX-License-Identifier: Apache-2.0
//
// An application for the integration tests: one rank that sums vectors over all ranks, and checks
// every element. Arguments are name=value:
//
//   runtime_dir, root, name, rank, size   where to join, as what
//   counts       "1,1000": floats of the vectors, one after another, in one buffer
//   operations   how often each; 0: the first until something fails
//   deadline_ms  an operation without progress for this long
//   algorithm    as caravan::Algorithm numbers them
//   linger       1: keep the communicator until killed
//
// Writes "stands", then "done" for each count, or "failed CODE REASON", a line each, on stdout.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "client/caravan.h"

namespace {

using Arguments = std::map<std::string, std::string>;

int Fail(const absl::Status& status) {
  std::printf("failed %d %s\n", static_cast<int>(status.code()),
              std::string(status.message()).c_str());
  std::fflush(stdout);
  return 1;
}

void Say(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

std::vector<uint64_t> Counts(const std::string& text) {
  std::vector<uint64_t> counts;
  std::istringstream in(text);
  for (std::string count; std::getline(in, count, ',');) counts.push_back(std::stoull(count));
  return counts;
}

// Element i of a rank's vector. Sums over all ranks stay whole numbers that a float holds.
float Element(int rank, uint64_t i) { return static_cast<float>(rank + 1 + i % 251); }
float Sum(int size, uint64_t i) {
  return static_cast<float>(size * (size + 1) / 2 + size * (i % 251));
}

absl::Status SumOnce(caravan::Communicator& communicator, caravan::Buffer& buffer, uint64_t count,
                     caravan::Algorithm algorithm) {
  float* values = buffer.As<float>();
  for (uint64_t i = 0; i < count; ++i) values[i] = Element(communicator.rank(), i);
  auto work = communicator.AllReduce(buffer, count, caravan::DataType::kFloat32,
                                     caravan::ReduceOp::kSum, algorithm);
  absl::Status status = work.ok() ? work->Wait() : work.status();
  if (!status.ok()) return status;
  for (uint64_t i = 0; i < count; ++i) {
    if (values[i] != Sum(communicator.size(), i)) return absl::DataLossError("a wrong sum");
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = std::min(argument.find('='), argument.size());
    arguments[argument.substr(0, equals)] = argument.substr(std::min(equals + 1, argument.size()));
  }
  const auto number = [&](const char* name) { return std::atoi(arguments[name].c_str()); };
  const std::vector<uint64_t> counts = Counts(arguments["counts"]);
  const int operations = number("operations");

  caravan::NodeOptions node_options;
  node_options.runtime_dir = arguments["runtime_dir"];
  auto node = caravan::Node::Connect(node_options);
  if (!node.ok()) return Fail(node.status());
  caravan::CommunicatorOptions options;
  options.deadline = absl::Milliseconds(number("deadline_ms"));
  options.create_timeout = absl::Seconds(60);
  auto communicator = caravan::Communicator::Create(**node, {arguments["name"], arguments["root"]},
                                                    number("rank"), number("size"), options);
  if (!communicator.ok()) return Fail(communicator.status());
  auto buffer = (*node)->Allocate(*std::max_element(counts.begin(), counts.end()) * sizeof(float));
  if (!buffer.ok()) return Fail(buffer.status());
  Say("stands");

  for (uint64_t count : counts) {
    for (int done = 0; operations == 0 || done < operations; ++done) {
      absl::Status status = SumOnce(**communicator, **buffer, count,
                                    static_cast<caravan::Algorithm>(number("algorithm")));
      if (!status.ok()) return Fail(status);
    }
    Say("done");
  }
  if (number("linger") != 0) pause();
  return 0;
}
