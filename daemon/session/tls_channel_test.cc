// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/tls_channel.h"

#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <openssl/err.h>

#include <vector>

#include "daemon/session/reasons.h"

namespace caravan::session {
namespace {

using crypto::Role;

struct Channels {
  Channels() {
    client_identity = std::move(*Identity::Create());
    server_identity = std::move(*Identity::Create());
    client_context = std::move(*TlsContext::Create(*client_identity));
    server_context = std::move(*TlsContext::Create(*server_identity));
    client = std::move(*TlsChannel::Create(*client_context, Role::kInitiator));
    server = std::move(*TlsChannel::Create(*server_context, Role::kResponder));
  }

  static size_t Carry(TlsChannel& from, TlsChannel& to) {
    const absl::Span<const uint8_t> bytes = from.pending();
    const size_t size = bytes.size();
    EXPECT_TRUE(to.Feed(bytes).ok());
    from.Consume(size);
    return size;
  }

  void Run() {
    EXPECT_TRUE(client->Advance().ok());
    size_t moved = 1;
    while (moved > 0) {
      moved = Carry(*client, *server);
      EXPECT_TRUE(server->Advance().ok());
      moved += Carry(*server, *client);
      EXPECT_TRUE(client->Advance().ok());
    }
  }

  std::unique_ptr<Identity> client_identity, server_identity;
  std::unique_ptr<TlsContext> client_context, server_context;
  std::unique_ptr<TlsChannel> client, server;
};

std::string ReadAll(TlsChannel& channel) {
  std::string out;
  std::array<uint8_t, 1024> bytes;
  while (true) {
    absl::StatusOr<size_t> size = channel.Read(absl::MakeSpan(bytes));
    if (!size.ok() || *size == 0) return out;
    out.append(bytes.begin(), bytes.begin() + static_cast<long>(*size));
  }
}

TEST(TlsChannel, BothEndsLearnTheOthersKey) {
  Channels c;
  c.Run();
  ASSERT_TRUE(c.client->established() && c.server->established());
  EXPECT_EQ(c.client->peer_spki(), c.server_identity->spki());
  EXPECT_EQ(c.server->peer_spki(), c.client_identity->spki());
  EXPECT_EQ(c.client->Describe().substr(0, 22), "TLS_AES_256_GCM_SHA384") << c.client->Describe();
  EXPECT_NE(c.client->Describe().find("25519"), std::string::npos) << c.client->Describe();
}

TEST(TlsChannel, CarriesBytesBothWaysAndSaysGoodbye) {
  Channels c;
  c.Run();
  const std::string big(100000, 'q');
  ASSERT_TRUE(c.client->Write(crypto::AsBytes(big)).ok());
  ASSERT_TRUE(c.server->Write(crypto::AsBytes("back")).ok());
  Channels::Carry(*c.client, *c.server);
  Channels::Carry(*c.server, *c.client);
  EXPECT_EQ(ReadAll(*c.server), big);
  EXPECT_EQ(ReadAll(*c.client), "back");
  c.client->Shutdown();
  Channels::Carry(*c.client, *c.server);
  std::array<uint8_t, 16> bytes;
  EXPECT_EQ(c.server->Read(absl::MakeSpan(bytes)).status().code(), absl::StatusCode::kOutOfRange);
}

// The server can compute exporter values before the client is authenticated: it must not.
TEST(TlsChannel, ExportsNothingBeforeBothFinishedMessages) {
  Channels c;
  ASSERT_TRUE(c.client->Advance().ok());
  EXPECT_EQ(c.client->Export("x", {}, 32).status().code(), absl::StatusCode::kFailedPrecondition);
  Channels::Carry(*c.client, *c.server);
  ASSERT_TRUE(c.server->Advance().ok());
  EXPECT_FALSE(c.server->established());
  EXPECT_EQ(c.server->Export("x", {}, 32).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(c.server->Write(crypto::AsBytes("x")).code(), absl::StatusCode::kFailedPrecondition);
  c.Run();
  EXPECT_TRUE(c.server->Export("x", {}, 32).ok());
}

TEST(TlsChannel, ExporterValuesAgreeAndDifferByLabelContextAndChannel) {
  Channels c, d;
  c.Run();
  d.Run();
  const auto value = [](const TlsChannel& channel, std::string_view label,
                        std::string_view context) {
    const crypto::SecretBytes secret = *channel.Export(label, crypto::AsBytes(context), 32);
    return std::string(secret.Expose().begin(), secret.Expose().end());
  };
  EXPECT_EQ(value(*c.client, "x", "1"), value(*c.server, "x", "1"));
  EXPECT_NE(value(*c.client, "x", "1"), value(*c.client, "y", "1"));
  EXPECT_NE(value(*c.client, "x", "1"), value(*c.client, "x", "2"));
  EXPECT_NE(value(*c.client, "x", "1"), value(*d.client, "x", "1"));
}

// What lacks here is no fault of the peer's, and is not called one.
TEST(TlsChannel, AnExhaustedHeapIsThisEndsOwnTrouble) {
  Channels c;
  ASSERT_TRUE(c.client->Advance().ok());
  std::vector<void*> taken;
  for (size_t size = 1 << 20; size >= 32; size /= 2) {
    while (void* memory = OPENSSL_secure_malloc(size)) taken.push_back(memory);
  }
  ERR_clear_error();
  Channels::Carry(*c.client, *c.server);
  const absl::Status status = c.server->Advance();
  for (void* memory : taken) OPENSSL_secure_free(memory);
  EXPECT_EQ(ReasonOf(status), kTlsLocal) << status;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  Channels again;
  again.Run();
  EXPECT_TRUE(again.server->established());
}

TEST(TlsChannel, NoTicketsAreSent) {
  Channels c;
  ASSERT_TRUE(c.client->Advance().ok());
  Channels::Carry(*c.client, *c.server);
  ASSERT_TRUE(c.server->Advance().ok());
  Channels::Carry(*c.server, *c.client);
  ASSERT_TRUE(c.client->Advance().ok());
  Channels::Carry(*c.client, *c.server);
  ASSERT_TRUE(c.server->Advance().ok());
  ASSERT_TRUE(c.server->established());
  EXPECT_TRUE(c.server->pending().empty());
}

TEST(TlsChannel, AFlippedRecordIsRefused) {
  Channels c;
  c.Run();
  ASSERT_TRUE(c.client->Write(crypto::AsBytes("secret")).ok());
  std::string bytes(c.client->pending().begin(), c.client->pending().end());
  bytes.back() ^= 1;
  ASSERT_TRUE(c.server->Feed(crypto::AsBytes(bytes)).ok());
  std::array<uint8_t, 64> out;
  absl::Status status = c.server->Read(absl::MakeSpan(out)).status();
  EXPECT_EQ(ReasonOf(status), kTlsProtocol) << status;
  EXPECT_EQ(c.server->Write(crypto::AsBytes("x")), status);  // the first error is final
}

}  // namespace
}  // namespace caravan::session
