#include "server/archive/procedure_step_queue.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"

namespace isocenter::archive {
namespace {

using jobs::ProcedureStep;
using jobs::ProcedureStepState;

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
    // Version 2. A step that has failed keeps its messages, so that it can be tried again: from the
    // one after N-CREATE where `is_created`. Dropped steps are done.
    R"sql(
ALTER TABLE steps ADD COLUMN is_created INTEGER NOT NULL DEFAULT 0;
ALTER TABLE steps ADD COLUMN is_dropped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE steps ADD COLUMN begin_time_us INTEGER NOT NULL DEFAULT 0;
UPDATE steps SET is_created = 1 WHERE state IN ('created', 'done');
)sql",
};

/// The number of the ProcedureStepState of a row.
constexpr char kState[] =
    "CASE WHEN is_dropped THEN 5 WHEN state = 'new' THEN 0 WHEN state = 'created' AND end_data = "
    "'' THEN 1 WHEN state = 'created' THEN 2 WHEN state = 'done' THEN 3 ELSE 4 END";

std::string NumbersOf(const std::vector<ProcedureStepState>& states) {
  return absl::StrJoin(states, ",", [](std::string* out, ProcedureStepState state) {
    absl::StrAppend(out, static_cast<int>(state));
  });
}

/// What nobody has to look after any more is left out.
const std::vector<ProcedureStepState>& Unsettled() {
  static const auto* const states = new std::vector<ProcedureStepState>{
      ProcedureStepState::kBeginning, ProcedureStepState::kInProgress, ProcedureStepState::kEnding,
      ProcedureStepState::kFailed};
  return *states;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcedureStepQueue>> ProcedureStepQueue::Open(
    const std::filesystem::path& file) {
  ISO_ASSIGN_OR_RETURN(Database database, Database::Open(file));
  ISO_RETURN_IF_ERROR(database.Migrate(kMigrations));
  return std::unique_ptr<ProcedureStepQueue>(new ProcedureStepQueue(std::move(database)));
}

absl::Status ProcedureStepQueue::Begin(const std::string& job_id, const std::string& data,
                                       absl::Time now) {
  absl::MutexLock lock(&mutex_);
  return database_.Execute(
      "INSERT INTO steps (job_id, state, begin_data, begin_time_us) VALUES (?1, 'new', ?2, ?3) "
      "ON CONFLICT (job_id) DO NOTHING",
      {job_id, data, absl::ToUnixMicros(now)});
}

absl::Status ProcedureStepQueue::End(const std::string& job_id, const std::string& data) {
  // Also of a step that has failed: it may be tried again.
  absl::MutexLock lock(&mutex_);
  return database_.Execute(
      "UPDATE steps SET end_data = ?2 WHERE job_id = ?1 AND end_data = '' AND begin_data <> '' AND "
      "state <> 'done'",
      {job_id, data});
}

absl::StatusOr<std::vector<ProcedureStepQueue::Message>> ProcedureStepQueue::Next() {
  std::vector<Message> messages;
  absl::MutexLock lock(&mutex_);
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
  absl::MutexLock lock(&mutex_);
  if (message.creates) {
    return database_.Execute(
        "UPDATE steps SET state = 'created', is_created = 1, rejections = 0, error = '' "
        "WHERE number = ?1 AND state = 'new'",
        {message.step});
  }
  // The patient's data are not needed any more.
  return database_.Execute(
      "UPDATE steps SET state = 'done', begin_data = '', end_data = '', rejections = 0, error = '' "
      "WHERE number = ?1 AND state = 'created'",
      {message.step});
}

absl::Status ProcedureStepQueue::MarkRejected(const Message& message, const std::string& why) {
  absl::MutexLock lock(&mutex_);
  return database_.Execute(
      "UPDATE steps SET rejections = rejections + 1, error = ?2 "
      "WHERE number = ?1 AND state IN ('new', 'created')",
      {message.step, why});
}

absl::Status ProcedureStepQueue::GiveUp(const Message& message, const std::string& why) {
  absl::MutexLock lock(&mutex_);
  return database_.Execute(
      "UPDATE steps SET state = 'failed', rejections = rejections + 1, error = ?2 "
      "WHERE number = ?1 AND state IN ('new', 'created')",
      {message.step, why});
}

absl::StatusOr<std::vector<std::string>> ProcedureStepQueue::InProgress() {
  std::vector<std::string> jobs;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT job_id FROM steps WHERE end_data = '' AND begin_data <> '' AND state <> 'done' "
      "ORDER BY number",
      {}, [&](const Row& row) { jobs.push_back(row.Text(0)); }));
  return jobs;
}

