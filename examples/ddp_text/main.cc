// SPDX-License-Identifier: Apache-2.0
//
// Trains a small character model on several machines; Caravan sums the gradients.
//   ddp_text --rank R --ranks N --root ADDRESS [--runtime-dir DIR]   one rank of a run
//   ddp_text --single --ranks N                                      the same sums in one process
//   ddp_text --compare A B                                           two files of weights
//   ddp_text --search CANARY CAPTURE                                 tensor bytes in a capture
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "caravan/caravan.h"
#include "examples/ddp_text/canary.h"
#include "examples/ddp_text/data.h"
#include "examples/ddp_text/model.h"
#include "examples/ddp_text/train.h"

namespace caravan::ddp_text {
namespace {

constexpr char kUsage[] =
    "usage: ddp_text --rank R --ranks N --root ADDRESS [--runtime-dir DIR] [flags]\n"
    "       ddp_text --single --ranks N [flags]\n"
    "       ddp_text --compare WEIGHTS WEIGHTS\n"
    "       ddp_text --search CANARY CAPTURE\n"
    "flags: --steps N (300)  --batch N (256)  --text DIR (/usr/share/common-licenses)\n"
    "       --weights FILE   write the final weights\n"
    "       --canary FILE    write pieces of the tensors that are sent\n"
    "       --name NAME      the communicator's name (ddp-text)\n";

// Weights may differ by rounding only: reductions over ranks add in another order.
constexpr double kTolerance = 1e-3;  // of the largest weight

using Flags = std::map<std::string, std::string>;

absl::StatusOr<Flags> ParseFlags(int argc, char** argv) {
  Flags flags = {{"--rank", "0"},
                 {"--ranks", "1"},
                 {"--root", ""},
                 {"--runtime-dir", ""},
                 {"--steps", "300"},
                 {"--batch", "256"},
                 {"--text", "/usr/share/common-licenses"},
                 {"--weights", ""},
                 {"--canary", ""},
                 {"--name", "ddp-text"},
                 {"--single", ""}};
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flags.find(flag) == flags.end()) {
      return absl::InvalidArgumentError(absl::StrCat("unknown flag ", flag, "\n", kUsage));
    }
    if (flag == "--single") {
      flags[flag] = "yes";
    } else if (++i < argc) {
      flags[flag] = argv[i];
    } else {
      return absl::InvalidArgumentError(absl::StrCat("flag ", flag, " wants a value"));
    }
  }
  return flags;
}

absl::StatusOr<int> Number(const Flags& flags, const std::string& flag, int low, int high) {
  int value = 0;
  if (!absl::SimpleAtoi(flags.at(flag), &value) || value < low || value > high) {
    return absl::InvalidArgumentError(absl::StrCat("flag ", flag, ": \"", flags.at(flag),
                                                   "\" is not a number from ", low, " to ", high));
  }
  return value;
}

// One rank: its shard's gradients into shared memory, summed over all ranks by the daemon.
absl::StatusOr<std::vector<float>> TrainAsRank(const Flags& flags, int rank, const Corpus& corpus,
                                               const Shape& shape, TrainOptions options) {
  NodeOptions node_options;
  node_options.runtime_dir = flags.at("--runtime-dir");
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Connect(node_options);
  if (!node.ok()) return node.status();
  absl::StatusOr<std::unique_ptr<Communicator>> comm =
      Communicator::Create(**node, {flags.at("--name"), flags.at("--root")}, rank, options.ranks);
  if (!comm.ok()) return comm.status();
  const size_t count = shape.parameters() + 1;
  absl::StatusOr<std::unique_ptr<Buffer>> buffer = (*node)->Allocate(count * sizeof(float));
  if (!buffer.ok()) return buffer.status();

  Model model(shape);
  Canary canary;
  const int canary_every = std::max(1, options.steps / 5);
  const bool keep = !flags.at("--canary").empty();
  const auto source = [&](int step, const std::vector<float>& parameters, float* gradient) {
    std::memset(gradient, 0, count * sizeof(float));
    AccumulateShard(corpus, options, step, rank, parameters, &model, gradient);
    if (keep && step % canary_every == 1) canary.Keep(gradient, count);
    absl::StatusOr<Work> work =
        (*comm)->AllReduce({.input = **buffer, .count = count, .type = DataType::kFloat32});
    if (!work.ok()) return work.status();
    absl::Status status = work->Wait();
    if (status.ok() && keep && step % canary_every == 1) canary.Keep(gradient, count);
    return status;
  };
  options.progress = rank == 0;
  absl::StatusOr<std::vector<float>> weights =
      Train(shape, options, source, (*buffer)->As<float>());
  if (!weights.ok()) return weights;
  // Nobody leaves while a slower rank still needs its records.
  absl::StatusOr<Work> barrier = (*comm)->Barrier();
  absl::Status status = barrier.ok() ? barrier->Wait() : barrier.status();
  if (status.ok() && keep) status = canary.Write(flags.at("--canary"));
  if (!status.ok()) return status;
  return weights;
}

