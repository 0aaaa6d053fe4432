// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/applications.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "crypto/hash.h"
#include "crypto/secret_bytes.h"

namespace caravan::local {

Application::~Application() {
  if (wake_fd >= 0) close(wake_fd);
}

absl::StatusOr<std::shared_ptr<Application>> Applications::Add(const Credentials& credentials) {
  auto application = std::make_shared<Application>();
  application->credentials = credentials;
  application->buffers = std::make_shared<engine::BufferTable>(memory_bytes_);
  application->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (application->wake_fd < 0) return absl::ErrnoToStatus(errno, "cannot make an eventfd");
  absl::StatusOr<crypto::SecretBytes> random = crypto::SecretBytes::Random(kTokenSize);
  if (!random.ok()) return random.status();
  std::copy(random->Expose().begin(), random->Expose().end(), application->token.begin());

  std::lock_guard<std::mutex> lock(mutex_);
  if (all_.size() >= max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this node serves ", max_, " applications already (limits.max_applications)"));
  }
  application->id = next_++;
  all_.push_back(application);
  return application;
}

void Applications::Remove(uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(all_, [id](const auto& application) {
    if (application->id != id) return false;
    application->ended = true;
    return true;
  });
}

absl::StatusOr<std::shared_ptr<Application>> Applications::Find(absl::string_view token,
                                                                uid_t uid) const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Application> found;
  absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(token.data()), token.size());
  for (const auto& application : all_) {
    if (crypto::ConstantTimeEquals(bytes, application->token)) found = application;
  }
  if (found == nullptr || found->credentials.uid != uid) {
    return absl::UnauthenticatedError(
        "token: is not that of an application of this user; it ends with the application's "
        "connection to memory.sock");
  }
  return found;
}

size_t Applications::count() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return all_.size();
}

}  // namespace caravan::local
