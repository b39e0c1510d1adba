// A connection to PostgreSQL in which nothing waits longer than it was told. Whoever hangs on it is
// a query of a hospital.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/archive/database.h"
#include "server/cluster_index/connection_string.h"

struct pg_conn;
struct pg_result;

namespace isocenter::cluster_index {

/// The current row of a query; valid during its callback.
class Row {
 public:
  explicit Row(const pg_result* result) : result_(result) {}
  /// NULL is "".
  std::string Text(int column) const;
  /// What is no number is 0.
  int64_t Integer(int column) const;

 private:
  const pg_result* result_;
};

/// Not thread-safe. Errors of all functions: UNAVAILABLE (the database is away, refuses or has no
/// room), DEADLINE_EXCEEDED, INVALID_ARGUMENT (it refuses these values), PERMISSION_DENIED,
/// DATA_LOSS (an answer larger than any that is believed), CANCELLED (stopped), INTERNAL. Their
/// messages have no values: those are patients' data.
class Connection {
 public:
  /// Of one value and of one answer.
  static constexpr int kMostValueBytes = 4096;
  static constexpr int64_t kMostAnswerBytes = int64_t{256} << 20;

  /// `stopped`: looked at while it waits; null: nobody stops it. Looking up a host's name is the
  /// one thing that this cannot end early.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const ConnectionParameters& parameters,
                                                          absl::Time deadline,
                                                          std::function<bool()> stopped = nullptr);

  /// Runs one statement with the values $1, $2, ... and calls `on_row` for each of its rows.
  absl::Status Query(const std::string& sql, const std::vector<archive::Value>& values,
                     absl::Time deadline, const std::function<void(const Row&)>& on_row);
  absl::Status Execute(const std::string& sql, const std::vector<archive::Value>& values,
                       absl::Time deadline);
  /// Runs `body` so that all of its changes are kept, or none when it returns an error. `begin`:
  /// the statement that begins.
  absl::Status InTransaction(const char* begin, absl::Time deadline,
                             const std::function<absl::Status()>& body);

  /// Whether it can be used, as far as can be told without asking.
  bool IsAlive();

 private:
  struct Closer {
    void operator()(pg_conn* connection) const;
  };
  Connection(std::unique_ptr<pg_conn, Closer> connection, std::function<bool()> stopped)
      : connection_(std::move(connection)), stopped_(std::move(stopped)) {}
  absl::Status Wait(short events, absl::Time deadline);  // NOLINT(google-runtime-int): poll's
  absl::Status Connect(absl::Time deadline);
  absl::Status Send(const std::string& sql, const std::vector<archive::Value>& values,
                    absl::Time deadline);
  absl::Status Broken(absl::StatusCode code, const std::string& what);

  std::unique_ptr<pg_conn, Closer> connection_;
  const std::function<bool()> stopped_;
  bool is_broken_ = false;
};

}  // namespace isocenter::cluster_index