absl::Status ProcedureStepQueue::KeepOnly(const std::set<std::string>& job_ids) {
  std::vector<std::string> ended;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query("SELECT job_id FROM steps WHERE state IN ('done', 'failed')",
                                      {}, [&](const Row& row) { ended.push_back(row.Text(0)); }));
  return database_.InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
    for (const std::string& job_id : ended) {
      if (job_ids.contains(job_id)) continue;
      ISO_RETURN_IF_ERROR(database_.Execute("DELETE FROM steps WHERE job_id = ?1", {job_id}));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<ProcedureStep>> ProcedureStepQueue::Select(
    const std::string& condition, const std::vector<Value>& values) {
  std::vector<ProcedureStep> steps;
  ISO_RETURN_IF_ERROR(database_.Query(
      absl::StrCat("SELECT job_id, ", kState,
                   ", rejections, error, begin_time_us FROM steps WHERE ", condition),
      values, [&](const Row& row) {
        ProcedureStep& step = steps.emplace_back();
        step.job_id = row.Text(0);
        step.state = static_cast<ProcedureStepState>(row.Integer(1));
        step.rejections = static_cast<int>(row.Integer(2));
        step.reason = row.Text(3);
        if (row.Integer(4) > 0) step.begin_time = absl::FromUnixMicros(row.Integer(4));
      }));
  return steps;
}

absl::StatusOr<std::vector<ProcedureStep>> ProcedureStepQueue::List(
    const std::vector<ProcedureStepState>& states, int most) {
  absl::MutexLock lock(&mutex_);
  return Select(absl::StrCat(kState, " IN (", NumbersOf(states.empty() ? Unsettled() : states),
                             ") ORDER BY number DESC LIMIT ?1"),
                {most});
}

absl::StatusOr<ProcedureStep> ProcedureStepQueue::Find(const std::string& job_id) {
  ISO_ASSIGN_OR_RETURN(std::vector<ProcedureStep> found, Select("job_id = ?1", {job_id}));
  if (!found.empty()) return std::move(found.front());
  return absl::NotFoundError(absl::StrCat("job '", job_id, "' has no performed procedure step"));
}

absl::StatusOr<ProcedureStep> ProcedureStepQueue::Get(const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  return Find(job_id);
}

absl::Status ProcedureStepQueue::CheckState(const std::string& job_id,
                                            const std::set<ProcedureStepState>& states) {
  ISO_ASSIGN_OR_RETURN(const ProcedureStep step, Find(job_id));
  if (states.contains(step.state)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the performed procedure step of job '", job_id, "' is ", Name(step.state), "; legal is ",
      absl::StrJoin(states, ", ", [](std::string* out, ProcedureStepState state) {
        absl::StrAppend(out, Name(state));
      })));
}

absl::Status ProcedureStepQueue::Retry(const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(CheckState(
      job_id,
      {ProcedureStepState::kBeginning, ProcedureStepState::kEnding, ProcedureStepState::kFailed}));
  int64_t changed = 0;
  ISO_RETURN_IF_ERROR(database_.Query(
      "UPDATE steps SET state = CASE WHEN is_created THEN 'created' ELSE 'new' END, "
      "rejections = 0, error = '' WHERE job_id = ?1 AND begin_data <> '' RETURNING number",
      {job_id}, [&](const Row&) { ++changed; }));
  if (changed > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the performed procedure step of job '", job_id,
                   "' was given up by an earlier version, which has not kept what is to be sent"));
}

absl::Status ProcedureStepQueue::Drop(const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(CheckState(job_id, {Unsettled().begin(), Unsettled().end()}));
  return database_.Execute(
      "UPDATE steps SET state = 'done', is_dropped = 1, begin_data = '', end_data = '' "
      "WHERE job_id = ?1",
      {job_id});
}

absl::StatusOr<ProcedureStepQueue::Length> ProcedureStepQueue::Count() {
  Length length;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      absl::StrCat("SELECT ", kState, " AS step_state, COUNT(*) FROM steps WHERE step_state IN (",
                   NumbersOf(Unsettled()), ") GROUP BY step_state"),
      {}, [&](const Row& row) {
        length.counts[static_cast<ProcedureStepState>(row.Integer(0))] = row.Integer(1);
      }));
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT MIN(begin_time_us) FROM steps WHERE begin_time_us > 0 AND (state = 'new' OR "
      "(state = 'created' AND end_data <> '')) HAVING COUNT(*) > 0",
      {}, [&](const Row& row) { length.oldest = absl::FromUnixMicros(row.Integer(0)); }));
  return length;
}

}  // namespace isocenter::archive
