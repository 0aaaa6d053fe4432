// SPDX-License-Identifier: Apache-2.0
#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

#include <cstring>
#include <type_traits>
#include <utility>

#include "crypto/aead_engines.h"

namespace caravan::crypto {
namespace {

// A manager is a table of function pointers to us: the direct calls keep their state in the
// caller's memory, so the process shares one for each instruction set. Never freed.
const IMB_MGR* Manager(Engine engine) {
  static const IMB_MGR* const widest = [] {
    IMB_MGR* manager = alloc_mb_mgr(0);
    if (manager != nullptr) init_mb_mgr_auto(manager, nullptr);
    return manager;
  }();
  static const IMB_MGR* const sse = [] {
    IMB_MGR* manager = alloc_mb_mgr(0);
    if (manager != nullptr) init_mb_mgr_sse(manager);
    return manager;
  }();
  return engine == Engine::kIpsecMbSse ? sse : widest;
}

bool Has(const IMB_MGR* manager, uint64_t features) {
  return manager != nullptr && (manager->features & features) == features;
}

// Owns one T in locked memory.
template <typename T>
class Locked {
 public:
  static_assert(std::is_trivial_v<T>);
  static absl::StatusOr<Locked> Make() {
    absl::StatusOr<void*> memory = AllocateLocked(sizeof(T));
    if (!memory.ok()) return memory.status();
    return Locked(static_cast<T*>(*memory));
  }
  Locked(Locked&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Locked& operator=(Locked&&) = delete;
  ~Locked() { FreeLocked(value_, sizeof(T)); }
  T* get() const { return value_; }
  T* operator->() const { return value_; }

 private:
  explicit Locked(T* value) : value_(value) {}
  T* value_;
};

// The library refuses null pointers, even of no bytes.
const uint8_t* NotNull(const uint8_t* p) {
  static const uint8_t nothing = 0;
  return p != nullptr ? p : &nothing;
}
uint8_t* NotNull(uint8_t* p, uint8_t* scratch) { return p != nullptr ? p : scratch; }

// The state of one call: it holds keystream.
struct GcmCall {
  ~GcmCall() { Wipe({reinterpret_cast<uint8_t*>(&context), sizeof(context)}); }
  gcm_context_data context;
};

class IpsecMbGcm final : public CheckedAead {
 public:
  IpsecMbGcm(const IMB_MGR* manager, Locked<gcm_key_data> schedule, const SecretBytes& key)
      : manager_(manager), schedule_(std::move(schedule)) {
    IMB_AES256_GCM_PRE(manager_, key.Expose().data(), schedule_.get());
  }

  bool ReadsPlaintextOnce() const override { return true; }
  bool ReadsCiphertextOnce() const override { return true; }

 protected:
  absl::Status DoSeal(const uint8_t* nonce, absl::Span<const uint8_t> ad, const uint8_t* in,
                      uint8_t* out, size_t size, uint8_t* tag) override {
    uint8_t scratch;
    GcmCall call;
    IMB_AES256_GCM_ENC(manager_, schedule_.get(), &call.context, NotNull(out, &scratch),
                       NotNull(in), size, nonce, NotNull(ad.data()), ad.size(), tag, kAeadTagSize);
    return absl::OkStatus();
  }

  absl::StatusOr<bool> DoOpen(const uint8_t* nonce, absl::Span<const uint8_t> ad, const uint8_t* in,
                              uint8_t* out, size_t size, const uint8_t* tag) override {
    uint8_t scratch;
    GcmCall call;
    uint8_t expected[kAeadTagSize];
    IMB_AES256_GCM_DEC(manager_, schedule_.get(), &call.context, NotNull(out, &scratch),
                       NotNull(in), size, nonce, NotNull(ad.data()), ad.size(), expected,
                       kAeadTagSize);
    const bool matches = CRYPTO_memcmp(expected, tag, kAeadTagSize) == 0;
    Wipe(expected);
    return matches;
  }

 private:
  const IMB_MGR* manager_;
  Locked<gcm_key_data> schedule_;
};

struct ChaChaState {
  uint8_t key[kAeadKeySize];
  chacha20_poly1305_context_data context;
};

class IpsecMbChaCha final : public CheckedAead {
 public:
  IpsecMbChaCha(const IMB_MGR* manager, Locked<ChaChaState> state, const SecretBytes& key)
      : manager_(manager), state_(std::move(state)) {
    memcpy(state_->key, key.Expose().data(), kAeadKeySize);
  }

  bool ReadsPlaintextOnce() const override { return true; }

 protected:
  absl::Status DoSeal(const uint8_t* nonce, absl::Span<const uint8_t> ad, const uint8_t* in,
                      uint8_t* out, size_t size, uint8_t* tag) override {
    Begin(nonce, ad);
    if (size > 0) {
      IMB_CHACHA20_POLY1305_ENC_UPDATE(manager_, state_->key, &state_->context, out, in, size);
    }
    IMB_CHACHA20_POLY1305_ENC_FINALIZE(manager_, &state_->context, tag, kAeadTagSize);
    return absl::OkStatus();
  }

  absl::StatusOr<bool> DoOpen(const uint8_t* nonce, absl::Span<const uint8_t> ad, const uint8_t* in,
                              uint8_t* out, size_t size, const uint8_t* tag) override {
    Begin(nonce, ad);
    if (size > 0) {
      IMB_CHACHA20_POLY1305_DEC_UPDATE(manager_, state_->key, &state_->context, out, in, size);
    }
    uint8_t expected[kAeadTagSize];
    IMB_CHACHA20_POLY1305_DEC_FINALIZE(manager_, &state_->context, expected, kAeadTagSize);
    const bool matches = CRYPTO_memcmp(expected, tag, kAeadTagSize) == 0;
    Wipe(expected);
    return matches;
  }

 private:
  void Begin(const uint8_t* nonce, absl::Span<const uint8_t> ad) {
    IMB_CHACHA20_POLY1305_INIT(manager_, state_->key, &state_->context, nonce, NotNull(ad.data()),
                               ad.size());
  }

  const IMB_MGR* manager_;
  Locked<ChaChaState> state_;
};

template <typename EngineClass, typename State>
absl::StatusOr<std::unique_ptr<Aead>> Make(const IMB_MGR* manager, const SecretBytes& key) {
  absl::StatusOr<Locked<State>> state = Locked<State>::Make();
  if (!state.ok()) return state.status();
  return std::make_unique<EngineClass>(manager, *std::move(state), key);
}

}  // namespace

bool IpsecMbRuns(Engine engine) {
  const IMB_MGR* manager = Manager(engine);
  return Has(manager, IMB_CPUFLAGS_SSE) &&
         (!Has(manager, IMB_FEATURE_SELF_TEST) || Has(manager, IMB_FEATURE_SELF_TEST_PASS));
}

bool IpsecMbIsWide() {
  return IpsecMbRuns(Engine::kIpsecMb) && Has(Manager(Engine::kIpsecMb), IMB_CPUFLAGS_AVX512_T2);
}

absl::StatusOr<std::unique_ptr<Aead>> CreateIpsecMbAead(Suite suite, Engine engine,
                                                        const SecretBytes& key) {
  const IMB_MGR* manager = Manager(engine);
  if (suite == Suite::kAes256Gcm) return Make<IpsecMbGcm, gcm_key_data>(manager, key);
  return Make<IpsecMbChaCha, ChaChaState>(manager, key);
}

}  // namespace caravan::crypto
