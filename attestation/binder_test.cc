// SPDX-License-Identifier: Apache-2.0
#include "attestation/binder.h"

#include <algorithm>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace caravan::attestation {
namespace {

using crypto::Role;

struct Inputs {
  Role role = Role::kInitiator;
  Binder binder;
  crypto::Sha256Digest spki{};
  std::string purpose{kSessionPurpose};
  crypto::SessionId session{};

  absl::StatusOr<ReportData> Make() const {
    return MakeReportData(role, binder, spki, purpose, session);
  }
};

TEST(ReportData, HoldsDigestPurposeAndSession) {
  Inputs inputs;
  inputs.session.fill(0x5A);
  const auto data = inputs.Make();
  ASSERT_TRUE(data.ok());
  crypto::ByteWriter writer;
  writer.Label("caravan/1 report").U8(0).Fixed(inputs.binder.bytes).Fixed(inputs.spki);
  const auto digest = crypto::Sha256(writer.span());
  EXPECT_TRUE(std::equal(digest.begin(), digest.end(), data->bytes.begin()));
  EXPECT_EQ(std::string(data->bytes.begin() + 32, data->bytes.begin() + 48),
            std::string("session\0\0\0\0\0\0\0\0\0", 16));
  EXPECT_TRUE(std::equal(inputs.session.begin(), inputs.session.end(), data->bytes.begin() + 48));
}

TEST(ReportData, DiffersWithEveryInput) {
  Inputs base, role, binder, spki, purpose, session;
  role.role = Role::kResponder;
  binder.binder.bytes[31] = 1;
  spki.spki[0] = 1;
  purpose.purpose = "other";
  session.session[15] = 1;
  std::set<std::array<uint8_t, 64>> seen;
  for (const Inputs& inputs : {base, role, binder, spki, purpose, session}) {
    seen.insert(inputs.Make()->bytes);
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST(ReportData, RefusesPurposesThatWouldShareAnEncoding) {
  for (const std::string& purpose :
       {std::string(), std::string(17, 'p'), std::string("a\0", 2), std::string("\0", 1)}) {
    Inputs inputs;
    inputs.purpose = purpose;
    EXPECT_FALSE(inputs.Make().ok()) << purpose.size();
  }
  Inputs longest;
  longest.purpose = std::string(16, 'p');
  EXPECT_TRUE(longest.Make().ok());
}

TEST(DeviceNonce, DependsOnEachOfItsInputs) {
  const Binder binder{{1}};
  const crypto::Sha256Digest cpu{2};
  std::set<std::array<uint8_t, 32>> nonces;
  nonces.insert(MakeDeviceNonce(crypto::Role::kInitiator, binder, cpu, 0, 2).bytes);
  nonces.insert(MakeDeviceNonce(crypto::Role::kResponder, binder, cpu, 0, 2).bytes);
  nonces.insert(MakeDeviceNonce(crypto::Role::kInitiator, Binder{{3}}, cpu, 0, 2).bytes);
  nonces.insert(MakeDeviceNonce(crypto::Role::kInitiator, binder, {4}, 0, 2).bytes);
  nonces.insert(MakeDeviceNonce(crypto::Role::kInitiator, binder, cpu, 1, 2).bytes);
  nonces.insert(MakeDeviceNonce(crypto::Role::kInitiator, binder, cpu, 0, 3).bytes);
  EXPECT_EQ(nonces.size(), 6u);
}

// SHA-256("caravan/1 gpu" ‖ 01 ‖ 32 times 09 ‖ 32 times 07 ‖ 02000000 ‖ 04000000), computed apart.
TEST(DeviceNonce, IsTheDigestOfItsInputsInTheirOrder) {
  Binder binder;
  binder.bytes.fill(9);
  crypto::Sha256Digest cpu;
  cpu.fill(7);
  std::string text = "caravan/1 gpu\x01" + std::string(32, '\x09') + std::string(32, '\x07');
  text += std::string("\x02\0\0\0\x04\0\0\0", 8);
  EXPECT_EQ(MakeDeviceNonce(crypto::Role::kResponder, binder, cpu, 2, 4).bytes,
            crypto::Sha256(crypto::AsBytes(text)));
}

TEST(TpmNonce, IsTheDigestOfAllReportData) {
  ReportData data;
  data.bytes.fill(5);
  EXPECT_EQ(TpmNonce(data), crypto::Sha256(crypto::AsBytes(std::string(64, '\x05'))));
}

}  // namespace
}  // namespace caravan::attestation
