// What the other side of an association may still send.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <span>

#include "absl/time/time.h"
#include "server/dicom/net/message_guard.h"

namespace isocenter::dicom {

/// Used by the association's thread only.
struct Allowance {
  static constexpr int64_t kMessageBytes = 1 << 20;
  int64_t bytes = kMessageBytes;
  absl::Time deadline = absl::InfiniteFuture();
  MessageGuard guard;

  /// One more message.
  void Renew() {
    bytes = kMessageBytes;
    deadline = absl::InfiniteFuture();
  }

  /// What a read returns that has `received` bytes, or failed: fails where they are not legal, so
  /// that nobody acts on them.
  ssize_t Take(const void* buffer, ssize_t received) {
    if (received <= 0) return received;
    bytes -= received;
    const std::span all(static_cast<const std::byte*>(buffer), static_cast<size_t>(received));
    if (guard.Take(all)) return received;
    errno = ECONNABORTED;
    return -1;
  }
};

}  // namespace isocenter::dicom
