// SPDX-License-Identifier: Apache-2.0
#include "attester/tdx_guest_device.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "attester/fake_tsm_tree.h"
#include "crypto/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace caravan::attester {
namespace {

using attestation::ReportData;
using testing::HasSubstr;

constexpr size_t kReportDataAt = 128;

std::string BigEndian(size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

// Fields of an answer; what is left unset is right.
struct Answer {
  uint16_t major = 1;
  uint32_t type = 1;
  std::optional<uint32_t> size = std::nullopt;
  uint32_t error = 0;
  std::string id = {};
  std::optional<uint32_t> quote_size = std::nullopt;

  std::string Make(std::string_view quote) const {
    crypto::ByteWriter out;
    out.U16(major).U16(1).U32(type);
    out.U32(size.value_or(static_cast<uint32_t>(24 + id.size() + quote.size()))).U32(error);
    out.U32(static_cast<uint32_t>(id.size()));
    out.U32(quote_size.value_or(static_cast<uint32_t>(quote.size())));
    out.Fixed(crypto::AsBytes(id)).Fixed(crypto::AsBytes(quote));
    return BigEndian(out.str().size()) + out.str();
  }
};

// The host's service on a Unix socket: checks each request, answers with `respond` of the TDREPORT.
class FakeQuoteService {
 public:
  using Respond = std::function<std::string(std::string_view td_report)>;

  explicit FakeQuoteService(Respond respond) : respond_(std::move(respond)) {
    EXPECT_NE(mkdtemp(folder_), nullptr);
    address_.sun_family = AF_UNIX;
    std::strncpy(address_.sun_path, (std::string(folder_) + "/qgs").c_str(),
                 sizeof(address_.sun_path) - 1);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address_), sizeof(address_)), 0);
    EXPECT_EQ(listen(listener_, 4), 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeQuoteService() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
    std::filesystem::remove_all(folder_);
  }
  Connect connect() const {
    return [this](absl::Time) -> absl::StatusOr<int> {
      const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address_), sizeof(address_)), 0);
      return fd;
    };
  }

 private:
  void Serve() {
    for (;;) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      const std::string request = Read(fd, 4 + 24 + 1024);
      if (request.size() == 4 + 24 + 1024) {
        const std::string header =
            BigEndian(24 + 1024) +
            std::string("\1\0\0\0\0\0\0\0\x18\4\0\0\0\0\0\0\0\4\0\0\0\0\0\0", 24);
        EXPECT_EQ(request.substr(0, header.size()), header);
        const std::string answer = respond_(std::string_view(request).substr(header.size()));
        // In pieces, as streams deliver.
        for (size_t at = 0; at < answer.size(); at += 300) {
          const std::string piece = answer.substr(at, 300);
          if (send(fd, piece.data(), piece.size(), MSG_NOSIGNAL) < 0) break;
        }
      }
      close(fd);
    }
  }
  static std::string Read(int fd, size_t size) {
    std::string bytes(size, '\0');
    size_t have = 0;
    while (have < size) {
      const ssize_t got = read(fd, bytes.data() + have, size - have);
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }

  char folder_[32] = "/tmp/caravan-qgs-XXXXXX";  // a Unix socket's path is short
  sockaddr_un address_{};
  const Respond respond_;
  int listener_ = -1;
  std::thread thread_;
};

std::string QuoteOf(std::string_view td_report) {
  return MakeTdxQuote(td_report.substr(kReportDataAt, 64));
}

class TdxGuest : public testing::Test {
 protected:
  int Device(unsigned long command, void* argument) {
    EXPECT_EQ(command, 0xC4405401u);  // the kernel's number
    if (device_error_ != 0) return device_error_;
    auto* request = static_cast<TdReportRequest*>(argument);
    request->td_report[0] = 0x81;
    std::memcpy(request->td_report + kReportDataAt, request->report_data, 64);
    if (other_data_) request->td_report[kReportDataAt] ^= 1;
    return 0;
  }
  absl::StatusOr<attestation::EvidenceSet> CollectFrom(Connect connect) {
    auto attester = MakeTdxGuestAttester(
        [this](unsigned long command, void* argument) { return Device(command, argument); },
        std::move(connect), {.timeout = timeout_});
    EXPECT_EQ(attester->Describe(), "tdx");
    ReportData data;
    data.bytes.fill(0x3C);
    return attester->Collect(data);
  }
  absl::StatusOr<attestation::EvidenceSet> Collect(FakeQuoteService::Respond respond) {
    FakeQuoteService service(std::move(respond));
    return CollectFrom(service.connect());
  }
  absl::Status StatusFor(const Answer& answer) {
    return Collect([&](std::string_view report) { return answer.Make(QuoteOf(report)); }).status();
  }

  int device_error_ = 0;
  bool other_data_ = false;
  absl::Duration timeout_ = absl::Seconds(20);
};

