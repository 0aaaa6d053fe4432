// SPDX-License-Identifier: Apache-2.0
#include "crypto/secret_bytes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>
#include <vector>

#include "crypto/locked_arena.h"

namespace caravan::crypto {
namespace {

bool AllZero(const void* memory, size_t size) {
  const uint8_t* bytes = static_cast<const uint8_t*>(memory);
  return std::all_of(bytes, bytes + size, [](uint8_t b) { return b == 0; });
}

int Refuse(const void*, size_t) {
  errno = ENOMEM;
  return -1;
}

int RefuseOver64KiB(const void*, size_t size) { return size > (64 << 10) ? Refuse(nullptr, 0) : 0; }

TEST(SecretBytes, HoldsACopyUntilMoved) {
  const std::vector<uint8_t> value = {1, 2, 3, 4, 5};
  SecretBytes a = *SecretBytes::Copy(value);
  SecretBytes b = *a.Clone();
  EXPECT_TRUE(ConstantTimeEquals(a.Expose(), value));
  SecretBytes c = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT: a moved-from secret is empty by contract
  EXPECT_TRUE(ConstantTimeEquals(c.Expose(), b.Expose()));
  EXPECT_NE(c.Expose().data(), b.Expose().data());
  c = SecretBytes();
  EXPECT_TRUE(c.empty());
}

TEST(SecretBytes, IsZeroWhenHandedOutAgain) {
  SecretBytes a = *SecretBytes::Random(48);
  const uint8_t* where = a.Expose().data();
  a = SecretBytes();
  std::vector<SecretBytes> held;
  bool seen = false;
  for (int i = 0; i < 64 && !seen; ++i) {
    held.push_back(*SecretBytes::Zero(48));
    EXPECT_TRUE(AllZero(held.back().Expose().data(), 48));
    seen = held.back().Expose().data() == where;
  }
  EXPECT_TRUE(seen) << "the arena never reused the released piece";
}

TEST(SecretBytes, AllowsNothingOverItsLimit) {
  EXPECT_TRUE(SecretBytes::Zero(0)->empty());
  EXPECT_EQ(SecretBytes::Zero(SecretBytes::kMaxSize)->size(), SecretBytes::kMaxSize);
  EXPECT_EQ(SecretBytes::Zero(SecretBytes::kMaxSize + 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AllocateLocked(kArenaMaxAllocation + 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AllocateLocked(0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SecretBytes, RandomDiffers) {
  SecretBytes a = *SecretBytes::Random(32);
  SecretBytes b = *SecretBytes::Random(32);
  EXPECT_FALSE(ConstantTimeEquals(a.Expose(), b.Expose()));
}

TEST(ConstantTimeEquals, ComparesLengthAndEveryByte) {
  std::vector<uint8_t> a(33, 7);
  EXPECT_TRUE(ConstantTimeEquals({}, {}));
  EXPECT_FALSE(ConstantTimeEquals(a, absl::MakeConstSpan(a).first(32)));
  for (size_t i = 0; i < a.size(); ++i) {
    std::vector<uint8_t> b = a;
    b[i] ^= 0x80;
    EXPECT_FALSE(ConstantTimeEquals(a, b)) << i;
  }
}

TEST(LockedArena, KeepsPiecesApartAlignedAndZero) {
  LockedArena arena(Refuse);
  EXPECT_EQ(arena.Allocate(64).status().code(), absl::StatusCode::kResourceExhausted);

  LockedArena working([](const void*, size_t) { return 0; });
  struct Piece {
    uint8_t* memory;
    size_t size;
    uint8_t mark;
  };
  std::vector<Piece> pieces;
  std::mt19937 random(1);
  for (int step = 0; step < 4000; ++step) {
    if (pieces.size() < 40 || random() % 2 == 0) {
      const size_t size = 1 + random() % (random() % 50 == 0 ? 70000 : 1500);
      absl::StatusOr<void*> memory = working.Allocate(size);
      ASSERT_TRUE(memory.ok()) << memory.status();
      ASSERT_EQ(reinterpret_cast<uintptr_t>(*memory) % 64, 0u);
      ASSERT_TRUE(AllZero(*memory, size));
      pieces.push_back({static_cast<uint8_t*>(*memory), size, static_cast<uint8_t>(random() | 1)});
      std::fill_n(pieces.back().memory, size, pieces.back().mark);
    } else {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      const Piece piece = pieces.back();
      ASSERT_TRUE(std::all_of(piece.memory, piece.memory + piece.size,
                              [&](uint8_t b) { return b == piece.mark; }));
      working.Free(piece.memory, piece.size);
      pieces.pop_back();
    }
  }
  for (const Piece& piece : pieces) working.Free(piece.memory, piece.size);
  // Everything joined again: a whole block is free, so nothing has to be locked for one.
  const size_t locked = working.locked_bytes();
  ASSERT_TRUE(working.Allocate(kArenaBlockSize).ok());
  EXPECT_EQ(working.locked_bytes(), locked);
}

TEST(LockedArena, TakesSmallerBlocksWhereTheLimitIsLow) {
  LockedArena arena(RefuseOver64KiB);
  EXPECT_TRUE(arena.Allocate(1000).ok());
  EXPECT_EQ(arena.locked_bytes(), size_t{64} << 10);
  EXPECT_EQ(arena.Allocate(100 << 10).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(LockedArena, EndsAtItsTotal) {
  LockedArena arena([](const void*, size_t) { return 0; });
  for (size_t total = 0; total < kArenaMaxTotal; total += kArenaMaxAllocation) {
    ASSERT_TRUE(arena.Allocate(kArenaMaxAllocation).ok());
  }
  const absl::Status full = arena.Allocate(64).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(full.message().find("RLIMIT_MEMLOCK"), absl::string_view::npos);
}

TEST(LockedArenaDeathTest, AbortsOnASecondRelease) {
  LockedArena arena([](const void*, size_t) { return 0; });
  void* kept = *arena.Allocate(64);
  void* memory = *arena.Allocate(64);
  arena.Free(memory, 64);
  EXPECT_DEATH(arena.Free(memory, 64), "");
  EXPECT_DEATH(arena.Free(&arena, 64), "");
  arena.Free(kept, 64);
}

TEST(LockedArena, LeavesNoSecretInAForkedChild) {
  SecretBytes secret = *SecretBytes::Random(32);
  const pid_t child = fork();
  if (child == 0) {
    SecretBytes own = *SecretBytes::Random(32);
    const bool works = own.size() == 32;
    secret = SecretBytes();
    _exit(works ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_DEATH(_exit(secret.Expose()[0] == 0 ? 3 : 4), "");
}

}  // namespace
}  // namespace caravan::crypto
