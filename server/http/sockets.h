// Sockets of TCP.
#pragma once

#include <string>

namespace isocenter::http {

/// Listens on host:port, without blocking its reader; port 0 picks a free one. -1: it cannot.
int OpenListener(const std::string& address);

/// One of loopback with a port of its own, not connected yet. -1: there is none.
int OpenLoopbackSocket();

/// The port that a socket is bound to; 0: none.
int PortOf(int socket);

}  // namespace isocenter::http
