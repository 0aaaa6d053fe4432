// SPDX-License-Identifier: Apache-2.0
#include "attestation/tpm/quote.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "crypto/hash.h"

namespace caravan::attestation::tpm {
namespace {

constexpr uint32_t kMagic = 0xFF544347;  // TPM_GENERATED_VALUE
constexpr uint16_t kAttestQuote = 0x8018;
constexpr uint16_t kRsa = 0x0001, kNull = 0x0010, kRsaSsa = 0x0014;
constexpr size_t kMaxName = 66;    // algorithm and SHA-512
constexpr size_t kMaxDigest = 64;  // SHA-512
constexpr uint32_t kMaxBanks = 16;
constexpr size_t kMaxSelect = 32;  // bytes: more than any TPM has registers
constexpr size_t kRsaSize = 256;   // bytes: 2048 bits
constexpr uint32_t kDefaultExponent = 65537;
constexpr uint32_t kHierarchies[] = {0x40000001, 0x4000000B, 0x4000000C, 0x40000007};

// The first failure stays; what is read after it is empty.
class Reader {
 public:
  Reader(std::string_view structure, std::string_view bytes)
      : structure_(structure), rest_(bytes) {}

  uint64_t Integer(size_t size, std::string_view what) {
    uint64_t value = 0;
    for (char byte : Bytes(size, what)) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }
  std::string_view Bytes(size_t size, std::string_view what) {
    if (rest_.size() < size) Fail(what, "is cut short");
    if (!status_.ok()) return {};
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  // A TPM2B.
  std::string_view Sized(size_t max, std::string_view what) {
    const size_t size = Integer(2, what);
    if (size > max) Fail(what, absl::StrCat("has ", size, " bytes, at most ", max));
    return Bytes(size, what);
  }
  void Require(uint64_t value, uint64_t expected, std::string_view what) {
    if (value == expected) return;
    Fail(what, absl::StrCat("is 0x", absl::Hex(value), ", expected 0x", absl::Hex(expected)));
  }
  void Fail(std::string_view what, std::string_view problem) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat(std::string(structure_), ": ", std::string(what), " ", std::string(problem)));
  }
  absl::Status Finish() {
    if (!rest_.empty()) Fail("end", absl::StrCat("is followed by ", rest_.size(), " bytes"));
    return status_;
  }
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  std::string_view structure_;
  std::string_view rest_;
  absl::Status status_;
};

PcrSelection ReadSelection(Reader* reader) {
  PcrSelection selection;
  selection.hash = static_cast<uint16_t>(reader->Integer(2, "hash of a bank"));
  const size_t size = reader->Integer(1, "size of a selection");
  if (size > kMaxSelect) reader->Fail("size of a selection", absl::StrCat("is ", size));
  for (char byte : reader->Bytes(size, "selection")) {
    for (int bit = 0; bit < 8; ++bit) selection.indices.push_back((byte >> bit & 1) != 0);
  }
  return selection;
}

}  // namespace

absl::StatusOr<Quote> ParseQuote(std::string_view bytes) {
  Reader reader("tpm quote", bytes);
  reader.Require(reader.Integer(4, "magic"), kMagic, "magic");
  reader.Require(reader.Integer(2, "type"), kAttestQuote, "type");
  Quote quote;
  quote.qualified_signer = reader.Sized(kMaxName, "qualified signer");
  quote.extra_data = reader.Sized(kMaxName, "extra data");
  reader.Integer(8, "clock");
  quote.reset_count = static_cast<uint32_t>(reader.Integer(4, "reset count"));
  quote.restart_count = static_cast<uint32_t>(reader.Integer(4, "restart count"));
  if (reader.Integer(1, "safe") > 1) reader.Fail("safe", "is neither yes nor no");
  quote.firmware_version = reader.Integer(8, "firmware version");
  const uint64_t banks = reader.Integer(4, "number of banks");
  if (banks > kMaxBanks) {
    reader.Fail("number of banks", absl::StrCat("is ", banks, ", at most ", kMaxBanks));
  }
  for (uint64_t i = 0; i < banks && reader.ok(); ++i) {
    quote.selections.push_back(ReadSelection(&reader));
  }
  quote.pcr_digest = reader.Sized(kMaxDigest, "pcr digest");
  if (absl::Status end = reader.Finish(); !end.ok()) return end;
  return quote;
}

absl::StatusOr<std::vector<uint8_t>> SelectedPcrs(const Quote& quote) {
  if (quote.selections.size() != 1 || quote.selections[0].hash != kTpmSha256) {
    return absl::InvalidArgumentError(absl::StrCat("the quote covers ", quote.selections.size(),
                                                   " banks, expected the one of sha-256"));
  }
  std::vector<uint8_t> selected;
  const std::vector<bool>& indices = quote.selections[0].indices;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (i >= kPcrs) {
      return absl::InvalidArgumentError(
          absl::StrCat("the quote covers register ", i, ", of which there are ", kPcrs));
    }
    selected.push_back(static_cast<uint8_t>(i));
  }
  if (selected.empty()) return absl::InvalidArgumentError("the quote covers no register");
  return selected;
}

