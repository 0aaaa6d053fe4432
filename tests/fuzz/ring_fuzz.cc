// SPDX-License-Identifier: Apache-2.0
//
// Submission rings: an application that writes anything into its ring gets completions or an
// error; the engine lives on.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>

#include "collective/types.h"
#include "crypto/record.h"
#include "daemon/engine/engine.h"
#include "proto/caravan/v1/shared_ring.h"
#include "tests/fuzz/fuzz.h"

namespace caravan::fuzz {
namespace {

constexpr uint64_t kBufferSize = 4096;

engine::Engine& TheEngine() {
  static engine::Engine& engine = *[] {
    static crypto::RecordCipherFactory& ciphers = *crypto::SealedRecords().release();
    engine::Engine::Options options;
    options.ciphers = &ciphers;
    auto started = engine::Engine::Start(options);
    Require(started.ok(), "the engine starts");
    return started->release();
  }();
  return engine;
}

v1::SubmitEntry Entry(collective::Operation op, uint64_t count) {
  v1::SubmitEntry entry = {};
  entry.op = static_cast<uint8_t>(op);
  entry.dtype = static_cast<uint8_t>(collective::DataType::kFloat32);
  entry.reduce = static_cast<uint8_t>(collective::ReduceOp::kSum);
  entry.count = count;
  entry.input_buffer = 1;
  entry.output_buffer = 1;
  return entry;
}

std::string Bytes(const v1::SubmitEntry& entry) {
  return std::string(reinterpret_cast<const char*>(&entry), sizeof(entry));
}

}  // namespace

std::vector<std::string> Seeds() {
  v1::SubmitEntry second = Entry(collective::Operation::kAllGather, 16);
  second.id = 1;
  std::vector<std::string> seeds = {Bytes(Entry(collective::Operation::kAllReduce, 8)) +
                                    Bytes(second)};
  for (int op = 1; op <= static_cast<int>(collective::Operation::kAllToAllV); ++op) {
    const auto operation = static_cast<collective::Operation>(op);
    if (operation == collective::Operation::kSend || operation == collective::Operation::kRecv) {
      continue;  // there is nobody else
    }
    v1::SubmitEntry entry = Entry(operation, operation == collective::Operation::kBarrier ? 0 : 16);
    if (collective::HasCounts(operation)) entry.counts_buffer = 2;
    // AllToAll takes no input in place.
    if (operation >= collective::Operation::kAllToAll) entry.output_offset = 1024;
    seeds.push_back(Bytes(entry));
  }
  return seeds;
}

}  // namespace caravan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caravan;
  using fuzz::Require;
  static uint64_t runs = 0;
  auto memory = engine::SharedMemory::Create("ring", sizeof(v1::SharedRing));
  auto buffers = std::make_shared<engine::BufferTable>(3 * fuzz::kBufferSize);
  Require(memory.ok() && buffers->Allocate(fuzz::kBufferSize).ok() &&
              buffers->Allocate(fuzz::kBufferSize).ok(),
          "memory is there");
  // Counts of every kind: what a group of one sends, what it receives, then what cannot be.
  auto* counts = reinterpret_cast<uint64_t*>(buffers->Find(2)->data());
  const uint64_t some[] = {16, 16, 0, 0, 1, 16, uint64_t{1} << 62, UINT64_MAX};
  std::copy(std::begin(some), std::end(some), counts);
  v1::SharedRing* ring = reinterpret_cast<v1::SharedRing*>((*memory)->data());

  engine::GroupConfig config;
  ++runs;
  std::memcpy(config.epoch.data(), &runs, sizeof(runs));
  config.name = "fuzz";
  config.selector = collective::DefaultSelectorTable();
  config.sender_parent = *crypto::SecretBytes::Zero(crypto::kParentSize);
  config.local.push_back({*memory, buffers, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)});
  config.on_fault = [epoch = config.epoch](engine::Fault fault) {
    fuzz::TheEngine().Fail(epoch, absl::Status(fault.code, fault.message));
  };
  const crypto::EpochId epoch = config.epoch;
  const int wake = dup(config.local.front().wake_fd);
  Require(fuzz::TheEngine().AddGroup(std::move(config)).ok(), "a group of one starts");

  // Whole entries, then a tail that the input may push too far.
  const size_t entries = std::min<size_t>(size / sizeof(v1::SubmitEntry), v1::kRingCapacity);
  if (entries > 0) std::memcpy(ring->entries, data, entries * sizeof(v1::SubmitEntry));
  uint64_t tail = entries;
  for (size_t i = entries * sizeof(v1::SubmitEntry); i < size; ++i) tail = tail << 4 ^ data[i];
  ring->submit_tail.store(tail);
  const uint64_t one = 1;
  Require(write(wake, &one, sizeof(one)) == sizeof(one), "the engine can be woken");

  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (ring->failed.load() == 0 && ring->complete_tail.load() < tail) {
    Require(std::chrono::steady_clock::now() < deadline, "every entry completes or fails");
    std::this_thread::yield();
  }
  fuzz::TheEngine().Remove(epoch);
  close(wake);
  return 0;
}
