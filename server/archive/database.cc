#include "server/archive/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "server/archive/reserve.h"
#include "server/storage/files.h"

namespace isocenter::archive {
namespace {

constexpr int kBusyMilliseconds = 60'000;

struct Finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

}  // namespace

std::string Row::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? std::string()
                         : std::string(text, sqlite3_column_bytes(statement_, column));
}

int64_t Row::Integer(int column) const { return sqlite3_column_int64(statement_, column); }

void Database::Closer::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Database::Database(std::unique_ptr<sqlite3, Closer> connection, std::filesystem::path file)
    : connection_(std::move(connection)), file_(std::move(file)) {}

bool Database::IsDiskFull(int code) const {
  if ((code & 0xff) == SQLITE_FULL) return true;
  const int error = connection_ ? sqlite3_system_errno(connection_.get()) : 0;
  const bool has_errno = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  return has_errno && (error == ENOSPC || error == EDQUOT);
}

absl::Status Database::Error(int code) {
  const std::string name = absl::StrCat("index ", file_.string());
  if (IsDiskFull(code)) {
    met_full_disk_ = true;
    const absl::StatusOr<uint64_t> free = storage::FreeBytes(file_.parent_path());
    return absl::ResourceExhaustedError(absl::StrCat(
        "the archive's disk is full: ",
        free.ok() ? BytesText(static_cast<int64_t>(*free)) : std::string("unknown bytes"),
        " are free, and ", name, " cannot be written; remove what does not belong there"));
  }
  const char* what = connection_ ? sqlite3_errmsg(connection_.get()) : sqlite3_errstr(code);
  const std::string message = absl::StrCat(name, ": ", what, " (SQLite code ", code, ")");
  switch (code & 0xff) {  // the primary code
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(
          absl::StrCat(name, " is damaged: ", what,
                       "; put that of the last copy of the archive in its place: results that it "
                       "does not name are kept in damaged/"));
    case SQLITE_CONSTRAINT:
      return absl::FailedPreconditionError(message);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return absl::PermissionDeniedError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::Status Database::WithReserve(const std::function<absl::Status()>& write) {
  absl::Status status;
  do {
    met_full_disk_ = false;
    status = write();
  } while (met_full_disk_ && ReleaseReserve(file_.parent_path()));
  return status;
}

absl::StatusOr<Database> Database::Open(const std::filesystem::path& file) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(file.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(std::unique_ptr<sqlite3, Closer>(raw), file);
  if (code != SQLITE_OK) return database.Error(code);
  sqlite3_extended_result_codes(raw, 1);
  // Another connection of this process may be writing.
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  // The first look at the file makes those of its log.
  ISO_RETURN_IF_ERROR(database.WithReserve([&] {
    return database.ExecuteScript(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;");
  }));
  return database;
}

absl::Status Database::Execute(const std::string& sql, const std::vector<Value>& values) {
  const auto run = [&] { return Query(sql, values, [](const Row&) {}); };
  // A part of a transaction is not tried again: the whole may have been rolled back.
  return sqlite3_get_autocommit(connection_.get()) != 0 ? WithReserve(run) : run();
}

absl::Status Database::Query(const std::string& sql, const std::vector<Value>& values,
                             const std::function<void(const Row&)>& on_row) {
  return QueryWhile(sql, values, [&](const Row& row) {
    on_row(row);
    return true;
  });
}

absl::Status Database::QueryWhile(const std::string& sql, const std::vector<Value>& values,
                                  const std::function<bool(const Row&)>& on_row) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()), &raw,
                                nullptr);
  if (code != SQLITE_OK) return Error(code);
  const std::unique_ptr<sqlite3_stmt, Finalizer> statement(raw);
  for (size_t i = 0; i < values.size(); ++i) {
    const int index = static_cast<int>(i) + 1;
    const Value& value = values[i];
    code = value.is_text() ? sqlite3_bind_text(raw, index, value.text().data(),
                                               static_cast<int>(value.text().size()), SQLITE_STATIC)
                           : sqlite3_bind_int64(raw, index, value.integer());
    if (code != SQLITE_OK) return Error(code);
  }
  while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
    if (!on_row(Row(raw))) return absl::OkStatus();
  }
  return code == SQLITE_DONE ? absl::OkStatus() : Error(code);
}

absl::Status Database::SetFunction(const char* name,
                                   std::function<bool(int64_t, absl::string_view)> function) {
  using Function = std::function<bool(int64_t, absl::string_view)>;
  const auto call = [](sqlite3_context* context, int, sqlite3_value** values) {
    // In this order: the length is that of the text that was last asked for.
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(values[1]));
    const auto bytes = static_cast<size_t>(sqlite3_value_bytes(values[1]));
    const auto& own = *static_cast<const Function*>(sqlite3_user_data(context));
    const absl::string_view value = text == nullptr ? "" : absl::string_view(text, bytes);
    sqlite3_result_int(context, own(sqlite3_value_int64(values[0]), value) ? 1 : 0);
  };
  // SQLite takes the function, and deletes it also where this fails.
  const int code =
      sqlite3_create_function_v2(connection_.get(), name, 2, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                 new Function(std::move(function)), call, nullptr, nullptr,
                                 [](void* own) { delete static_cast<Function*>(own); });
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::Status Database::ExecuteScript(const char* sql) {
  const int code = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::Status Database::InTransaction(const std::function<absl::Status()>& body) {
  return WithReserve([&]() -> absl::Status {
    ISO_RETURN_IF_ERROR(ExecuteScript("BEGIN IMMEDIATE"));
    absl::Status status = body();
    if (status.ok()) status = ExecuteScript("COMMIT");
    // Some errors have rolled back by themselves; then there is nothing left to undo.
    if (!status.ok() && sqlite3_get_autocommit(connection_.get()) == 0) {
      (void)ExecuteScript("ROLLBACK");
    }
    return status;
  });
}

absl::Status Database::Migrate(std::span<const char* const> migrations) {
  int64_t version = 0;
  ISO_RETURN_IF_ERROR(
      Query("PRAGMA user_version", {}, [&](const Row& row) { version = row.Integer(0); }));
  const auto known = static_cast<int64_t>(migrations.size());
  if (version > known || version < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("index ", file_.string(), " has schema version ", version,
                     "; this program knows versions 0 to ", known,
                     "; use the version of the program that wrote it, or a newer one"));
  }
  for (; version < known; ++version) {
    ISO_RETURN_IF_ERROR(InTransaction([&]() -> absl::Status {
      ISO_RETURN_IF_ERROR(ExecuteScript(migrations[version]));
      return ExecuteScript(absl::StrCat("PRAGMA user_version = ", version + 1).c_str());
    }));
  }
  return absl::OkStatus();
}

absl::Status Database::CheckIntegrity() {
  std::string finding;
  ISO_RETURN_IF_ERROR(
      Query("PRAGMA quick_check(1)", {}, [&](const Row& row) { finding = row.Text(0); }));
  if (finding == "ok") return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("index ", file_.string(), " is damaged: ", finding));
}

}  // namespace isocenter::archive
