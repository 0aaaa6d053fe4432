// SPDX-License-Identifier: Apache-2.0
#include "daemon/ops/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace caravan::ops {
namespace {

TEST(Notify, ReachesAnAbstractSocket) {
  std::string name = "@caravan-notify-test-" + std::to_string(getpid());
  int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address),
                 offsetof(sockaddr_un, sun_path) + name.size()),
            0);
  ASSERT_TRUE(Notify(name, "READY=1").ok());
  char buffer[32] = {};
  ASSERT_EQ(recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT), 7);
  EXPECT_STREQ(buffer, "READY=1");
  close(fd);
}

TEST(Notify, SaysNothingToNobody) { EXPECT_TRUE(Notify("", "READY=1").ok()); }

TEST(Notify, RefusesWhatIsNoSocketName) {
  EXPECT_FALSE(Notify("relative", "READY=1").ok());
  EXPECT_FALSE(Notify("/" + std::string(200, 'x'), "READY=1").ok());
  EXPECT_FALSE(Notify("/nonexistent/notify", "READY=1").ok());
}

}  // namespace
}  // namespace caravan::ops
