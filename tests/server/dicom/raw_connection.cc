#include "tests/server/dicom/raw_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace isocenter::dicom {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

int NewSocket() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_GE(socket, 0);
  const timeval patience = {.tv_sec = 20, .tv_usec = 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return socket;
}

}  // namespace

RawConnection::~RawConnection() {
  if (socket_ >= 0) close(socket_);
}

RawConnection RawConnection::To(int port) {
  const int socket = NewSocket();
  const sockaddr_in address = Loopback(port);
  EXPECT_EQ(connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return RawConnection(socket);
}

bool RawConnection::Send(const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += n;
  }
  return true;
}

bool RawConnection::Fill(std::string& bytes, size_t size) {
  bytes.resize(size);
  return size == 0 || recv(socket_, bytes.data(), size, MSG_WAITALL) == ssize_t(size);
}

RawConnection::Received RawConnection::Receive() {
  std::string header;
  if (!Fill(header, 6)) return {};
  uint32_t length = 0;
  for (int i = 2; i < 6; ++i) length = length << 8 | static_cast<uint8_t>(header[i]);
  Received received{.type = header[0], .body = {}};
  return Fill(received.body, length) ? received : Received{};
}

RawListener::RawListener() : socket_(NewSocket()) {
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), length), 0);
  EXPECT_EQ(listen(socket_, 4), 0);
  getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
}

RawListener::~RawListener() { close(socket_); }

RawConnection RawListener::Accept() { return RawConnection(accept(socket_, nullptr, nullptr)); }

}  // namespace isocenter::dicom