absl::StatusOr<std::string_view> RsaSignatureOf(std::string_view bytes) {
  if (bytes.size() == kRsaSize) return bytes;
  Reader reader("tpm signature", bytes);
  reader.Require(reader.Integer(2, "scheme"), kRsaSsa, "scheme");
  reader.Require(reader.Integer(2, "hash"), kTpmSha256, "hash");
  const std::string_view signature = reader.Sized(kRsaSize, "signature");
  if (absl::Status end = reader.Finish(); !end.ok()) return end;
  return signature;
}

absl::StatusOr<PublicArea> ParsePublicArea(std::string_view bytes) {
  Reader reader("public area", bytes);
  reader.Require(reader.Integer(2, "type"), kRsa, "type");
  reader.Require(reader.Integer(2, "name algorithm"), kTpmSha256, "name algorithm");
  PublicArea area;
  area.attributes = static_cast<uint32_t>(reader.Integer(4, "attributes"));
  reader.Sized(kMaxDigest, "authorization policy");
  reader.Require(reader.Integer(2, "symmetric algorithm"), kNull, "symmetric algorithm");
  if (const uint64_t scheme = reader.Integer(2, "scheme"); scheme != kNull) {
    reader.Require(scheme, kRsaSsa, "scheme");
    reader.Require(reader.Integer(2, "hash"), kTpmSha256, "hash");
  }
  reader.Require(reader.Integer(2, "key bits"), 8 * kRsaSize, "key bits");
  area.exponent = static_cast<uint32_t>(reader.Integer(4, "exponent"));
  if (area.exponent == 0) area.exponent = kDefaultExponent;
  area.modulus = reader.Sized(kRsaSize, "modulus");
  if (absl::Status end = reader.Finish(); !end.ok()) return end;
  return area;
}

std::vector<std::string> QualifiedNames(std::string_view public_area) {
  constexpr std::string_view kAlgorithm("\x00\x0B", 2);
  const auto named = [&](const std::string& bytes) {
    const crypto::Sha256Digest digest = crypto::Sha256(crypto::AsBytes(bytes));
    return std::string(kAlgorithm).append(digest.begin(), digest.end());
  };
  const std::string name = named(std::string(public_area));
  std::vector<std::string> names;
  for (uint32_t handle : kHierarchies) {
    std::string parent;
    for (int shift = 24; shift >= 0; shift -= 8)
      parent.push_back(static_cast<char>(handle >> shift));
    names.push_back(named(parent + name));
  }
  return names;
}

EvpPkeyPtr MakeRsaPublicKey(std::string_view modulus, std::string_view exponent) {
  using BignumPtr = std::unique_ptr<BIGNUM, OpensslDelete<BN_free>>;
  const ClearErrors clear;
  const auto number = [](std::string_view bytes) {
    return BignumPtr(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                               static_cast<int>(bytes.size()), nullptr));
  };
  const BignumPtr n = number(modulus), e = number(exponent);
  const std::unique_ptr<OSSL_PARAM_BLD, OpensslDelete<OSSL_PARAM_BLD_free>> builder(
      OSSL_PARAM_BLD_new());
  if (n == nullptr || e == nullptr || builder == nullptr ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return nullptr;
  }
  const std::unique_ptr<OSSL_PARAM, OpensslDelete<OSSL_PARAM_free>> parameters(
      OSSL_PARAM_BLD_to_param(builder.get()));
  const std::unique_ptr<EVP_PKEY_CTX, OpensslDelete<EVP_PKEY_CTX_free>> context(
      EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
  EVP_PKEY* key = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  return EvpPkeyPtr(key);
}

absl::Status CheckRsaSignature(EVP_PKEY* key, std::string_view signature,
                               std::string_view message) {
  const ClearErrors clear;
  const std::unique_ptr<EVP_MD_CTX, OpensslDelete<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* padding = nullptr;
  const auto* data = reinterpret_cast<const unsigned char*>(signature.data());
  const auto* text = reinterpret_cast<const unsigned char*>(message.data());
  if (key == nullptr || context == nullptr ||
      EVP_DigestVerifyInit(context.get(), &padding, EVP_sha256(), nullptr, key) != 1 ||
      EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PADDING) != 1 ||
      EVP_DigestVerify(context.get(), data, signature.size(), text, message.size()) != 1) {
    return absl::UnauthenticatedError("rsa signature does not verify");
  }
  return absl::OkStatus();
}

}  // namespace caravan::attestation::tpm
