// SPDX-License-Identifier: Apache-2.0
#include "daemon/transport/data_connection.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/sockets.h"
#include "crypto/secret_bytes.h"
#include "daemon/transport/preamble.h"

namespace caravan::transport {
namespace {

using base::Descriptor;
using base::LocalPort;
using base::ReadAll;
using base::SteadyTime;
using base::ToSteady;
using base::WriteAll;

crypto::SecretBytes Secret(uint8_t fill) {
  return *crypto::SecretBytes::Copy(std::vector<uint8_t>(48, fill));
}

constexpr crypto::SessionId kSession = {1, 2, 3};
constexpr crypto::EpochId kEpoch = {4, 5, 6};

// A listener that knows kSession, and collects what it accepts.
class DataConnectionTest : public ::testing::Test {
 protected:
  void StartListener(absl::Duration timeout = absl::Seconds(5), int cap = 256,
                     int cap_per_source = 256) {
    DataListener::Options options;
    options.listen_address = "127.0.0.1:0";
    options.preamble_timeout = timeout;
    options.max_half_open = cap;
    options.max_half_open_per_source = cap_per_source;
    options.find_secret = [](const crypto::SessionId& id) {
      return id == kSession ? Secret(7) : crypto::SecretBytes();
    };
    options.knows_epoch = [](const crypto::SessionId&, const crypto::EpochId& epoch) {
      return epoch == kEpoch;
    };
    options.on_connection = [this](DataConnection connection) {
      std::lock_guard<std::mutex> lock(mutex_);
      accepted_.push_back(std::move(connection));
      arrived_.notify_all();
    };
    auto listener = DataListener::Start(std::move(options));
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = std::move(*listener);
    address_ = absl::StrCat("127.0.0.1:", listener_->port());
  }
  absl::Time Soon() { return absl::Now() + absl::Seconds(5); }
  SteadyTime SteadySoon() { return ToSteady(Soon()); }
  absl::StatusOr<DataConnection> Dial(uint8_t secret, const crypto::SessionId& session = kSession,
                                      const crypto::EpochId& epoch = kEpoch) {
    return DialData(address_, session, Secret(secret), epoch, 3, {}, Soon());
  }
  Descriptor DialRaw() {
    auto fd = base::Connect(address_, SteadySoon(), -1, [](int) {});
    return fd.ok() ? std::move(*fd) : Descriptor();
  }
  // From another address of the loopback.
  Descriptor DialFrom(const char* source) {
    Descriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in from{}, to{};
    from.sin_family = to.sin_family = AF_INET;
    inet_pton(AF_INET, source, &from.sin_addr);
    to.sin_port = htons(static_cast<uint16_t>(listener_->port()));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&from), sizeof(from)), 0);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    return fd;
  }
  // Whether the acceptor answers a hello: it has a place for the connection.
  bool Served(const Descriptor& fd) {
    Nonce nonce;
    return WriteAll(fd.get(), EncodeHello(Identity()), SteadySoon()).ok() &&
           ReadAll(fd.get(), absl::MakeSpan(nonce), SteadySoon()).ok();
  }
  crypto::ConnectionId Identity() {
    crypto::ConnectionId id;
    id.session = kSession;
    id.epoch = kEpoch;
    id.dialler_nonce = *RandomNonce();
    return id;
  }
  bool Closed(const Descriptor& fd) {
    uint8_t byte;
    return absl::IsUnavailable(ReadAll(fd.get(), {&byte, 1}, SteadySoon()));
  }
  size_t accepted() {
    std::lock_guard<std::mutex> lock(mutex_);
    return accepted_.size();
  }
  bool WaitAccepted(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    return arrived_.wait_for(lock, std::chrono::seconds(5),
                             [&] { return accepted_.size() >= count; });
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<DataConnection> accepted_;
  std::string address_;
  std::unique_ptr<DataListener> listener_;
};

TEST_F(DataConnectionTest, CarriesBytesBothWaysOnceConfirmed) {
  StartListener();
  auto dialled = Dial(7);
  ASSERT_TRUE(dialled.ok()) << dialled.status();
  ASSERT_TRUE(WaitAccepted(1));
  EXPECT_EQ(accepted_[0].session, kSession);
  EXPECT_EQ(accepted_[0].epoch, kEpoch);
  EXPECT_EQ(accepted_[0].lane, 3);
  const std::vector<uint8_t> sent = {1, 2, 3, 4};
  std::vector<uint8_t> got(4);
  ASSERT_TRUE(WriteAll(dialled->fd, sent, SteadySoon()).ok());
  ASSERT_TRUE(ReadAll(accepted_[0].fd, absl::MakeSpan(got), SteadySoon()).ok());
  EXPECT_EQ(got, sent);
  ASSERT_TRUE(WriteAll(accepted_[0].fd, sent, SteadySoon()).ok());
  ASSERT_TRUE(ReadAll(dialled->fd, absl::MakeSpan(got), SteadySoon()).ok());
  EXPECT_EQ(got, sent);
}

