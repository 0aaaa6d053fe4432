// SPDX-License-Identifier: Apache-2.0
#include "crypto/key_tree.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>

#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace caravan::crypto {
namespace {

using Bytes = std::string;

// Everything expected here is built from OpenSSL's HKDF and HMAC and literal bytes, not from
// crypto/hash.h.
Bytes Hkdf(int mode, Bytes key, const char* input_name, Bytes input, size_t size) {
  EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  EVP_KDF_CTX* context = EVP_KDF_CTX_new(kdf);
  char digest[] = "SHA384";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
      OSSL_PARAM_construct_octet_string(input_name, input.data(), input.size()),
      OSSL_PARAM_construct_end()};
  Bytes out(size, '\0');
  EXPECT_EQ(EVP_KDF_derive(context, reinterpret_cast<uint8_t*>(out.data()), size, params), 1);
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kdf);
  return out;
}

Bytes HkdfExpand(const Bytes& key, const Bytes& info, size_t size) {
  return Hkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, key, OSSL_KDF_PARAM_INFO, info, size);
}

Bytes HkdfExtract(const Bytes& salt, const Bytes& input) {
  return Hkdf(EVP_KDF_HKDF_MODE_EXTRACT_ONLY, input, OSSL_KDF_PARAM_SALT, salt, 48);
}

