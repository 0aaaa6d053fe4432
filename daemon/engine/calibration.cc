// SPDX-License-Identifier: Apache-2.0
#include "daemon/engine/calibration.h"

#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/sockets.h"
#include "collective/reduce/reduce.h"
#include "daemon/transport/socket.h"

namespace caravan::engine {
namespace {

using base::Descriptor;

constexpr int kTries = 4;
constexpr size_t kShort = 64;
constexpr size_t kLong = 64 << 10;
constexpr int kChunkLog2 = 17;
// What the engine does for a record beside its cipher: the header's check, the plan's bookkeeping.
constexpr double kStepNs = 300;
// No measurement that a scheduler spoilt may make something free.
constexpr double kLeastNsPerByte = 0.001;
constexpr double kLeastNs = 10;
constexpr int kRoundTrips = 48;
constexpr absl::Duration kGiveUp = absl::Milliseconds(500);

double NowNs() {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::steady_clock::now().time_since_epoch())
                                 .count());
}

// The shortest of several tries, in ns, once each of `times` in it.
template <typename F>
double BestNs(int times, F&& once) {
  double best = 0;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const double start = NowNs();
    for (int i = 0; i < times; ++i) once();
    const double ns = (NowNs() - start) / times;
    if (attempt == 0 || ns < best) best = ns;
  }
  return std::max(best, kLeastNs);
}

double PerByte(double short_ns, double long_ns) {
  return std::max(kLeastNsPerByte, (long_ns - short_ns) / static_cast<double>(kLong - kShort));
}

absl::Status MeasureCipher(crypto::RecordCipherFactory& ciphers, crypto::Suite suite,
                           collective::Rates* rates) {
  auto parent = crypto::SecretBytes::Random(crypto::kParentSize);
  if (!parent.ok()) return parent.status();
  crypto::OpKeyId id;
  id.suite = suite;
  id.op = 1;
  id.destination = 1;
  const crypto::EpochId epoch{};
  absl::Status status;
  auto cipher = ciphers.Create(*parent, epoch, id, kChunkLog2);
  if (!cipher.ok()) return cipher.status();
  rates->key_ns = BestNs(4, [&] {
    // Another key each time, as in life.
    ++id.sequence;
    status.Update(ciphers.Create(*parent, epoch, id, kChunkLog2).status());
  });
  crypto::RecordHeader header;
  header.suite = suite;
  header.op = id.op;
  header.destination = id.destination;
  header.chunk_count = 1 << (crypto::kSuperchunkLog2 - kChunkLog2);
  const std::vector<uint8_t> payload(kLong, 1);
  std::vector<uint8_t> opened(kLong);
  std::vector<uint8_t> record(kLong + crypto::kRecordOverhead);
  const auto seal_ns = [&](size_t size, int times) {
    header.payload_size = static_cast<uint32_t>(size);
    return BestNs(times, [&] {
      status.Update((*cipher)->Seal(header, absl::MakeConstSpan(payload).first(size),
                                    absl::MakeSpan(record).first(size + crypto::kRecordOverhead)));
      ++header.chunk;
    });
  };
  const auto open_ns = [&](size_t size, int times) {
    return BestNs(times, [&] {
      status.Update(
          (*cipher)->Open(absl::MakeConstSpan(record).first(size + crypto::kRecordOverhead),
                          absl::MakeSpan(opened).first(size)));
    });
  };
  const double short_seal = seal_ns(kShort, 16);
  const double short_open = open_ns(kShort, 16);
  const double long_seal = seal_ns(kLong, 4);
  const double long_open = open_ns(kLong, 4);
  rates->record_ns = kStepNs + (short_seal + short_open) / 2;
  rates->seal_ns_per_byte = PerByte(short_seal, long_seal);
  rates->open_ns_per_byte = PerByte(short_open, long_open);
  return status;
}

void MeasureMemory(collective::Rates* rates) {
  std::vector<float> a(kLong / sizeof(float), 1);
  std::vector<float> b(kLong / sizeof(float), 2);
  const double bytes = kLong;
  rates->reduce_ns_per_byte =
      std::max(kLeastNsPerByte, BestNs(4, [&] {
                                  collective::Reduce(collective::DataType::kFloat32,
                                                     collective::ReduceOp::kSum, a.data(), b.data(),
                                                     a.data(), a.size());
                                }) / bytes);
  // Through a pointer that the compiler does not see through, so that the copy is made.
  void* (*volatile copy)(void*, const void*, size_t) = std::memcpy;
  rates->copy_ns_per_byte =
      std::max(kLeastNsPerByte, BestNs(4, [&] { copy(b.data(), a.data(), kLong); }) / bytes);
}

struct Pair {
  Descriptor near;
  Descriptor far;
  Descriptor epoll;  // the far end's, as a reactor has it
};

