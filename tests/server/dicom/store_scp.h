// DCMTK's storescp as a destination.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

namespace isocenter::dicom {

/// DCMTK's storescp on the loopback interface: by itself it listens on all, so this listens and
/// hands it every connection as inetd does.
class StoreScp {
 public:
  StoreScp(const std::filesystem::path& directory, std::string options)
      : options_(std::move(options)) {
    std::filesystem::create_directories(directory);
    options_ += " -od " + directory.string();
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~StoreScp() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  int port() const { return port_; }

 private:
  void Serve() {
    for (int connection; (connection = accept(listener_, nullptr, nullptr)) >= 0;) {
      const std::string command = "exec storescp --inetd " + options_;
      const pid_t child = fork();
      if (child == 0) {
        dup2(connection, 0);
        // Or it would hold the node's ends of its own connections.
        close_range(3, ~0U, 0);
        execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        _exit(127);
      }
      close(connection);
      waitpid(child, nullptr, 0);
    }
  }
  std::string options_;
  int listener_ = -1, port_ = 0;
  std::thread thread_;
};

}  // namespace isocenter::dicom
