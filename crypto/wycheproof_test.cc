// SPDX-License-Identifier: Apache-2.0
//
// Wycheproof's vectors on the primitives that this tree takes from OpenSSL and libsodium as they
// are, and on HKDF-SHA-384. Each call is written as the tree makes it.
#include "crypto/wycheproof.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/x509.h>
#include <sodium.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crypto/hash.h"

namespace caravan::crypto {
namespace {

using Bytes = std::vector<uint8_t>;

template <auto Release>
struct Releaser {
  template <typename T>
  void operator()(T* p) const {
    Release(p);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Releaser<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Releaser<EVP_MD_CTX_free>>;

Key PublicKey(const WycheproofCase& one) {
  const Bytes der = one.group_bytes("publicKeyDer");
  const uint8_t* at = der.data();
  return Key(d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())));
}

bool Verify(EVP_PKEY* key, const EVP_MD* digest, const Bytes& message, const Bytes& signature) {
  DigestContext context(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(),
                          message.size()) == 1;
}

// r ‖ s, each of the field's width, as DER; nothing for any other length.
std::optional<Bytes> DerFromP1363(const Bytes& signature, size_t width) {
  if (signature.size() != 2 * width) return std::nullopt;
  std::unique_ptr<ECDSA_SIG, Releaser<ECDSA_SIG_free>> pair(ECDSA_SIG_new());
  ECDSA_SIG_set0(pair.get(), BN_bin2bn(signature.data(), static_cast<int>(width), nullptr),
                 BN_bin2bn(signature.data() + width, static_cast<int>(width), nullptr));
  Bytes der(i2d_ECDSA_SIG(pair.get(), nullptr));
  uint8_t* at = der.data();
  i2d_ECDSA_SIG(pair.get(), &at);
  return der;
}

std::optional<Bytes> OpenSslHkdf(const char* digest, Bytes key, Bytes salt, Bytes info,
                                 size_t size) {
  std::unique_ptr<EVP_KDF, Releaser<EVP_KDF_free>> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  std::unique_ptr<EVP_KDF_CTX, Releaser<EVP_KDF_CTX_free>> context(EVP_KDF_CTX_new(kdf.get()));
  std::vector<OSSL_PARAM> params = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, const_cast<char*>(digest), 0)};
  auto add = [&params](const char* name, Bytes& value) {
    if (value.empty()) return;  // OpenSSL takes no null pointer
    params.push_back(OSSL_PARAM_construct_octet_string(name, value.data(), value.size()));
  };
  add(OSSL_KDF_PARAM_KEY, key);
  add(OSSL_KDF_PARAM_SALT, salt);
  add(OSSL_KDF_PARAM_INFO, info);
  params.push_back(OSSL_PARAM_construct_end());
  Bytes out(size);
  if (EVP_KDF_derive(context.get(), out.data(), size, params.data()) != 1) return std::nullopt;
  return out;
}

std::optional<Bytes> OurHkdf(const Bytes& key, const Bytes& salt, const Bytes& info, size_t size) {
  absl::StatusOr<SecretBytes> extracted =
      HkdfExtract(*SecretBytes::Copy(salt), *SecretBytes::Copy(key));
  absl::StatusOr<SecretBytes> expanded = HkdfExpand(*extracted, info, size);
  if (!expanded.ok()) return std::nullopt;
  return Bytes(expanded->Expose().begin(), expanded->Expose().end());
}

class Wycheproof : public testing::Test {
 protected:
  void SetUp() override {
    if (!WycheproofIsPresent()) GTEST_SKIP() << kWycheproofMissing;
    ASSERT_GE(sodium_init(), 0);
  }

  static void RunHkdf(const std::string& file,
                      const std::function<std::optional<Bytes>(const Bytes&, const Bytes&,
                                                               const Bytes&, size_t)>& hkdf) {
    ForEachWycheproofCase(file, [&](const WycheproofCase& one) {
      const int64_t size = one.test["size"];
      const std::optional<Bytes> out =
          hkdf(one.bytes("ikm"), one.bytes("salt"), one.bytes("info"), size);
      ASSERT_EQ(out.has_value(), one.valid());
      if (out.has_value()) {
        EXPECT_EQ(*out, one.bytes("okm"));
      }
    });
  }

  static void RunP1363(const std::string& file, const EVP_MD* digest, size_t width) {
    ForEachWycheproofCase(file, [&](const WycheproofCase& one) {
      const Key key = PublicKey(one);
      ASSERT_NE(key, nullptr);
      const std::optional<Bytes> der = DerFromP1363(one.bytes("sig"), width);
      EXPECT_EQ(der.has_value() && Verify(key.get(), digest, one.bytes("msg"), *der), one.valid());
    });
  }
};

TEST_F(Wycheproof, HkdfSha256OfOpenSsl) {
  RunHkdf("hkdf_sha256", [](const Bytes& key, const Bytes& salt, const Bytes& info, size_t size) {
    return OpenSslHkdf("SHA256", key, salt, info, size);
  });
}