TEST_F(DataConnectionTest, RefusesAnotherSecret) {
  StartListener();
  auto dialled = Dial(8);
  EXPECT_TRUE(absl::IsPermissionDenied(dialled.status())) << dialled.status();
  EXPECT_EQ(accepted(), 0u);
  EXPECT_EQ(listener_->refused(), 1u);
}

TEST_F(DataConnectionTest, ClosesQuietlyOnAnUnknownSessionOrEpoch) {
  StartListener();
  EXPECT_TRUE(absl::IsUnavailable(Dial(7, {9}).status()));
  EXPECT_TRUE(absl::IsUnavailable(Dial(7, kSession, {9}).status()));
  Descriptor raw = DialRaw();
  crypto::ConnectionId id = Identity();
  id.session = {9};
  ASSERT_TRUE(WriteAll(raw.get(), EncodeHello(id), SteadySoon()).ok());
  EXPECT_TRUE(Closed(raw));  // not one byte
  EXPECT_EQ(accepted(), 0u);
}

TEST_F(DataConnectionTest, ListensOnlyWithEveryCheck) {
  DataListener::Options whole;
  whole.listen_address = "127.0.0.1:0";
  whole.find_secret = [](const crypto::SessionId&) { return crypto::SecretBytes(); };
  whole.knows_epoch = [](const crypto::SessionId&, const crypto::EpochId&) { return false; };
  whole.on_connection = [](DataConnection) {};
  EXPECT_TRUE(DataListener::Start(whole).ok());
  DataListener::Options none = whole;
  none.find_secret = nullptr;
  EXPECT_TRUE(absl::IsInvalidArgument(DataListener::Start(none).status()));
  none = whole;
  none.knows_epoch = nullptr;
  EXPECT_TRUE(absl::IsInvalidArgument(DataListener::Start(none).status()));
  none = whole;
  none.on_connection = nullptr;
  EXPECT_TRUE(absl::IsInvalidArgument(DataListener::Start(none).status()));
}

TEST_F(DataConnectionTest, DialFailsAsUnavailableWithoutListener) {
  StartListener();
  listener_->Stop();
  EXPECT_TRUE(absl::IsUnavailable(Dial(7).status()));
}

TEST_F(DataConnectionTest, DialGivesUpAtItsDeadline) {
  auto silent = base::Listen("127.0.0.1:0", [](int) {});
  ASSERT_TRUE(silent.ok());
  address_ = absl::StrCat("127.0.0.1:", *LocalPort(silent->get()));
  auto dialled =
      DialData(address_, kSession, Secret(7), kEpoch, 0, {}, absl::Now() + absl::Milliseconds(80));
  EXPECT_TRUE(absl::IsDeadlineExceeded(dialled.status())) << dialled.status();
}

// Each byte of the hello and of the dialler's confirmation, flipped one at a time.
TEST_F(DataConnectionTest, RefusesEachFlippedByteOfTheDiallersSide) {
  StartListener();
  for (size_t flip = 0; flip < kDiallerHelloSize + kConfirmationSize; ++flip) {
    Descriptor raw = DialRaw();
    crypto::ConnectionId id = Identity();
    DiallerHello hello = EncodeHello(id);
    if (flip < hello.size()) hello[flip] ^= 1;
    ASSERT_TRUE(WriteAll(raw.get(), hello, SteadySoon()).ok());
    if (!ReadAll(raw.get(), absl::MakeSpan(id.acceptor_nonce), SteadySoon()).ok()) continue;
    auto confirmation = *Confirm(Secret(7), id, Direction::kFromDialler);
    if (flip >= hello.size()) confirmation[flip - hello.size()] ^= 1;
    ASSERT_TRUE(WriteAll(raw.get(), confirmation, SteadySoon()).ok());
    EXPECT_TRUE(Closed(raw)) << "byte " << flip;
  }
  EXPECT_EQ(accepted(), 0u);
  EXPECT_EQ(listener_->refused(), kDiallerHelloSize + kConfirmationSize);
}

