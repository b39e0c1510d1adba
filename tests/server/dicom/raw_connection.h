// The bytes of one connection, as either side.
#pragma once

#include <string>

namespace isocenter::dicom {

/// A TCP connection over loopback. Every wait ends after some seconds.
class RawConnection {
 public:
  explicit RawConnection(int socket) : socket_(socket) {}
  RawConnection(RawConnection&& other) noexcept : socket_(other.socket_) { other.socket_ = -1; }
  ~RawConnection();

  static RawConnection To(int port);

  /// False when the other side has closed.
  bool Send(const std::string& bytes);
  /// Type and body of the next PDU; type 0: the other side has closed.
  struct Received {
    int type = 0;
    std::string body;
  };
  Received Receive();

 private:
  bool Fill(std::string& bytes, size_t size);
  int socket_;
};

/// Listens on a free port of loopback.
class RawListener {
 public:
  RawListener();
  ~RawListener();
  int port() const { return port_; }
  RawConnection Accept();

 private:
  int socket_, port_ = 0;
};

}  // namespace isocenter::dicom
