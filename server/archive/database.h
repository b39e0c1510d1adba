// A thin owner of one SQLite connection: statements, transactions, schema versions. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace isocenter::archive {

/// The current row of a query; valid during its callback.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  std::string Text(int column) const;
  int64_t Integer(int column) const;

 private:
  sqlite3_stmt* statement_;
};

/// A parameter of a statement: text or integer.
class Value {
 public:
  Value(const std::string& text) : text_(text), is_text_(true) {}  // NOLINT
  Value(const char* text) : text_(text), is_text_(true) {}         // NOLINT
  template <class T>
  // NOLINTNEXTLINE(google-explicit-constructor)
  requires std::is_integral_v<T> Value(T integer) : integer_(static_cast<int64_t>(integer)) {}

  bool is_text() const { return is_text_; }
  const std::string& text() const { return text_; }  // where it is text
  int64_t integer() const { return integer_; }       // where it is none

 private:
  std::string text_;
  int64_t integer_ = 0;
  bool is_text_ = false;
};

/// Errors of all functions: RESOURCE_EXHAUSTED (disk full), DATA_LOSS (the file is damaged or not a
/// database), FAILED_PRECONDITION (constraint), PERMISSION_DENIED (read-only), INTERNAL.
///
/// What Open(), Execute() and InTransaction() cannot write for want of room is tried again as long
/// as the file's directory has a reserve (reserve.h) to release.
class Database {
 public:
  /// Opens or creates the file, with write-ahead logging, full durability and foreign keys.
  static absl::StatusOr<Database> Open(const std::filesystem::path& file);
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;

  /// Runs one statement and drops its rows. Parameters are ?1, ?2, ...
  absl::Status Execute(const std::string& sql, const std::vector<Value>& values = {});
  /// Runs one statement and calls `on_row` for each of its rows.
  absl::Status Query(const std::string& sql, const std::vector<Value>& values,
                     const std::function<void(const Row&)>& on_row);
  /// The same until `on_row` is false.
  absl::Status QueryWhile(const std::string& sql, const std::vector<Value>& values,
                          const std::function<bool(const Row&)>& on_row);
  /// Statements may call `name(number, text)`, which is true or false, until it is set again; what
  /// it refers to must live as long as they run.
  absl::Status SetFunction(const char* name,
                           std::function<bool(int64_t number, absl::string_view text)> function);
  /// Runs several statements without parameters.
  absl::Status ExecuteScript(const char* sql);
  /// Runs `body` so that all of its changes are kept, or none when it returns an error. It may run
  /// several times, each time on what was there before.
  absl::Status InTransaction(const std::function<absl::Status()>& body);
  /// Brings the schema from PRAGMA user_version to migrations.size(), each step in a transaction of
  /// its own. FAILED_PRECONDITION when the file is newer than this program.
  absl::Status Migrate(std::span<const char* const> migrations);
  /// DATA_LOSS when the file's structure is damaged. Reads all of it.
  absl::Status CheckIntegrity();

 private:
  struct Closer {
    void operator()(sqlite3* connection) const;
  };
  Database(std::unique_ptr<sqlite3, Closer> connection, std::filesystem::path file);
  bool IsDiskFull(int code) const;
  absl::Status Error(int code);
  /// Runs `write`, and again while it meets a full disk and something of the reserve is left.
  absl::Status WithReserve(const std::function<absl::Status()>& write);

  std::unique_ptr<sqlite3, Closer> connection_;
  std::filesystem::path file_;
  bool met_full_disk_ = false;  // since WithReserve() last asked
};

}  // namespace isocenter::archive