Bytes Hmac(const Bytes& key, const Bytes& message) {
  Bytes out(48, '\0');
  HMAC(EVP_sha384(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const uint8_t*>(message.data()), message.size(),
       reinterpret_cast<uint8_t*>(out.data()), nullptr);
  return out;
}

Bytes Str(absl::Span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes Key(const absl::StatusOr<SecretBytes>& secret) {
  EXPECT_TRUE(secret.ok()) << secret.status();
  return Str(secret->Expose());
}

Bytes Mac(const absl::StatusOr<Sha384Digest>& digest) {
  EXPECT_TRUE(digest.ok()) << digest.status();
  return Str(*digest);
}

SecretBytes Secret(const Bytes& bytes) { return *SecretBytes::Copy(AsBytes(bytes)); }

// Bytes first, first + 1, …
template <size_t N>
std::array<uint8_t, N> Count(uint8_t first) {
  std::array<uint8_t, N> bytes;
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

const Bytes kSession(48, 's');
const Bytes kEpochSecret(48, 'e');
const EpochId kEpoch = Count<32>(0x20);
const SessionId kId = Count<16>(0x80);

OpKeyId SomeOp() {
  return {.suite = Suite::kChaCha20Poly1305,
          .op = 0x11,
          .source = 0x2322,
          .destination = 0x3433,
          .sequence = 0x4746454443424140,
          .phase = 0x5150,
          .superchunk = 0x63626160};
}

ConnectionId SomeConnection() {
  return {.session = kId,
          .epoch = kEpoch,
          .lane = 0x0201,
          .dialler_nonce = Count<32>(0x40),
          .acceptor_nonce = Count<32>(0xA0)};
}

TEST(KeyTree, SessionSecretIsExtractWithThePskAsSalt) {
  const Bytes psk = "a pre-shared key";
  EXPECT_EQ(Key(SessionSecret(Secret(psk), Secret(kSession))), HkdfExtract(psk, kSession));
  EXPECT_EQ(Key(SessionSecret(SecretBytes(), Secret(kSession))),
            HkdfExtract(Bytes(48, '\0'), kSession));
}

TEST(KeyTree, AcceptMacIsHmacUnderTheAcceptKey) {
  const Sha384Digest transcript = Count<48>(1);
  const Bytes info = Bytes("\x10") + "caravan/1 accept" + Bytes("\x01\x05\x04\x03\x02", 5);
  EXPECT_EQ(Mac(AcceptMac(Secret(kSession), Role::kResponder, 0x02030405, transcript)),
            Hmac(HkdfExpand(kSession, info, 48), Str(transcript)));
}

TEST(KeyTree, WrapKey) {
  const Bytes info = Bytes("\x0e") + "caravan/1 wrap" + Str(kEpoch) + "\x34\x12";
  EXPECT_EQ(Key(WrapKey(Secret(kSession), kEpoch, 0x1234)), HkdfExpand(kSession, info, 32));
}

TEST(KeyTree, ConfirmMacIsHmacOfTheEpoch) {
  const Bytes info = Bytes("\x11") + "caravan/1 confirm" + "\x02\x01\x04\x03";
  EXPECT_EQ(Mac(ConfirmMac(Secret(kEpochSecret), kEpoch, 0x0102, 0x0304)),
            Hmac(HkdfExpand(kEpochSecret, info, 48), Str(kEpoch)));
}

TEST(KeyTree, SenderParent) {
  const Bytes info = Bytes("\x10") + "caravan/1 sender" + Str(kEpoch) + "\x02\x01";
  EXPECT_EQ(Key(SenderParent(Secret(kEpochSecret), kEpoch, 0x0102)),
            HkdfExpand(kEpochSecret, info, 48));
}

TEST(KeyTree, PairParentJoinsSessionAndEpoch) {
  const Bytes info = Bytes("\x0e") + "caravan/1 pair" + Str(kEpoch) + Str(kId) + "\x02\x01\x04\x03";
  EXPECT_EQ(Key(PairParent(Secret(kSession), Secret(kEpochSecret), kEpoch, kId, 0x0102, 0x0304)),
            HkdfExpand(HkdfExtract(kSession, kEpochSecret), info, 48));
}

TEST(KeyTree, OpKey) {
  const Bytes parent(48, 'p');
  const Bytes info = Bytes("\x0c") + "caravan/1 op" + "\x02" + Str(kEpoch) + "\x11" + "\x22\x23" +
                     "\x33\x34" + "\x40\x41\x42\x43\x44\x45\x46\x47" + "\x50\x51" +
                     "\x60\x61\x62\x63";
  EXPECT_EQ(Key(OpKey(Secret(parent), kEpoch, SomeOp())), HkdfExpand(parent, info, 32));
}

TEST(KeyTree, ConnectionKey) {
  const ConnectionId id = SomeConnection();
  const Bytes info = Bytes("\x0e") + "caravan/1 conn" + Str(kId) + Str(kEpoch) + "\x01\x02" +
                     Str(id.dialler_nonce) + Str(id.acceptor_nonce) + "\x01";
  EXPECT_EQ(Key(ConnectionKey(Secret(kSession), id, 1)), HkdfExpand(kSession, info, 32));
}

// No two of the values are equal: changing any one input changes the key.
class Distinct {
 public:
  void Add(const std::string& name, const Bytes& value) {
    const auto [where, added] = seen_.emplace(value, name);
    EXPECT_TRUE(added) << name << " equals " << where->second;
  }

 private:
  std::map<Bytes, std::string> seen_;
};

TEST(KeyTree, AnyChangedFieldChangesTheOpKey) {
  const Bytes parent(48, 'p');
  Distinct keys;
  auto add = [&](const std::string& name, const std::function<void(OpKeyId&)>& change) {
    OpKeyId id = SomeOp();
    change(id);
    keys.Add(name, Key(OpKey(Secret(parent), kEpoch, id)));
  };
  add("original", [](OpKeyId&) {});
  add("suite", [](OpKeyId& id) { id.suite = Suite::kAes256Gcm; });
  add("op", [](OpKeyId& id) { id.op ^= 1; });
  for (int bit = 0; bit < 16; ++bit) {
    add("source", [&](OpKeyId& id) { id.source ^= 1 << bit; });
    add("destination", [&](OpKeyId& id) { id.destination ^= 1 << bit; });
    add("phase", [&](OpKeyId& id) { id.phase ^= 1 << bit; });
  }
  for (int bit = 0; bit < 64; ++bit) {
    add("sequence", [&](OpKeyId& id) { id.sequence ^= uint64_t{1} << bit; });
  }
  for (int bit = 0; bit < 32; ++bit) {
    add("superchunk", [&](OpKeyId& id) { id.superchunk ^= uint32_t{1} << bit; });
  }
  for (size_t i = 0; i < kEpoch.size(); ++i) {
    EpochId epoch = kEpoch;
    epoch[i] ^= 1;
    keys.Add("epoch", Key(OpKey(Secret(parent), epoch, SomeOp())));
  }
  keys.Add("parent", Key(OpKey(Secret(Bytes(48, 'q')), kEpoch, SomeOp())));
}

TEST(KeyTree, AnyChangedFieldChangesTheConnectionKey) {
  Distinct keys;
  auto add = [&](const std::string& name, uint8_t direction,
                 const std::function<void(ConnectionId&)>& change) {
    ConnectionId id = SomeConnection();
    change(id);
    keys.Add(name, Key(ConnectionKey(Secret(kSession), id, direction)));
  };
  add("original", 0, [](ConnectionId&) {});
  add("direction", 1, [](ConnectionId&) {});
  add("session", 0, [](ConnectionId& id) { id.session[15] ^= 1; });
  add("epoch", 0, [](ConnectionId& id) { id.epoch[0] ^= 1; });
  add("lane", 0, [](ConnectionId& id) { id.lane ^= 1; });
  add("dialler", 0, [](ConnectionId& id) { id.dialler_nonce[31] ^= 1; });
  add("acceptor", 0, [](ConnectionId& id) { id.acceptor_nonce[0] ^= 1; });
  add("swapped", 0, [](ConnectionId& id) { std::swap(id.dialler_nonce, id.acceptor_nonce); });
}

TEST(KeyTree, AnyChangedFieldChangesTheOtherKeys) {
  Distinct keys;
  EpochId other_epoch = kEpoch;
  other_epoch[31] ^= 1;
  SessionId other_session = kId;
  other_session[0] ^= 1;
  const Sha384Digest transcript = Count<48>(1);
  const SecretBytes session = Secret(kSession);
  const SecretBytes epoch = Secret(kEpochSecret);
  keys.Add("accept", Mac(AcceptMac(session, Role::kInitiator, 0, transcript)));
  keys.Add("accept role", Mac(AcceptMac(session, Role::kResponder, 0, transcript)));
  keys.Add("accept round", Mac(AcceptMac(session, Role::kInitiator, 1, transcript)));
  keys.Add("accept transcript", Mac(AcceptMac(session, Role::kInitiator, 0, Count<48>(2))));
  keys.Add("accept secret", Mac(AcceptMac(epoch, Role::kInitiator, 0, transcript)));
  keys.Add("wrap", Key(WrapKey(session, kEpoch, 1)));
  keys.Add("wrap epoch", Key(WrapKey(session, other_epoch, 1)));
  keys.Add("wrap recipient", Key(WrapKey(session, kEpoch, 2)));
  keys.Add("wrap secret", Key(WrapKey(epoch, kEpoch, 1)));
  keys.Add("confirm", Mac(ConfirmMac(epoch, kEpoch, 1, 2)));
  keys.Add("confirm reversed", Mac(ConfirmMac(epoch, kEpoch, 2, 1)));
  keys.Add("confirm epoch", Mac(ConfirmMac(epoch, other_epoch, 1, 2)));
  keys.Add("confirm secret", Mac(ConfirmMac(session, kEpoch, 1, 2)));
  keys.Add("sender", Key(SenderParent(epoch, kEpoch, 1)));
  keys.Add("sender source", Key(SenderParent(epoch, kEpoch, 2)));
  keys.Add("sender epoch", Key(SenderParent(epoch, other_epoch, 1)));
  keys.Add("sender secret", Key(SenderParent(session, kEpoch, 1)));
  keys.Add("pair", Key(PairParent(session, epoch, kEpoch, kId, 1, 2)));
  keys.Add("pair reversed", Key(PairParent(session, epoch, kEpoch, kId, 2, 1)));
  keys.Add("pair epoch", Key(PairParent(session, epoch, other_epoch, kId, 1, 2)));
  keys.Add("pair session", Key(PairParent(session, epoch, kEpoch, other_session, 1, 2)));
  keys.Add("pair secrets swapped", Key(PairParent(epoch, session, kEpoch, kId, 1, 2)));
}

TEST(KeyTree, RefusesSecretsOfTheWrongSize) {
  for (size_t size : {0, 32, 47, 49}) {
    const SecretBytes bad = *SecretBytes::Zero(size);
    const SecretBytes good = Secret(kSession);
    const absl::Status all[] = {
        SessionSecret(good, bad).status(),
        AcceptMac(bad, Role::kInitiator, 0, {}).status(),
        WrapKey(bad, kEpoch, 0).status(),
        ConfirmMac(bad, kEpoch, 0, 0).status(),
        SenderParent(bad, kEpoch, 0).status(),
        PairParent(bad, good, kEpoch, kId, 0, 0).status(),
        PairParent(good, bad, kEpoch, kId, 0, 0).status(),
        OpKey(bad, kEpoch, {}).status(),
        ConnectionKey(bad, {}, 0).status(),
    };
    for (const absl::Status& status : all) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    }
  }
  EXPECT_FALSE(Expand(Secret(kSession), std::string(246, 'x'), {}, 32).ok());
  EXPECT_TRUE(Expand(Secret(kSession), std::string(245, 'x'), {}, 32).ok());
}

}  // namespace
}  // namespace caravan::crypto
