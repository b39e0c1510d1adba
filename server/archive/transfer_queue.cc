#include "server/archive/transfer_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/archive/transfer_sql.h"

namespace isocenter::archive {
namespace {

constexpr int kClassSample = 1000;  // instances that DueClasses looks at
constexpr char kNoLongerConfigured[] = "the destination is no longer configured";

}  // namespace

absl::string_view Name(TransferState state) {
  switch (state) {
    case TransferState::kQueued:
      return "queued";
    case TransferState::kSending:
      return "sending";
    case TransferState::kSent:
      return "sent";
    case TransferState::kCommitted:
      return "committed";
    case TransferState::kFailed:
      return "failed";
    case TransferState::kSkipped:
      return "skipped";
  }
  return "unknown";
}

int64_t CountOf(const std::map<TransferState, int64_t>& counts, TransferState state) {
  const auto found = counts.find(state);
  return found == counts.end() ? 0 : found->second;
}

absl::StatusOr<std::unique_ptr<TransferQueue>> TransferQueue::Open(
    const std::filesystem::path& index, std::filesystem::path results) {
  ISO_ASSIGN_OR_RETURN(Database database, Database::Open(index));
  // Every instance is at least two changes: a sync of the disk for each would take longer than
  // sending it.
  ISO_RETURN_IF_ERROR(database.ExecuteScript("PRAGMA synchronous=NORMAL"));
  return std::unique_ptr<TransferQueue>(new TransferQueue(std::move(database), std::move(results)));
}

absl::Status TransferQueue::Durably(const std::function<absl::Status()>& body) {
  ISO_RETURN_IF_ERROR(database_.ExecuteScript("PRAGMA synchronous=FULL"));
  absl::Status status = database_.InTransaction(body);
  status.Update(database_.ExecuteScript("PRAGMA synchronous=NORMAL"));
  return status;
}

absl::Status TransferQueue::Configure(std::vector<QueueDestination> destinations, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  destinations_ = std::move(destinations);
  const int64_t time = absl::ToUnixMicros(now);
  return Durably([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
    ISO_RETURN_IF_ERROR(
        database_.Execute("UPDATE transfers SET state = ?1 WHERE state = ?2",
                          {Number(TransferState::kQueued), Number(TransferState::kSending)}));
    // Reports may have come while nobody listened.
    ISO_RETURN_IF_ERROR(
        database_.Execute("UPDATE transfers SET next_attempt_us = 0 WHERE state = ?1",
                          {Number(TransferState::kSent)}));
    std::vector<Value> values = {Number(TransferState::kFailed), kNoLongerConfigured, time,
                                 Number(TransferState::kQueued)};
    const size_t first = values.size() + 1;
    for (const QueueDestination& known : destinations_) {
      const Destination& destination = known.destination;
      values.push_back(destination.ae_title);
      ISO_RETURN_IF_ERROR(
          database_.Execute("UPDATE transfers SET wants_commitment = ?1 "
                            "WHERE destination = ?2 AND wants_commitment <> ?1",
                            {destination.storage_commitment, destination.ae_title}));
    }
    return database_.Execute(
        absl::StrCat("UPDATE transfers SET state = ?1, reason = ?2, update_time_us = ?3 "
                     "WHERE state = ?4 AND destination NOT IN (",
                     Marks(first, destinations_.size()), ")"),
        values);
  });
}

std::vector<Destination> TransferQueue::destinations() const {
  absl::MutexLock lock(&mutex_);
  std::vector<Destination> all;
  for (const QueueDestination& known : destinations_) all.push_back(known.destination);
  return all;
}

void TransferQueue::SetListener(std::function<void()> listener) {
  absl::MutexLock lock(&listener_mutex_);
  listener_ = std::move(listener);
}

void TransferQueue::NotifyListener() const {
  // Under the lock, so that nobody is called after SetListener(nullptr).
  absl::MutexLock lock(&listener_mutex_);
  if (listener_) listener_();
}

absl::StatusOr<std::vector<std::string>> TransferQueue::DueClasses(const std::string& destination,
                                                                   absl::Time now) {
  std::vector<std::string> classes;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      "SELECT DISTINCT sop_class_uid FROM (SELECT sop_class_uid FROM transfers WHERE "
      "destination = ?1 AND state = ?2 AND next_attempt_us <= ?3 ORDER BY key LIMIT ?4)",
      {destination, Number(TransferState::kQueued), absl::ToUnixMicros(now), kClassSample},
      [&](const Row& row) { classes.push_back(row.Text(0)); }));
  return classes;
}

