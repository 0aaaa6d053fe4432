// SPDX-License-Identifier: Apache-2.0
//
// An application for the integration tests: one rank of a collective, which checks every element.
// Arguments are name=value:
//
//   runtime_dir, root, name, rank, size   where to join, as what
//   op           as collective::Operation numbers them; 0 is the root
//   counts       "1,1000": its counts, one after another, in the same buffers
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

#include "caravan/caravan.h"
#include "tests/integration/checked_call.h"

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
  const int rank = number("rank");
  const int size = number("size");
  caravan::testing::Call call{.op = number("op"),
                              .algorithm = static_cast<caravan::Algorithm>(number("algorithm"))};
  uint64_t in = 1;
  uint64_t out = 1;
  for (uint64_t count : counts) {
    call.count = count;
    in = std::max(in, caravan::testing::InputElements(call, rank, size));
    out = std::max(out, caravan::testing::OutputElements(call, rank, size));
  }
  // AllReduce in place.
  auto input = (*node)->Allocate((call.op == 1 ? std::max(in, out) : in) * sizeof(float));
  if (!input.ok()) return Fail(input.status());
  std::unique_ptr<caravan::Buffer> own_output;
  if (call.op != 1) {
    auto output = (*node)->Allocate(out * sizeof(float));
    if (!output.ok()) return Fail(output.status());
    own_output = *std::move(output);
  }
  caravan::Buffer& output = own_output == nullptr ? **input : *own_output;
  Say("stands");

  for (uint64_t count : counts) {
    for (int done = 0; operations == 0 || done < operations; ++done) {
      call.count = count;
      absl::Status status = caravan::testing::RunChecked(**communicator, **input, output, call);
      if (!status.ok()) return Fail(status);
    }
    Say("done");
  }
  if (number("linger") != 0) pause();
  return 0;
}
