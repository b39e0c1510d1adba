#include "server/dicom/procedure_step_queue.h"

#include "kernels/base/status_macros.h"

namespace isocenter::dicom {
namespace {

using archive::Row;

constexpr const char* kMigrations[] = {
    // Version 1. An empty end: the step is in progress.
    R"sql(
CREATE TABLE steps (
  number INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('new', 'created', 'done', 'failed')),
  begin_data TEXT NOT NULL,
  end_data TEXT NOT NULL DEFAULT '',
  rejections INTEGER NOT NULL DEFAULT 0,
  error TEXT NOT NULL DEFAULT ''
);
CREATE INDEX steps_to_send ON steps (number) WHERE state IN ('new', 'created');
)sql",
};

}  // namespace

absl::StatusOr<ProcedureStepQueue> ProcedureStepQueue::Open(const std::filesystem::path& file) {
  ISO_ASSIGN_OR_RETURN(archive::Database database, archive::Database::Open(file));
  ISO_RETURN_IF_ERROR(database.Migrate(kMigrations));
  return ProcedureStepQueue(std::move(database));
}

absl::Status ProcedureStepQueue::Begin(const std::string& job_id, const std::string& data) {
  return database_.Execute(
      "INSERT INTO steps (job_id, state, begin_data) VALUES (?1, 'new', ?2) "
      "ON CONFLICT (job_id) DO NOTHING",
      {job_id, data});
}

absl::Status ProcedureStepQueue::End(const std::string& job_id, const std::string& data) {
  return database_.Execute(
      "UPDATE steps SET end_data = ?2 WHERE job_id = ?1 AND end_data = '' AND "
      "state IN ('new', 'created')",
      {job_id, data});
}

absl::StatusOr<std::vector<ProcedureStepQueue::Message>> ProcedureStepQueue::Next() {
  std::vector<Message> messages;
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT number, job_id, state = 'new', CASE state WHEN 'new' THEN begin_data ELSE end_data "
      "END, rejections FROM steps "
      "WHERE state = 'new' OR (state = 'created' AND end_data <> '') ORDER BY number",
      {}, [&](const Row& row) {
        messages.push_back({.step = row.Integer(0),
                            .job_id = row.Text(1),
                            .creates = row.Integer(2) != 0,
                            .data = row.Text(3),
                            .rejections = static_cast<int>(row.Integer(4))});
      }));
  return messages;
}

absl::Status ProcedureStepQueue::MarkSent(const Message& message) {
  if (message.creates) {
    return database_.Execute("UPDATE steps SET state = 'created', rejections = 0 WHERE number = ?1",
                             {message.step});
  }
  // The patient's data are not needed any more.
  return database_.Execute(
      "UPDATE steps SET state = 'done', begin_data = '', end_data = '' WHERE number = ?1",
      {message.step});
}

absl::Status ProcedureStepQueue::MarkRejected(const Message& message) {
  return database_.Execute("UPDATE steps SET rejections = rejections + 1 WHERE number = ?1",
                           {message.step});
}

absl::Status ProcedureStepQueue::GiveUp(const Message& message, const std::string& why) {
  return database_.Execute(
      "UPDATE steps SET state = 'failed', error = ?2, begin_data = '', end_data = '' "
      "WHERE number = ?1",
      {message.step, why});
}

absl::StatusOr<std::vector<std::string>> ProcedureStepQueue::InProgress() {
  std::vector<std::string> jobs;
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT job_id FROM steps WHERE end_data = '' AND state IN ('new', 'created') "
      "ORDER BY number",
      {}, [&](const Row& row) { jobs.push_back(row.Text(0)); }));
  return jobs;
}

absl::Status ProcedureStepQueue::KeepOnly(const std::set<std::string>& job_ids) {
  std::vector<std::string> ended;
  ISO_RETURN_IF_ERROR(database_.Query("SELECT job_id FROM steps WHERE state IN ('done', 'failed')",
                                      {}, [&](const Row& row) { ended.push_back(row.Text(0)); }));
  return database_.InTransaction([&]() -> absl::Status {
    for (const std::string& job_id : ended) {
      if (job_ids.contains(job_id)) continue;
      ISO_RETURN_IF_ERROR(database_.Execute("DELETE FROM steps WHERE job_id = ?1", {job_id}));
    }
    return absl::OkStatus();
  });
}

}  // namespace isocenter::dicom
