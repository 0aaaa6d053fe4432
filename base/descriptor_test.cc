// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "gtest/gtest.h"

namespace caravan::base {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }
int OpenOne() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(DescriptorTest, ClosesWhatItOwns) {
  int fd;
  {
    const Descriptor owner(OpenOne());
    fd = owner.get();
    EXPECT_TRUE(owner.valid());
    EXPECT_TRUE(IsOpen(fd));
  }
  EXPECT_FALSE(IsOpen(fd));
}

TEST(DescriptorTest, ClosesOnceThoughMovedAbout) {
  Descriptor first(OpenOne());
  const int fd = first.get();
  Descriptor second(std::move(first));
  EXPECT_FALSE(first.valid());  // NOLINT: what a moved one says is promised
  Descriptor third(OpenOne());
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_FALSE(IsOpen(replaced));
  EXPECT_EQ(third.get(), fd);
  EXPECT_TRUE(IsOpen(fd));
}

TEST(DescriptorTest, GivesAwayWhatIsReleased) {
  Descriptor owner(OpenOne());
  const int fd = owner.Release();
  EXPECT_FALSE(owner.valid());
  owner.Reset();
  EXPECT_TRUE(IsOpen(fd));
  const Descriptor last(fd);
}

TEST(DescriptorTest, KeepsErrnoAndTellsOfAFailedClose) {
  Descriptor owner(OpenOne());
  errno = ENOSPC;
  owner.Reset();
  EXPECT_EQ(errno, ENOSPC);
  const int fd = OpenOne();
  Descriptor stale(fd);
  { const Descriptor closes_it_before(fd); }
  EXPECT_EQ(stale.Close(), EBADF);
  EXPECT_EQ(stale.Close(), 0);
}

}  // namespace
}  // namespace caravan::base