TEST_F(Wycheproof, HkdfSha384OfOpenSsl) {
  RunHkdf("hkdf_sha384", [](const Bytes& key, const Bytes& salt, const Bytes& info, size_t size) {
    return OpenSslHkdf("SHA384", key, salt, info, size);
  });
}

TEST_F(Wycheproof, HkdfSha384OfThisTree) { RunHkdf("hkdf_sha384", OurHkdf); }

TEST_F(Wycheproof, EcdsaP256AsRawPairs) {
  RunP1363("ecdsa_secp256r1_sha256_p1363", EVP_sha256(), 32);
}

TEST_F(Wycheproof, EcdsaP384AsRawPairs) {
  RunP1363("ecdsa_secp384r1_sha384_p1363", EVP_sha384(), 48);
}

TEST_F(Wycheproof, EcdsaP384AsDer) {
  ForEachWycheproofCase("ecdsa_secp384r1_sha384", [](const WycheproofCase& one) {
    const Key key = PublicKey(one);
    ASSERT_NE(key, nullptr);
    EXPECT_EQ(Verify(key.get(), EVP_sha384(), one.bytes("msg"), one.bytes("sig")), one.valid());
  });
}

TEST_F(Wycheproof, Ed25519OfOpenSsl) {
  ForEachWycheproofCase("ed25519", [](const WycheproofCase& one) {
    const Key key = PublicKey(one);
    ASSERT_NE(key, nullptr);
    EXPECT_EQ(Verify(key.get(), nullptr, one.bytes("msg"), one.bytes("sig")), one.valid());
  });
}

TEST_F(Wycheproof, Ed25519OfLibsodium) {
  ForEachWycheproofCase("ed25519", [](const WycheproofCase& one) {
    // The raw key ends the DER form: RFC 8410.
    const Bytes der = one.group_bytes("publicKeyDer");
    ASSERT_GE(der.size(), size_t{crypto_sign_PUBLICKEYBYTES});
    const uint8_t* key = der.data() + der.size() - crypto_sign_PUBLICKEYBYTES;
    const Bytes message = one.bytes("msg"), signature = one.bytes("sig");
    EXPECT_EQ(
        signature.size() == crypto_sign_BYTES &&
            crypto_sign_verify_detached(signature.data(), message.data(), message.size(), key) == 0,
        one.valid());
  });
}

// Policy: a shared secret of zeros (a point of low order) is an error; a coordinate that is not
// canonical is taken modulo the prime, as RFC 7748 has it.
TEST_F(Wycheproof, X25519OfOpenSsl) {
  int zeros = 0;
  ForEachWycheproofCase("x25519", [&](const WycheproofCase& one) {
    const Bytes own = one.bytes("private"), peer = one.bytes("public");
    const Bytes expected = one.bytes("shared");
    const Key own_key(
        EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, own.data(), own.size()));
    const Key peer_key(
        EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, peer.data(), peer.size()));
    ASSERT_TRUE(own_key != nullptr && peer_key != nullptr);
    const KeyContext context(EVP_PKEY_CTX_new(own_key.get(), nullptr));
    Bytes shared(32);
    size_t size = shared.size();
    const bool derived = EVP_PKEY_derive_init(context.get()) == 1 &&
                         EVP_PKEY_derive_set_peer(context.get(), peer_key.get()) == 1 &&
                         EVP_PKEY_derive(context.get(), shared.data(), &size) == 1;
    const bool zero =
        std::all_of(expected.begin(), expected.end(), [](uint8_t b) { return b == 0; });
    zeros += zero;
    EXPECT_EQ(derived, !zero);
    if (derived) {
      EXPECT_EQ(shared, expected);
    }
  });
  EXPECT_GT(zeros, 0);
}

TEST_F(Wycheproof, XChaCha20Poly1305OfLibsodium) {
  int refused = 0;
  ForEachWycheproofCase("xchacha20_poly1305", [&](const WycheproofCase& one) {
    const Bytes key = one.bytes("key"), iv = one.bytes("iv"), ad = one.bytes("aad");
    ASSERT_EQ(key.size(), size_t{crypto_aead_xchacha20poly1305_ietf_KEYBYTES});
    if (iv.size() != crypto_aead_xchacha20poly1305_ietf_NPUBBYTES) {
      ++refused;  // libsodium's nonce has one size: a caller cannot pass another
      EXPECT_FALSE(one.valid());
      return;
    }
    const Bytes message = one.bytes("msg"), ciphertext = one.bytes("ct"), tag = one.bytes("tag");
    Bytes opened(ciphertext.size());
    const uint8_t nothing = 0;  // libsodium takes no null pointer, even of no bytes
    const bool ok =
        crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
            opened.data(), nullptr, ciphertext.empty() ? &nothing : ciphertext.data(),
            ciphertext.size(), tag.data(), ad.data(), ad.size(), iv.data(), key.data()) == 0;
    EXPECT_EQ(ok, one.valid());
    if (ok) {
      EXPECT_EQ(opened, message);
    }
  });
  EXPECT_EQ(refused, 9);
}

}  // namespace
}  // namespace caravan::crypto
