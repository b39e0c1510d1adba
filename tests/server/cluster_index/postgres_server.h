// A real PostgreSQL on a socket of its own. As root it runs as nobody: it refuses to run as root.
#pragma once

#include <string>

#include "tests/server/archive/temporary_directory.h"

namespace isocenter::cluster_index {

/// Ends the test program where PostgreSQL cannot be started: without it nothing is tested.
class PostgresServer {
 public:
  /// The one that all tests of a program share.
  static PostgresServer& Get();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  /// A new database; how to get there.
  std::string NewDatabase();
  /// One statement, as the owner; what it answers, without blanks at its ends.
  std::string Run(const std::string& connection, const std::string& sql);

  void Start();
  /// At once, as if it had died.
  void Kill();
  /// It exists, but says nothing.
  void Freeze();
  void Thaw();

 private:
  PostgresServer();
  std::string As(const std::string& command) const;
  int Postmaster() const;

  TemporaryDirectory directory_;
  int databases_ = 0;
};

}  // namespace isocenter::cluster_index
