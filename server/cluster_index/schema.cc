#include "server/cluster_index/schema.h"

#include <cstdint>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cluster_index {
namespace {

// Text is compared by its bytes, as SQLite does.
constexpr const char* kVersion1[] = {
    "CREATE TABLE nodes (node text COLLATE \"C\" PRIMARY KEY, generation text NOT NULL, "
    "is_complete boolean NOT NULL)",

    "CREATE TABLE patients (key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "identity text COLLATE \"C\" NOT NULL UNIQUE, id text COLLATE \"C\" NOT NULL, "
    "name text COLLATE \"C\" NOT NULL, birth_date text COLLATE \"C\" NOT NULL, "
    "sex text COLLATE \"C\" NOT NULL, commit_time_us bigint NOT NULL)",
    "CREATE INDEX patients_by_id ON patients (id)",

    "CREATE TABLE patient_names (name text COLLATE \"C\" NOT NULL, "
    "patient_key bigint NOT NULL REFERENCES patients (key) ON DELETE CASCADE, "
    "PRIMARY KEY (name, patient_key))",
    "CREATE INDEX patient_names_by_patient ON patient_names (patient_key)",

    "CREATE TABLE studies (key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "patient_key bigint NOT NULL REFERENCES patients (key), "
    "instance_uid text COLLATE \"C\" NOT NULL UNIQUE, date text COLLATE \"C\" NOT NULL, "
    "time text COLLATE \"C\" NOT NULL, accession_number text COLLATE \"C\" NOT NULL, "
    "id text COLLATE \"C\" NOT NULL, description text COLLATE \"C\" NOT NULL, "
    "referring_physician_name text COLLATE \"C\" NOT NULL, commit_time_us bigint NOT NULL)",
    "CREATE INDEX studies_by_patient ON studies (patient_key)",
    "CREATE INDEX studies_in_order ON studies (date, time, instance_uid)",
    "CREATE INDEX studies_by_accession_number ON studies (accession_number)",

    "CREATE TABLE series (key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "study_key bigint NOT NULL REFERENCES studies (key), node text COLLATE \"C\" NOT NULL, "
    "job_id text COLLATE \"C\" NOT NULL, instance_uid text COLLATE \"C\" NOT NULL, "
    "number integer NOT NULL, modality text COLLATE \"C\" NOT NULL, "
    "date text COLLATE \"C\" NOT NULL, time text COLLATE \"C\" NOT NULL, "
    "description text COLLATE \"C\" NOT NULL, body_part_examined text COLLATE \"C\" NOT NULL, "
    "protocol_name text COLLATE \"C\" NOT NULL, station_name text COLLATE \"C\" NOT NULL, "
    "manufacturer text COLLATE \"C\" NOT NULL, frame_of_reference_uid text COLLATE \"C\" NOT NULL, "
    "directory text COLLATE \"C\" NOT NULL, instance_count bigint NOT NULL, "
    "requested_procedure_id text COLLATE \"C\" NOT NULL, "
    "scheduled_step_id text COLLATE \"C\" NOT NULL, UNIQUE (instance_uid, node))",
    "CREATE INDEX series_in_order ON series (study_key, number, instance_uid)",
    "CREATE INDEX series_by_job ON series (node, job_id)",
    "CREATE INDEX series_by_requested_procedure ON series (requested_procedure_id)",
    "CREATE INDEX series_by_scheduled_step ON series (scheduled_step_id)",

    "CREATE TABLE instances (series_key bigint NOT NULL REFERENCES series (key) ON DELETE CASCADE, "
    "position integer NOT NULL, sop_instance_uid text COLLATE \"C\" NOT NULL, "
    "sop_class_uid text COLLATE \"C\" NOT NULL, number integer NOT NULL, rows integer NOT NULL, "
    "columns integer NOT NULL, file_name text COLLATE \"C\" NOT NULL, "
    "PRIMARY KEY (series_key, position))",
    "CREATE INDEX instances_by_uid ON instances (sop_instance_uid)",
};

constexpr int64_t kKnownVersion = 1;

absl::StatusOr<std::string> Ask(Connection& connection, const char* sql, absl::Time deadline) {
  std::string answer;
  ISO_RETURN_IF_ERROR(
      connection.Query(sql, {}, deadline, [&](const Row& row) { answer = row.Text(0); }));
  return answer;
}

/// 0: there are no tables yet.
absl::StatusOr<int64_t> VersionOf(Connection& connection, absl::Time deadline) {
  ISO_ASSIGN_OR_RETURN(const std::string table,
                       Ask(connection, "SELECT to_regclass('isocenter.schema_version')", deadline));
  int64_t version = 0;
  if (table.empty()) return version;
  ISO_RETURN_IF_ERROR(connection.Query("SELECT version FROM isocenter.schema_version", {}, deadline,
                                       [&](const Row& row) { version = row.Integer(0); }));
  return version;
}

absl::Status NotKnown(int64_t version) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the shared index has schema version ", version, "; this program knows version ",
      kKnownVersion, "; use the version of the program that has made it, or a newer one"));
}

