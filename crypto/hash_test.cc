// SPDX-License-Identifier: Apache-2.0
#include "crypto/hash.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"

namespace caravan::crypto {
namespace {

std::vector<uint8_t> RandomBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  return bytes;
}

std::vector<uint8_t> Vector(absl::Span<const uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

std::string Hex(absl::Span<const uint8_t> bytes) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::vector<uint8_t> ReferenceHkdf(int mode, std::vector<uint8_t> key, std::vector<uint8_t> salt,
                                   std::vector<uint8_t> info, size_t size) {
  EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  EVP_KDF_CTX* context = EVP_KDF_CTX_new(kdf);
  char digest[] = "SHA384";
  std::vector<OSSL_PARAM> params = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size())};
  if (!salt.empty()) {
    params.push_back(
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()));
  }
  if (!info.empty()) {
    params.push_back(
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()));
  }
  params.push_back(OSSL_PARAM_construct_end());
  std::vector<uint8_t> out(size);
  EXPECT_EQ(EVP_KDF_derive(context, out.data(), size, params.data()), 1);
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kdf);
  return out;
}

TEST(Sha2, MatchesFips180) {
  EXPECT_EQ(Hex(Sha256(AsBytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hex(Sha384(AsBytes("abc"))),
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
            "8086072ba1e7cc2358baeca134c825a7");
  EXPECT_EQ(Hex(Sha384({})),
            "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da"
            "274edebfe76f65fbd51ad2f14898b95b");
}

TEST(HmacSha384, MatchesOpenSslForEveryKeyLength) {
  for (size_t key_size : {0, 1, 32, 48, 127, 128, 129, 500}) {
    const std::vector<uint8_t> key = RandomBytes(key_size, 1);
    const std::vector<uint8_t> message = RandomBytes(key_size * 3, 2);
    uint8_t expected[48];
    const uint8_t none = 0;
    HMAC(EVP_sha384(), key_size > 0 ? key.data() : &none, static_cast<int>(key_size),
         message.data(), message.size(), expected, nullptr);
    SecretBytes secret = *SecretBytes::Copy(key);
    EXPECT_EQ(Hex(*HmacSha384(secret, message)), Hex(expected)) << key_size;
  }
}

TEST(HkdfSha384, ExtractMatchesOpenSsl) {
  for (size_t salt_size : {0, 13, 48, 128, 200}) {
    const std::vector<uint8_t> salt = RandomBytes(salt_size, 3);
    const std::vector<uint8_t> input = RandomBytes(48, 4);
    SecretBytes secret_salt = *SecretBytes::Copy(salt);
    SecretBytes secret_input = *SecretBytes::Copy(input);
    EXPECT_EQ(Vector(HkdfExtract(secret_salt, secret_input)->Expose()),
              ReferenceHkdf(EVP_KDF_HKDF_MODE_EXTRACT_ONLY, input, salt, {}, 48))
        << salt_size;
  }
}

TEST(HkdfSha384, EmptySaltIs48Zeros) {
  SecretBytes input = *SecretBytes::Random(48);
  EXPECT_TRUE(ConstantTimeEquals(HkdfExtract(SecretBytes(), input)->Expose(),
                                 HkdfExtract(*SecretBytes::Zero(48), input)->Expose()));
}

TEST(HkdfSha384, ExpandMatchesOpenSslUpToItsLimit) {
  const std::vector<uint8_t> parent = RandomBytes(48, 5);
  SecretBytes secret = *SecretBytes::Copy(parent);
  for (size_t size : {1, 32, 47, 48, 49, 96, 97, 1000, 255 * 48}) {
    const std::vector<uint8_t> info = RandomBytes(size % 300, 6);
    absl::StatusOr<SecretBytes> out = HkdfExpand(secret, info, size);
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(Vector(out->Expose()),
              ReferenceHkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, parent, {}, info, size));
  }
  EXPECT_EQ(HkdfExpand(secret, {}, 255 * 48 + 1).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ByteWriter, WritesLittleEndianAndLengths) {
  ByteWriter writer;
  writer.U8(1).U16(0x0203).U32(0x04050607).U64(0x08090a0b0c0d0e0f).Label("ab").Prefixed("xyz");
  EXPECT_EQ(Hex(writer.span()),
            "01"
            "0302"
            "07060504"
            "0f0e0d0c0b0a0908"
            "6162"
            "0300000078797a");
}

TEST(ByteReader, ReadsBackWhatWasWritten) {
  ByteWriter writer;
  writer.U8(0xff).U16(0xfffe).U32(0xfffffffd).U64(~uint64_t{3}).Fixed(AsBytes("ab")).Prefixed("x");
  ByteReader reader(writer.span());
  EXPECT_EQ(*reader.U8("a"), 0xff);
  EXPECT_EQ(*reader.U16("b"), 0xfffe);
  EXPECT_EQ(*reader.U32("c"), 0xfffffffd);
  EXPECT_EQ(*reader.U64("d"), ~uint64_t{3});
  EXPECT_EQ(Hex(*reader.Fixed(2, "e")), "6162");
  EXPECT_FALSE(reader.Finish("message").ok());
  EXPECT_EQ(Hex(*reader.Prefixed(1, "f")), "78");
  EXPECT_TRUE(reader.Finish("message").ok());
}

TEST(ByteReader, RefusesEveryTruncationByName) {
  ByteWriter writer;
  writer.U64(1).Prefixed("hello");
  for (size_t size = 0; size < writer.span().size(); ++size) {
    ByteReader reader(writer.span().first(size));
    absl::Status status = reader.U64("the number").status();
    if (status.ok()) status = reader.Prefixed(100, "the name").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_NE(status.message().find(size < 8 ? "the number" : "the name"), absl::string_view::npos);
  }
}

TEST(ByteReader, RefusesALengthOverItsLimit) {
  ByteWriter writer;
  writer.Prefixed("hello");
  EXPECT_FALSE(ByteReader(writer.span()).Prefixed(4, "name").ok());
  ByteWriter huge;
  huge.U32(0xffffffff);
  EXPECT_FALSE(ByteReader(huge.span()).Prefixed(SIZE_MAX, "name").ok());
}

}  // namespace
}  // namespace caravan::crypto