absl::StatusOr<std::vector<Outgoing>> TransferQueue::Claim(const std::string& destination,
                                                           const std::vector<std::string>& classes,
                                                           int most, absl::Time now) {
  std::vector<Outgoing> claimed;
  std::vector<Value> values = {destination, Number(TransferState::kQueued), absl::ToUnixMicros(now),
                               most};
  const size_t first = values.size() + 1;
  for (const std::string& sop_class : classes) values.push_back(sop_class);
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(
      database_.InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
        claimed.clear();
        ISO_RETURN_IF_ERROR(database_.Query(
            absl::StrCat("SELECT t.key, t.job_id, i.sop_instance_uid, i.sop_class_uid, i.number, "
                         "i.rows, i.columns, i.file_name, r.directory FROM transfers t "
                         "JOIN instances i ON i.sop_instance_uid = t.sop_instance_uid "
                         "JOIN series r ON r.key = i.series_key "
                         "WHERE t.destination = ?1 AND t.state = ?2 AND t.next_attempt_us <= ?3 "
                         "AND t.sop_class_uid IN (",
                         Marks(first, classes.size()), ") ORDER BY t.key LIMIT ?4"),
            values, [&](const Row& row) {
              Instance instance{row.Text(2),
                                row.Text(3),
                                static_cast<int>(row.Integer(4)),
                                static_cast<int>(row.Integer(5)),
                                static_cast<int>(row.Integer(6)),
                                row.Text(7)};
              const auto file = results_ / row.Text(8) / instance.file_name;
              claimed.push_back({row.Integer(0), row.Text(1), {std::move(instance), file}});
            }));
        for (const Outgoing& instance : claimed) {
          ISO_RETURN_IF_ERROR(database_.Execute(
              "UPDATE transfers SET state = ?1, update_time_us = ?2 WHERE key = ?3",
              {Number(TransferState::kSending), absl::ToUnixMicros(now), instance.key}));
        }
        return absl::OkStatus();
      }));
  return claimed;
}

absl::Status TransferQueue::MarkSent(int64_t key, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  return database_.Execute(
      "UPDATE transfers SET state = ?1, reason = '', attempts = attempts + 1, next_attempt_us = 0, "
      "update_time_us = ?2 WHERE key = ?3",
      {Number(TransferState::kSent), absl::ToUnixMicros(now), key});
}

absl::Status TransferQueue::MarkFailed(int64_t key, const std::string& reason, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  return database_.Execute(
      "UPDATE transfers SET state = ?1, reason = ?2, attempts = attempts + 1, update_time_us = ?3 "
      "WHERE key = ?4",
      {Number(TransferState::kFailed), reason, absl::ToUnixMicros(now), key});
}

absl::StatusOr<TransferState> TransferQueue::MarkNotAccepted(int64_t key, const std::string& reason,
                                                             absl::Time now) {
  TransferState state = TransferState::kFailed;
  const int64_t time = absl::ToUnixMicros(now);
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(
      database_.InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
        ISO_RETURN_IF_ERROR(database_.Query(
            "SELECT 1 FROM transfers t JOIN transfers other ON other.job_id = t.job_id AND "
            "other.destination = t.destination AND other.sop_class_uid <> t.sop_class_uid AND "
            "other.state NOT IN (?2, ?3) WHERE t.key = ?1 LIMIT 1",
            {key, Number(TransferState::kFailed), Number(TransferState::kSkipped)},
            [&](const Row&) { state = TransferState::kSkipped; }));
        ISO_RETURN_IF_ERROR(database_.Execute(
            "UPDATE transfers SET state = ?1, reason = ?2, attempts = attempts + 1, "
            "update_time_us = ?3 WHERE key = ?4",
            {Number(state), reason, time, key}));
        if (state == TransferState::kSkipped) return absl::OkStatus();
        return database_.Execute(
            "UPDATE transfers SET state = ?1, update_time_us = ?2 WHERE state = ?3 AND "
            "(job_id, destination) IN (SELECT job_id, destination FROM transfers WHERE key = ?4)",
            {Number(TransferState::kFailed), time, Number(TransferState::kSkipped), key});
      }));
  return state;
}

absl::Status TransferQueue::Unclaim(int64_t key, const std::string& reason, bool attempted,
                                    absl::Time now) {
  absl::MutexLock lock(&mutex_);
  return database_.Execute(
      "UPDATE transfers SET state = ?1, reason = ?2, attempts = attempts + ?3, update_time_us = ?4 "
      "WHERE key = ?5 AND state = ?6",
      {Number(TransferState::kQueued), reason, attempted, absl::ToUnixMicros(now), key,
       Number(TransferState::kSending)});
}

absl::Status TransferQueue::Explain(const std::string& destination, const std::string& reason,
                                    absl::Time now) {
  absl::MutexLock lock(&mutex_);
  return database_.Execute(
      "UPDATE transfers SET reason = ?1, update_time_us = ?2 "
      "WHERE destination = ?3 AND state = ?4 AND reason <> ?1",
      {reason, absl::ToUnixMicros(now), destination, Number(TransferState::kQueued)});
}

void TransferQueue::SetPause(const std::string& destination, Pause pause) {
  absl::MutexLock lock(&mutex_);
  pauses_[destination] = std::move(pause);
}

Pause TransferQueue::PauseOf(const std::string& destination) const {
  absl::MutexLock lock(&mutex_);
  const auto found = pauses_.find(destination);
  return found == pauses_.end() ? Pause{} : found->second;
}

absl::StatusOr<absl::Time> TransferQueue::NextDue(const std::string& destination, absl::Time now) {
  absl::Time next = absl::InfiniteFuture();
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(
      database_.Query("SELECT MIN(next_attempt_us) FROM transfers WHERE destination = ?1 AND "
                      "(state = ?2 OR (state = ?3 AND wants_commitment)) AND next_attempt_us > ?4 "
                      "HAVING COUNT(*) > 0",
                      {destination, Number(TransferState::kQueued), Number(TransferState::kSent),
                       absl::ToUnixMicros(now)},
                      [&](const Row& row) { next = absl::FromUnixMicros(row.Integer(0)); }));
  return next;
}

}  // namespace isocenter::archive