absl::Status MakeTables(Connection& connection, absl::Time deadline) {
  const auto execute = [&](const std::string& sql) {
    return connection.Execute(sql, {}, deadline);
  };
  // Whoever may not create schemas may have been given this one.
  ISO_ASSIGN_OR_RETURN(const std::string schema,
                       Ask(connection, "SELECT to_regnamespace('isocenter')", deadline));
  if (schema.empty()) ISO_RETURN_IF_ERROR(execute("CREATE SCHEMA isocenter"));
  ISO_RETURN_IF_ERROR(execute("SET LOCAL search_path = isocenter"));
  for (const char* sql : kVersion1) ISO_RETURN_IF_ERROR(execute(sql));
  ISO_RETURN_IF_ERROR(execute("CREATE TABLE schema_version (version integer NOT NULL)"));
  return execute(absl::StrCat("INSERT INTO schema_version VALUES (", kKnownVersion, ")"));
}

}  // namespace

absl::Status Migrate(Connection& connection, absl::Time deadline) {
  ISO_ASSIGN_OR_RETURN(const std::string encoding,
                       Ask(connection, "SHOW server_encoding", deadline));
  if (encoding != "UTF8") {
    return absl::FailedPreconditionError(absl::StrCat(
        "the database of the shared index is encoded in ", encoding, "; legal is UTF8"));
  }
  return connection.InTransaction("BEGIN", deadline, [&]() -> absl::Status {
    ISO_RETURN_IF_ERROR(connection.Execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('isocenter schema', 0))", {}, deadline));
    ISO_ASSIGN_OR_RETURN(const int64_t version, VersionOf(connection, deadline));
    if (version == kKnownVersion) return absl::OkStatus();
    return version == 0 ? MakeTables(connection, deadline) : NotKnown(version);
  });
}

absl::Status CheckVersion(Connection& connection, absl::Time deadline) {
  ISO_ASSIGN_OR_RETURN(const int64_t version, VersionOf(connection, deadline));
  return version == kKnownVersion ? absl::OkStatus() : NotKnown(version);
}

absl::Status Prepare(Connection& connection, absl::Duration longest_statement,
                     absl::Time deadline) {
  const int64_t milliseconds = absl::ToInt64Milliseconds(longest_statement);
  // A server that does not hear of us any more must not hold our locks. Compiling a plan takes
  // longer than most of our statements.
  for (const std::string& sql :
       {std::string("SET search_path = isocenter"), std::string("SET jit = off"),
        absl::StrCat("SET statement_timeout = ", milliseconds),
        absl::StrCat("SET idle_in_transaction_session_timeout = ", milliseconds),
        std::string("SET tcp_keepalives_idle = 30"),
        std::string("SET tcp_keepalives_interval = 10"),
        std::string("SET tcp_keepalives_count = 3")}) {
    ISO_RETURN_IF_ERROR(connection.Execute(sql, {}, deadline));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::cluster_index