absl::StatusOr<Pair> Connect(base::SteadyTime deadline) {
  const transport::SocketOptions options;
  const auto configure = [&](int fd) { transport::Configure(fd, options); };
  auto listener = base::Listen("127.0.0.1:0", configure);
  if (!listener.ok()) return listener.status();
  auto port = base::LocalPort(listener->get());
  if (!port.ok()) return port.status();
  Pair pair;
  auto near = base::Connect(absl::StrCat("127.0.0.1:", *port), deadline, -1, configure);
  if (!near.ok()) return near.status();
  pair.near = *std::move(near);
  while (!pair.far.valid()) {
    auto accepted = base::Accept(listener->get());
    if (!accepted.ok()) return accepted.status();
    pair.far = std::move(accepted->socket);
    if (pair.far.valid()) break;
    if (std::chrono::steady_clock::now() > deadline) {
      return absl::UnavailableError("no loopback connection in time");
    }
    sched_yield();
  }
  transport::Configure(pair.far.get(), options);
  pair.epoll = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  if (epoll_ctl(pair.epoll.get(), EPOLL_CTL_ADD, pair.far.get(), &event) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("no epoll: ", std::strerror(errno)));
  }
  return pair;
}

// Moves `bytes` from one end to the other on this thread.
absl::Status Move(const Pair& pair, size_t bytes, std::vector<uint8_t>& out,
                  std::vector<uint8_t>& in, base::SteadyTime deadline) {
  size_t sent = 0;
  size_t got = 0;
  while (got < bytes) {
    if (sent < bytes) {
      const ssize_t n = send(pair.near.get(), out.data(), std::min(out.size(), bytes - sent),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) sent += static_cast<size_t>(n);
      if (n < 0 && errno != EAGAIN && errno != EINTR) return absl::UnavailableError("send");
    }
    epoll_event event;
    epoll_wait(pair.epoll.get(), &event, 1, 0);
    const ssize_t n = recv(pair.far.get(), in.data(), in.size(), MSG_DONTWAIT);
    if (n > 0) got += static_cast<size_t>(n);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
      return absl::UnavailableError("recv");
    }
    if (n < 0 && std::chrono::steady_clock::now() > deadline) {
      return absl::DeadlineExceededError("loopback does not deliver");
    }
  }
  return absl::OkStatus();
}

// Reads one byte, looking for it as a reactor does. False when `stop` came first, or the end.
bool Await(int fd, const std::function<bool()>& stop) {
  uint8_t byte;
  while (!stop()) {
    const ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    if (n == 1) return true;
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) return false;
    sched_yield();
  }
  return false;
}

// Half of a round trip to a thread that answers. The lower quartile: a thread that waits for a core
// waits for other work, which is counted where it is done.
absl::StatusOr<double> OneWayNs(const Pair& pair, base::SteadyTime deadline) {
  std::atomic<bool> done{false};
  std::thread echo([&] {
    const uint8_t byte = 0;
    while (Await(pair.far.get(), [&] { return done.load(); })) {
      if (send(pair.far.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) return;
    }
  });
  std::vector<double> trips;
  const auto late = [&] { return std::chrono::steady_clock::now() > deadline; };
  for (int i = 0; i < kRoundTrips; ++i) {
    const uint8_t byte = 0;
    const double start = NowNs();
    if (send(pair.near.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) break;
    if (!Await(pair.near.get(), late)) break;
    trips.push_back(NowNs() - start);
  }
  done.store(true);
  echo.join();
  if (trips.size() < kRoundTrips / 4) return absl::UnavailableError("loopback does not answer");
  std::sort(trips.begin(), trips.end());
  return trips[trips.size() / 4] / 2;
}

absl::Status MeasureNetwork(collective::Rates* rates) {
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kGiveUp);
  absl::StatusOr<Pair> pair = Connect(deadline);
  if (!pair.ok()) return pair.status();
  std::vector<uint8_t> out(kLong);
  std::vector<uint8_t> in(2 * kLong);
  absl::Status status;
  const auto move_ns = [&](size_t bytes, int times) {
    return BestNs(times, [&] {
      if (status.ok()) status = Move(*pair, bytes, out, in, deadline);
    });
  };
  const double short_ns = move_ns(kShort, 16);
  const double long_ns = move_ns(4 * kLong, 1);
  if (!status.ok()) return status;
  absl::StatusOr<double> one_way = OneWayNs(*pair, deadline);
  if (!one_way.ok()) return one_way.status();
  rates->message_ns = short_ns;
  rates->wire_ns_per_byte =
      std::max(kLeastNsPerByte, (long_ns - short_ns) / static_cast<double>(4 * kLong - kShort));
  // The processors' part of it is message_ns already.
  rates->latency_ns = std::max(kLeastNs, *one_way - short_ns);
  return absl::OkStatus();
}

}  // namespace

collective::Rates Calibration::For(crypto::Suite suite) const {
  const auto found = rates.find(suite);
  return found == rates.end() ? collective::Rates{} : found->second;
}

absl::StatusOr<Calibration> Calibrate(crypto::RecordCipherFactory& ciphers) {
  const double start = NowNs();
  collective::Rates machine;
  machine.cores = std::max(1u, std::thread::hardware_concurrency());
  MeasureMemory(&machine);
  if (absl::Status status = MeasureNetwork(&machine); !status.ok()) return status;
  Calibration calibration;
  for (const crypto::Suite suite : {crypto::Suite::kAes256Gcm, crypto::Suite::kChaCha20Poly1305}) {
    collective::Rates rates = machine;
    if (absl::Status status = MeasureCipher(ciphers, suite, &rates); !status.ok()) return status;
    if (absl::Status status = collective::CheckRates(rates); !status.ok()) return status;
    calibration.rates[suite] = rates;
  }
  calibration.took = absl::Nanoseconds(NowNs() - start);
  return calibration;
}

}  // namespace caravan::engine