TEST_F(TdxGuest, TurnsATdReportIntoAQuote) {
  auto set = Collect([](std::string_view report) { return Answer().Make(QuoteOf(report)); });
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->items.size(), 1u);
  EXPECT_EQ(set->items[0].kind, attestation::EvidenceKind::kTdx);
  EXPECT_EQ(set->items[0].report, MakeTdxQuote(std::string(64, '\x3C')));
}

TEST_F(TdxGuest, SkipsTheIdThatAServiceChose) {
  EXPECT_TRUE(StatusFor({.id = std::string(16, 'i')}).ok());
}

TEST_F(TdxGuest, RefusesAnAnswerWhoseHeaderOrLengthsAreWrong) {
  for (const Answer& answer :
       {Answer{.major = 2}, Answer{.type = 0}, Answer{.type = 3}, Answer{.size = 0},
        Answer{.size = 23}, Answer{.size = 0xFFFFFFFF}, Answer{.quote_size = 0},
        Answer{.quote_size = 1199}, Answer{.quote_size = 1201}, Answer{.quote_size = 0xFFFFFFFF}}) {
    const absl::Status status = StatusFor(answer);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  }
}

TEST_F(TdxGuest, RefusesAnEmptyQuote) {
  auto set = Collect([](std::string_view) { return Answer().Make(""); });
  EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("the quote is empty"));
}

TEST_F(TdxGuest, RefusesAnOversizedAnswerBeforeItIsRead) {
  auto set = Collect([](std::string_view) { return BigEndian(kMaxQuoteMessage + 1) + "x"; });
  EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("at most"));
}

TEST_F(TdxGuest, RefusesAnAnswerTooShortForAHeader) {
  EXPECT_EQ(Collect([](std::string_view) { return BigEndian(8) + "12345678"; }).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(TdxGuest, NamesTheServicesRefusal) {
  absl::Status status = StatusFor({.error = 0x12003});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("0x12003 invalid parameter"));
  EXPECT_THAT(std::string(StatusFor({.error = 0x11001}).message()), HasSubstr("0x11001;"));
}

TEST_F(TdxGuest, IsUnavailableWhenTheServiceHangsUp) {
  for (size_t keep : {0u, 3u, 4u, 500u}) {
    auto set = Collect(
        [keep](std::string_view report) { return Answer().Make(QuoteOf(report)).substr(0, keep); });
    EXPECT_EQ(set.status().code(), absl::StatusCode::kUnavailable) << keep;
    EXPECT_THAT(std::string(set.status().message()), HasSubstr("the connection"));
  }
}

TEST_F(TdxGuest, IsUnavailableWhenTheServiceKeepsSilent) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  timeout_ = absl::Milliseconds(50);
  auto set = CollectFrom([&](absl::Time) -> absl::StatusOr<int> { return pair[0]; });
  EXPECT_EQ(set.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("no answer in time"));
  close(pair[1]);
}

TEST_F(TdxGuest, PassesOnThatNobodyListens) {
  auto set = CollectFrom(
      [](absl::Time) -> absl::StatusOr<int> { return absl::UnavailableError("nobody answers"); });
  EXPECT_EQ(set.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(TdxGuest, RefusesAQuoteOfAnotherReport) {
  auto set =
      Collect([](std::string_view) { return Answer().Make(MakeTdxQuote(std::string(64, 'x'))); });
  EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("other report data"));
}

TEST_F(TdxGuest, RefusesATdReportWithOtherReportData) {
  other_data_ = true;
  auto set = CollectFrom([](absl::Time) -> absl::StatusOr<int> {
    ADD_FAILURE() << "the service was asked";
    return absl::UnavailableError("");
  });
  EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(TdxGuest, NamesTheDevicesErrorsByTheirCause) {
  const struct {
    int error;
    absl::StatusCode code;
    const char* says;
  } cases[] = {{EBUSY, absl::StatusCode::kUnavailable, "busy"},
               {EINTR, absl::StatusCode::kUnavailable, "interrupted"},
               {ENOTTY, absl::StatusCode::kFailedPrecondition, "makes no TDREPORT"},
               {EPERM, absl::StatusCode::kPermissionDenied, "not permitted"},
               {EIO, absl::StatusCode::kInternal, "the TDX module refused"},
               {EFAULT, absl::StatusCode::kInternal, "Bad address"}};
  for (const auto& one : cases) {
    device_error_ = one.error;
    const absl::Status status = CollectFrom(nullptr).status();
    EXPECT_EQ(status.code(), one.code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(one.says));
  }
}

// Where there is a host it has no service; elsewhere there is no vsock.
TEST(HostService, ThatIsNotThereIsAnErrorInTime) {
  const absl::Time before = absl::Now();
  auto fd = ConnectToHost(59'999)(before + absl::Seconds(2));
  EXPECT_TRUE(absl::IsNotFound(fd.status()) || absl::IsUnavailable(fd.status())) << fd.status();
  EXPECT_LT(absl::Now() - before, absl::Seconds(10));
}

}  // namespace
}  // namespace caravan::attester