// The acceptor's nonce and confirmation, flipped on their way to the dialler.
TEST_F(DataConnectionTest, DiallerRefusesEachFlippedByteOfTheAcceptorsSide) {
  auto listening = base::Listen("127.0.0.1:0", [](int) {});
  ASSERT_TRUE(listening.ok());
  address_ = absl::StrCat("127.0.0.1:", *LocalPort(listening->get()));
  for (size_t flip = 0; flip < kNonceSize + kConfirmationSize; ++flip) {
    std::thread acceptor([&] {
      int fd = -1;
      while (fd < 0) fd = accept4(listening->get(), nullptr, nullptr, SOCK_NONBLOCK);
      Descriptor connection(fd);
      DiallerHello hello;
      ASSERT_TRUE(ReadAll(fd, absl::MakeSpan(hello), SteadySoon()).ok());
      crypto::ConnectionId id = *DecodeHello(hello);
      id.acceptor_nonce = *RandomNonce();
      Nonce nonce = id.acceptor_nonce;
      if (flip < kNonceSize) nonce[flip] ^= 1;
      ASSERT_TRUE(WriteAll(fd, nonce, SteadySoon()).ok());
      Confirmation theirs;
      ASSERT_TRUE(ReadAll(fd, absl::MakeSpan(theirs), SteadySoon()).ok());
      EXPECT_EQ(CheckConfirmation(Secret(7), id, Direction::kFromDialler, theirs).ok(),
                flip >= kNonceSize);
      auto own = *Confirm(Secret(7), id, Direction::kFromAcceptor);
      if (flip >= kNonceSize) own[flip - kNonceSize] ^= 1;
      ASSERT_TRUE(WriteAll(fd, own, SteadySoon()).ok());
    });
    auto dialled = Dial(7);
    acceptor.join();
    EXPECT_TRUE(absl::IsPermissionDenied(dialled.status())) << flip << dialled.status();
  }
}

TEST_F(DataConnectionTest, RefusesAReflectedConfirmation) {
  StartListener();
  Descriptor raw = DialRaw();
  crypto::ConnectionId id = Identity();
  ASSERT_TRUE(WriteAll(raw.get(), EncodeHello(id), SteadySoon()).ok());
  ASSERT_TRUE(ReadAll(raw.get(), absl::MakeSpan(id.acceptor_nonce), SteadySoon()).ok());
  ASSERT_TRUE(
      WriteAll(raw.get(), *Confirm(Secret(7), id, Direction::kFromAcceptor), SteadySoon()).ok());
  EXPECT_TRUE(Closed(raw));
}

TEST_F(DataConnectionTest, ClosesAPreambleThatTakesTooLong) {
  StartListener(absl::Milliseconds(100));
  Descriptor silent = DialRaw();
  Descriptor slow = DialRaw();
  const DiallerHello hello = EncodeHello(Identity());
  ASSERT_TRUE(WriteAll(slow.get(), absl::MakeConstSpan(hello).first(40), SteadySoon()).ok());
  const absl::Time start = absl::Now();
  EXPECT_TRUE(Closed(silent));
  EXPECT_TRUE(Closed(slow));
  EXPECT_LT(absl::Now() - start, absl::Seconds(3));
  EXPECT_EQ(listener_->refused(), 2u);
}

TEST_F(DataConnectionTest, CapsHalfOpenConnectionsAndServesOnAfterwards) {
  StartListener(absl::Milliseconds(400), 4);
  std::vector<Descriptor> half_open;
  for (int i = 0; i < 40; ++i) half_open.push_back(DialRaw());
  for (int i = 0; i < 500 && listener_->refused() < 36; ++i) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(listener_->refused(), 36u);
  EXPECT_LE(listener_->half_open(), 4);
  for (Descriptor& fd : half_open) EXPECT_TRUE(Closed(fd));
  EXPECT_TRUE(Dial(7).ok());
}

TEST_F(DataConnectionTest, CapsHalfOpenConnectionsOfOneSource) {
  StartListener(absl::Seconds(60), 256, 3);
  std::vector<Descriptor> crowd;
  for (int i = 0; i < 3; ++i) {
    crowd.push_back(DialFrom("127.0.0.2"));
    EXPECT_TRUE(Served(crowd.back()));
  }
  EXPECT_TRUE(Closed(DialFrom("127.0.0.2")));
  EXPECT_EQ(listener_->refused(), 1u);
  EXPECT_TRUE(Dial(7).ok()) << "another address";
  // A place that is given back can be taken.
  crowd.pop_back();
  bool served = false;
  for (int i = 0; i < 500 && !served; ++i) served = Served(DialFrom("127.0.0.2"));
  EXPECT_TRUE(served);
}

TEST_F(DataConnectionTest, StopIsIdempotentAndEndsHalfOpenConnections) {
  StartListener();
  Descriptor raw = DialRaw();
  for (int i = 0; i < 1000 && listener_->half_open() == 0; ++i) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  listener_->Stop();
  listener_->Stop();
  EXPECT_TRUE(Closed(raw));
}

}  // namespace
}  // namespace caravan::transport
