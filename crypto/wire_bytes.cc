// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "crypto/hash.h"

namespace caravan::crypto {
namespace {

template <typename T>
void AppendLittleEndian(std::string& out, T v) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(v >> (8 * i)));
}

template <typename T>
T ReadLittleEndian(absl::Span<const uint8_t> bytes) {
  T v = 0;
  for (size_t i = 0; i < sizeof(T); ++i) v |= static_cast<T>(T{bytes[i]} << (8 * i));
  return v;
}

template <typename T>
absl::StatusOr<T> ReadInteger(ByteReader& reader, std::string_view what) {
  absl::StatusOr<absl::Span<const uint8_t>> bytes = reader.Fixed(sizeof(T), what);
  if (!bytes.ok()) return bytes.status();
  return ReadLittleEndian<T>(*bytes);
}

absl::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

absl::Span<const uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

ByteWriter& ByteWriter::U8(uint8_t v) {
  AppendLittleEndian(out_, v);
  return *this;
}

ByteWriter& ByteWriter::U16(uint16_t v) {
  AppendLittleEndian(out_, v);
  return *this;
}

ByteWriter& ByteWriter::U32(uint32_t v) {
  AppendLittleEndian(out_, v);
  return *this;
}

ByteWriter& ByteWriter::U64(uint64_t v) {
  AppendLittleEndian(out_, v);
  return *this;
}

ByteWriter& ByteWriter::Fixed(absl::Span<const uint8_t> bytes) {
  out_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return *this;
}

ByteWriter& ByteWriter::Label(std::string_view text) {
  out_.append(text);
  return *this;
}

ByteWriter& ByteWriter::Prefixed(absl::Span<const uint8_t> bytes) {
  return U32(static_cast<uint32_t>(bytes.size())).Fixed(bytes);
}

ByteWriter& ByteWriter::Prefixed(std::string_view text) { return Prefixed(AsBytes(text)); }

absl::Span<const uint8_t> ByteWriter::span() const { return AsBytes(out_); }

absl::StatusOr<uint8_t> ByteReader::U8(std::string_view what) {
  return ReadInteger<uint8_t>(*this, what);
}

absl::StatusOr<uint16_t> ByteReader::U16(std::string_view what) {
  return ReadInteger<uint16_t>(*this, what);
}

absl::StatusOr<uint32_t> ByteReader::U32(std::string_view what) {
  return ReadInteger<uint32_t>(*this, what);
}

absl::StatusOr<uint64_t> ByteReader::U64(std::string_view what) {
  return ReadInteger<uint64_t>(*this, what);
}

absl::StatusOr<absl::Span<const uint8_t>> ByteReader::Fixed(size_t size, std::string_view what) {
  if (rest_.size() < size) {
    return absl::InvalidArgumentError(absl::StrCat(Text(what), ": cut short: expected ", size,
                                                   " bytes, ", rest_.size(), " are left"));
  }
  const absl::Span<const uint8_t> taken = rest_.first(size);
  rest_.remove_prefix(size);
  return taken;
}

absl::StatusOr<absl::Span<const uint8_t>> ByteReader::Prefixed(size_t max, std::string_view what) {
  absl::StatusOr<uint32_t> size = U32(what);
  if (!size.ok()) return size.status();
  if (*size > max) {
    return absl::InvalidArgumentError(
        absl::StrCat(Text(what), ": length ", *size, " is over the limit of ", max));
  }
  return Fixed(*size, what);
}

absl::Status ByteReader::Finish(std::string_view what) const {
  if (rest_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Text(what), ": ", rest_.size(), " unexpected bytes at the end"));
}

}  // namespace caravan::crypto
