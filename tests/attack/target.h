// A node with roles and all its doors open on loopback, and what attackers know of it.
#pragma once

#include <memory>
#include <string>

#include "client/channel.h"
#include "tests/fault/daemon.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {

enum class Role { kNone, kViewer, kConsole, kOtherConsole, kAdministrator };

class Target {
 public:
  Target();

  Daemon& daemon() { return *daemon_; }
  int grpc_port() const { return daemon_->grpc_port(); }
  int metrics_port() const { return daemon_->metrics_port(); }
  int web_port() const { return web_port_; }
  int dicom_port() const { return dicom_port_; }
  std::string audit_directory() const;
  /// Of a connection of its own, with that role's token.
  client::ServiceChannel Channel(Role role) const;
  static std::string Token(Role role);

 private:
  TemporaryDirectory directory_;
  int web_port_, dicom_port_;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace isocenter::testing
