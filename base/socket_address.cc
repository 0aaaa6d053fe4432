// SPDX-License-Identifier: Apache-2.0
#include "base/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace caravan::base {

std::string HostPort::ToString() const {
  return host.find(':') == std::string::npos ? absl::StrCat(host, ":", port)
                                             : absl::StrCat("[", host, "]:", port);
}

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text) {
  const auto bad = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text.substr(0, 256), "\" ", why,
                                                   "; expected host:port, as in 10.0.0.1:7400"));
  };
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return bad("has no port");
  absl::string_view host = text.substr(0, colon);
  const absl::string_view port = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != absl::string_view::npos) {
    return bad("has an IPv6 address without brackets");
  }
  if (host.empty() || host.size() > 255) return bad("has no host");
  uint32_t number = 0;
  const bool digits =
      !port.empty() && port.find_first_not_of("0123456789") == absl::string_view::npos;
  if (!digits || !absl::SimpleAtoi(port, &number) || number > 65535) {
    return bad("has no port between 0 and 65535");
  }
  return HostPort{std::string(host), static_cast<uint16_t>(number)};
}

HostPort SocketAddress::Text() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
    return {text, ntohs(v4->sin_port)};
  }
  if (storage.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
    return {text, ntohs(v6->sin6_port)};
  }
  return {};
}

absl::StatusOr<std::vector<SocketAddress>> Resolve(absl::string_view text, bool passive) {
  const absl::StatusOr<HostPort> parsed = ParseHostPort(text);
  if (!parsed.ok()) return parsed.status();
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  const int error =
      getaddrinfo(parsed->host.c_str(), std::to_string(parsed->port).c_str(), &hints, &list);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("cannot resolve ", text, ": ", gai_strerror(error)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    if (at->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress address;
    std::memcpy(&address.storage, at->ai_addr, at->ai_addrlen);
    address.size = at->ai_addrlen;
    addresses.push_back(address);
  }
  freeaddrinfo(list);
  if (addresses.empty()) return absl::UnavailableError(absl::StrCat("no address for ", text));
  return addresses;
}

}  // namespace caravan::base
