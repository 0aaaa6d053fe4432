// SPDX-License-Identifier: Apache-2.0
#include "http/http.h"

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "http/http_server_testing.h"

namespace caravan::http {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

absl::Time Soon() { return absl::Now() + absl::Seconds(10); }

TEST(Http, GetsAndPosts) {
  std::string seen;
  ServerForTest server([&](const std::string& request) {
    seen = request;
    return ServerForTest::Ok("answer");
  });
  auto got = Fetch({.url = server.url("/a?b=c"), .headers = {"X-Caravan: yes"}}, Soon());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->code, 200);
  EXPECT_EQ(got->body, "answer");
  EXPECT_EQ(Header(*got, "content-length"), "6");
  EXPECT_EQ(Header(*got, "etag"), "");
  EXPECT_THAT(seen, StartsWith("GET /a?b=c HTTP/1.1\r\n"));
  EXPECT_THAT(seen, HasSubstr("X-Caravan: yes\r\n"));
  ASSERT_TRUE(Fetch({.url = server.url("/p"), .body = std::string("x\0y", 3)}, Soon()).ok());
  EXPECT_THAT(seen, StartsWith("POST /p HTTP/1.1\r\n"));
  EXPECT_TRUE(absl::EndsWith(seen, std::string("\r\n\r\nx\0y", 7)));
}

TEST(Http, HandsOnWhatTheServerSays) {
  ServerForTest server([](const std::string&) {
    return "HTTP/1.1 429 Slow Down\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nlate";
  });
  auto got = Fetch({.url = server.url("/")}, Soon());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->code, 429);
  EXPECT_EQ(Header(*got, "retry-after"), "7");
  EXPECT_EQ(got->body, "late");
}

TEST(Http, DoesNotFollowRedirects) {
  ServerForTest server([](const std::string&) {
    return "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
  });
  auto got = Fetch({.url = server.url("/")}, Soon());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->code, 302);
  EXPECT_EQ(server.requests(), 1);
}

TEST(Http, AsksNoProxy) {
  ServerForTest server([](const std::string&) { return ServerForTest::Ok("direct"); });
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  auto got = Fetch({.url = server.url("/")}, Soon());
  unsetenv("http_proxy");
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->body, "direct");
}

TEST(Http, BoundsTheAnswer) {
  ServerForTest server(
      [](const std::string&) { return ServerForTest::Ok(std::string(2000, 'x')); });
  EXPECT_TRUE(Fetch({.url = server.url("/"), .max_body = 2000}, Soon()).ok());
  auto got = Fetch({.url = server.url("/"), .max_body = 1999}, Soon());
  EXPECT_TRUE(absl::IsResourceExhausted(got.status())) << got.status();
  EXPECT_THAT(std::string(got.status().message()), HasSubstr("larger than 1999 bytes"));
}

TEST(Http, EndsAtTheDeadline) {
  ServerForTest server([](const std::string&) {
    absl::SleepFor(absl::Milliseconds(400));
    return "";
  });
  auto got = Fetch({.url = server.url("/")}, absl::Now() + absl::Milliseconds(100));
  EXPECT_TRUE(absl::IsDeadlineExceeded(got.status())) << got.status();
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(Fetch({.url = server.url("/")}, absl::InfinitePast()).status()));
}

TEST(Http, EndsWhenCancelled) {
  ServerForTest server([](const std::string&) {
    absl::SleepFor(absl::Seconds(2));
    return "";
  });
  const absl::Time begun = absl::Now();
  auto got = Fetch({.url = server.url("/")}, Soon(),
                   [&] { return absl::Now() - begun > absl::Milliseconds(50); });
  EXPECT_TRUE(absl::IsCancelled(got.status())) << got.status();
}

TEST(Http, SaysWhyNobodyAnswers) {
  std::string url;
  {
    ServerForTest server([](const std::string&) { return ""; });
    url = server.url("/");
    auto broke_off = Fetch({.url = url}, Soon());
    EXPECT_TRUE(absl::IsUnavailable(broke_off.status())) << broke_off.status();
  }
  auto refused = Fetch({.url = url}, Soon());
  EXPECT_TRUE(absl::IsUnavailable(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()), StartsWith(url));
}

TEST(Http, RefusesOtherSchemes) {
  for (const char* url : {"file:///etc/hostname", "gopher://127.0.0.1/", "", "http://"}) {
    auto got = Fetch({.url = url}, Soon());
    EXPECT_TRUE(absl::IsInvalidArgument(got.status())) << url << " " << got.status();
  }
}

}  // namespace
}  // namespace caravan::http
