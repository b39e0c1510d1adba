// Listening sockets.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace isocenter::dicom {

/// Owner of a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();
  int get() const { return value_; }

 private:
  int value_;
};

/// A non-blocking socket that listens on an IPv4 address or host name; port 0 picks a free one.
/// Errors: INVALID_ARGUMENT (no such address), UNAVAILABLE (not ours, or the port is taken).
absl::StatusOr<Descriptor> Listen(const std::string& address, int port);

/// The port that a socket listens on.
int BoundPort(int socket);

/// The IPv4 address at the other end of a connected socket, e.g. "10.1.2.3"; "" when there is none
/// any more.
std::string PeerAddress(int socket);

}  // namespace isocenter::dicom