absl::Status Run(const Flags& flags) {
  const absl::StatusOr<int> ranks = Number(flags, "--ranks", 1, 1024);
  if (!ranks.ok()) return ranks.status();
  const absl::StatusOr<int> rank = Number(flags, "--rank", 0, *ranks - 1);
  if (!rank.ok()) return rank.status();
  const absl::StatusOr<int> steps = Number(flags, "--steps", 1, 1'000'000);
  if (!steps.ok()) return steps.status();
  const absl::StatusOr<int> batch = Number(flags, "--batch", 1, 1'000'000);
  if (!batch.ok()) return batch.status();
  const absl::StatusOr<Corpus> corpus = Corpus::Load(flags.at("--text"));
  if (!corpus.ok()) return corpus.status();

  TrainOptions options;
  options.steps = *steps;
  options.batch = *batch;
  options.ranks = *ranks;
  Shape shape;
  shape.vocabulary = corpus->vocabulary();
  absl::StatusOr<std::vector<float>> weights;
  if (!flags.at("--single").empty()) {
    std::vector<float> gradient(shape.parameters() + 1);
    weights = Train(shape, options, SingleProcess(*corpus, shape, options), gradient.data());
  } else {
    weights = TrainAsRank(flags, *rank, *corpus, shape, options);
  }
  if (!weights.ok()) return weights.status();
  if (flags.at("--weights").empty()) return absl::OkStatus();
  return WriteFloats(flags.at("--weights"), *weights);
}

// Exit code 0 when equal within rounding, 1 when not.
absl::Status CompareFiles(const std::string& a, const std::string& b) {
  const absl::StatusOr<std::vector<float>> first = ReadFloats(a);
  if (!first.ok()) return first.status();
  const absl::StatusOr<std::vector<float>> second = ReadFloats(b);
  if (!second.ok()) return second.status();
  const absl::StatusOr<Difference> difference = Compare(*first, *second);
  if (!difference.ok()) return difference.status();
  std::printf("%zu weights, largest difference %.2e, largest weight %.3f\n", first->size(),
              difference->largest, difference->scale);
  if (difference->largest > kTolerance * difference->scale) {
    return absl::DataLossError(absl::StrCat("weights differ by more than rounding: ", a, ", ", b));
  }
  return absl::OkStatus();
}

// Prints "found F of P tensor pieces in B captured bytes"; the caller judges.
absl::Status Search(const std::string& canary, const std::string& capture) {
  const absl::StatusOr<CanaryResult> result = SearchCapture(canary, capture);
  if (!result.ok()) return result.status();
  std::printf("found %zu of %zu tensor pieces in %zu captured bytes\n", result->found,
              result->pieces, result->searched_bytes);
  return absl::OkStatus();
}

absl::Status Main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "--help";
  if (mode == "--help") {
    std::fputs(kUsage, stdout);
    return absl::OkStatus();
  }
  if (mode == "--compare" || mode == "--search") {
    if (argc != 4) return absl::InvalidArgumentError(absl::StrCat(mode, " wants two files"));
    return mode == "--compare" ? CompareFiles(argv[2], argv[3]) : Search(argv[2], argv[3]);
  }
  const absl::StatusOr<Flags> flags = ParseFlags(argc, argv);
  if (!flags.ok()) return flags.status();
  return Run(*flags);
}

}  // namespace
}  // namespace caravan::ddp_text

int main(int argc, char** argv) {
  const absl::Status status = caravan::ddp_text::Main(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "ddp_text: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
}
