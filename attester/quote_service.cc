// SPDX-License-Identifier: Apache-2.0
#include "attester/quote_service.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
// After sys/socket.h, whose sockaddr it needs.
#include <linux/vm_sockets.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "attestation/certificate_table.h"
#include "base/descriptor.h"
#include "crypto/hash.h"

namespace caravan::attester {
namespace {

using attestation::Little32;

constexpr uint16_t kMajorVersion = 1;
constexpr uint16_t kMinorVersion = 0;
constexpr uint32_t kGetQuoteRequest = 0;
constexpr uint32_t kGetQuoteResponse = 1;
constexpr size_t kHeaderSize = 16;               // version, type, size, error
constexpr size_t kBodyAt = kHeaderSize + 2 * 4;  // two lengths
constexpr size_t kPrefixSize = 4;

absl::Status Unavailable(const std::string& why) {
  return absl::UnavailableError(absl::StrCat("quote service: ", why));
}
absl::Status Lost(const std::string& why) {
  return absl::DataLossError(absl::StrCat("quote service: ", why));
}

// OK when `events` are there before the deadline.
absl::Status WaitFor(int fd, short events, absl::Time deadline) {
  for (;;) {
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0) return Unavailable("no answer in time; try again");
    pollfd poll_fd{fd, events, 0};
    const int ready = poll(&poll_fd, 1, static_cast<int>(std::min<int64_t>(left, 1000)));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return Unavailable(std::strerror(errno));
  }
}

absl::Status Send(int fd, std::string_view bytes, absl::Time deadline) {
  while (!bytes.empty()) {
    if (absl::Status status = WaitFor(fd, POLLOUT, deadline); !status.ok()) return status;
    const ssize_t put = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put > 0) {
      bytes.remove_prefix(static_cast<size_t>(put));
    } else if (errno != EINTR && errno != EAGAIN) {
      return Unavailable(absl::StrCat("the connection broke: ", std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Receive(int fd, size_t size, absl::Time deadline) {
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < size) {
    if (absl::Status status = WaitFor(fd, POLLIN, deadline); !status.ok()) return status;
    const ssize_t got = recv(fd, bytes.data() + have, size - have, MSG_DONTWAIT);
    if (got > 0) {
      have += static_cast<size_t>(got);
    } else if (got == 0) {
      return Unavailable(absl::StrCat("the connection ended after ", have, " of ", size, " bytes"));
    } else if (errno != EINTR && errno != EAGAIN) {
      return Unavailable(absl::StrCat("the connection broke: ", std::strerror(errno)));
    }
  }
  return bytes;
}

std::string MakeRequest(std::string_view td_report) {
  crypto::ByteWriter message;
  message.U16(kMajorVersion).U16(kMinorVersion).U32(kGetQuoteRequest);
  message.U32(static_cast<uint32_t>(kBodyAt + td_report.size())).U32(0);
  message.U32(static_cast<uint32_t>(td_report.size())).U32(0);
  message.Fixed(crypto::AsBytes(td_report));
  const size_t size = message.str().size();
  std::string framed;
  for (int shift = 24; shift >= 0; shift -= 8) framed.push_back(static_cast<char>(size >> shift));
  return framed + message.str();
}

std::string ErrorName(uint32_t code) {
  constexpr const char* kNames[] = {"",
                                    "unexpected error",
                                    "out of memory",
                                    "invalid parameter",
                                    "invalid version",
                                    "invalid type",
                                    "invalid size",
                                    "invalid code"};
  const uint32_t low = code - 0x12000;
  const bool known = low > 0 && low < std::size(kNames);
  return absl::StrCat("0x", absl::Hex(code), known ? " " : "", known ? kNames[low] : "");
}

absl::StatusOr<std::string> TakeQuote(std::string_view message) {
  if (message.size() < kHeaderSize) {
    return Lost(absl::StrCat("an answer of ", message.size(), " bytes has no header"));
  }
  const uint32_t major = Little32(message, 0) & 0xFFFF;
  if (major != kMajorVersion) {
    return Lost(absl::StrCat("the answer's version is ", major, ", expected ", kMajorVersion));
  }
  if (const uint32_t type = Little32(message, 4); type != kGetQuoteResponse) {
    return Lost(absl::StrCat("the answer's type is ", type, ", expected ", kGetQuoteResponse));
  }
  if (const uint32_t size = Little32(message, 8); size != message.size()) {
    return Lost(absl::StrCat("the answer says it has ", size, " bytes, it has ", message.size()));
  }
  if (const uint32_t error = Little32(message, 12); error != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("quote service: refused with ", ErrorName(error),
                     "; its log on the host says why (is the platform registered with Intel?)"));
  }
  if (message.size() < kBodyAt) return Lost("the answer has no lengths");
  const uint64_t id = Little32(message, kHeaderSize);
  const uint64_t quote = Little32(message, kHeaderSize + 4);
  if (kBodyAt + id + quote != message.size()) {
    return Lost(absl::StrCat("the answer's lengths, ", id, " and ", quote, ", do not make up its ",
                             message.size() - kBodyAt, " bytes"));
  }
  if (quote == 0) return Lost("the quote is empty");
  return std::string(message.substr(kBodyAt + id));
}

absl::StatusOr<int> ConnectVsock(uint32_t port, absl::Time deadline) {
  base::Descriptor fd(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) {
    return absl::NotFoundError(
        absl::StrCat("quote service: this kernel has no vsock: ", std::strerror(errno)));
  }
  sockaddr_vm address{};
  address.svm_family = AF_VSOCK;
  address.svm_cid = VMADDR_CID_HOST;
  address.svm_port = port;
  int error = 0;
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    error = errno;
  }
  if (error == EINPROGRESS) {
    if (absl::Status status = WaitFor(fd.get(), POLLOUT, deadline); !status.ok()) return status;
    socklen_t size = sizeof(error);
    if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  }
  if (error == ENODEV || error == EAFNOSUPPORT) {
    return absl::NotFoundError(absl::StrCat(
        "quote service: this machine has no vsock to its host: ", std::strerror(error)));
  }
  if (error != 0) {
    return Unavailable(absl::StrCat("nobody answers at vsock port ", port, " of the host: ",
                                    std::strerror(error), "; does the host run qgs there?"));
  }
  return fd.Release();
}

}  // namespace

Connect ConnectToHost(uint32_t port) {
  return [port](absl::Time deadline) { return ConnectVsock(port, deadline); };
}

absl::StatusOr<std::string> RequestQuote(const Connect& connect, std::string_view td_report,
                                         absl::Time deadline) {
  absl::StatusOr<int> connected = connect(deadline);
  if (!connected.ok()) return connected.status();
  const base::Descriptor fd(*connected);
  absl::Status sent = Send(fd.get(), MakeRequest(td_report), deadline);
  if (!sent.ok()) return sent;
  absl::StatusOr<std::string> prefix = Receive(fd.get(), kPrefixSize, deadline);
  if (!prefix.ok()) return prefix.status();
  uint32_t size = 0;
  for (const char byte : *prefix) size = size << 8 | static_cast<uint8_t>(byte);
  if (size > kMaxQuoteMessage) {
    return Lost(absl::StrCat("an answer of ", size, " bytes, at most ", kMaxQuoteMessage));
  }
  absl::StatusOr<std::string> message = Receive(fd.get(), size, deadline);
  if (!message.ok()) return message.status();
  return TakeQuote(*message);
}

}  // namespace caravan::attester
