// What is put into TransferQueue: new results, and those that operators send or send again.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "server/archive/transfer_queue.h"
#include "server/archive/transfer_sql.h"

namespace isocenter::archive {
namespace {

// Instances in one transaction: while it lasts, no result is stored. Insertions are about ten
// microseconds each.
constexpr int64_t kMostQueuedAtOnce = 20'000;

}  // namespace

absl::StatusOr<Destination> TransferQueue::Configured(const std::string& destination) const {
  for (const QueueDestination& known : destinations_) {
    if (known.destination.ae_title == destination) return known.destination;
  }
  std::vector<std::string> names;
  for (const QueueDestination& known : destinations_) names.push_back(known.destination.ae_title);
  return absl::NotFoundError(
      absl::StrCat("destination is '", destination.substr(0, 64), "'; ",
                   names.empty() ? "none is configured" : "legal is one of those configured: ",
                   absl::StrJoin(names, ", "), DidYouMean(destination, names)));
}

absl::Status TransferQueue::CheckDestination(const std::string& destination) const {
  absl::MutexLock lock(&mutex_);
  return Configured(destination).status();
}

absl::StatusOr<int64_t> TransferQueue::Send(const std::string& job_id,
                                            const std::string& destination, bool again,
                                            absl::Time now) {
  return SendAll({job_id}, destination, again, now).front();
}

std::vector<absl::StatusOr<int64_t>> TransferQueue::SendAll(const std::vector<std::string>& job_ids,
                                                            const std::string& destination,
                                                            bool again, absl::Time now) {
  std::vector<absl::StatusOr<int64_t>> outcomes(job_ids.size(), int64_t{0});
  {
    absl::MutexLock lock(&mutex_);
    const absl::StatusOr<Destination> known = Configured(destination);
    if (!known.ok()) {
      return std::vector<absl::StatusOr<int64_t>>(job_ids.size(), known.status());
    }
    for (size_t begin = 0; begin < job_ids.size();) {
      size_t end = begin;
      const absl::Status written = Durably([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        int64_t instances = 0;
        for (end = begin; end < job_ids.size() && instances < kMostQueuedAtOnce; ++end) {
          outcomes[end] = 0;
          ISO_RETURN_IF_ERROR(SendStored(job_ids[end], *known, again, now, outcomes[end]));
          if (outcomes[end].ok()) instances += *outcomes[end];
        }
        return absl::OkStatus();
      });
      if (!written.ok()) {  // of these and, on a full or broken disk, of those after them
        std::fill(outcomes.begin() + static_cast<ptrdiff_t>(begin), outcomes.end(), written);
        break;
      }
      begin = end;
    }
  }
  NotifyListener();
  return outcomes;
}

absl::Status TransferQueue::SendStored(const std::string& job_id, const Destination& destination,
                                       bool again, absl::Time now,
                                       absl::StatusOr<int64_t>& outcome) {
  int64_t stored = 0;
  ISO_RETURN_IF_ERROR(database_.Query("SELECT instance_count FROM series WHERE job_id = ?1",
                                      {job_id}, [&](const Row& row) { stored = row.Integer(0); }));
  if (stored == 0) {
    outcome = absl::NotFoundError(absl::StrCat("no result is stored for job '", job_id, "'"));
    return absl::OkStatus();
  }
  ISO_ASSIGN_OR_RETURN(outcome, EnqueueInstances(database_, job_id, destination, again, now));
  if (again) {
    // What is still to be reported of an earlier sending says nothing of this one.
    ISO_RETURN_IF_ERROR(database_.Execute(
        "UPDATE commitments SET is_reported = 1 WHERE job_id = ?1 AND destination = ?2",
        {job_id, destination.ae_title}));
  }
  bool is_queued = false;
  ISO_RETURN_IF_ERROR(
      database_.Query("SELECT 1 FROM transfers WHERE job_id = ?1 AND destination = ?2 LIMIT 1",
                      {job_id, destination.ae_title}, [&](const Row&) { is_queued = true; }));
  if (!is_queued) {
    outcome = absl::FailedPreconditionError(
        absl::StrCat("job '", job_id, "' is stored in no form that destination '",
                     destination.ae_title, "' is configured to get"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> TransferQueue::Retry(const std::string& job_id,
                                             const std::string& destination, absl::Time now) {
  int64_t count = 0;
  {
    // Those of destinations that are gone stay failed.
    std::vector<Value> values = {Number(TransferState::kQueued), absl::ToUnixMicros(now),
                                 Number(TransferState::kFailed), job_id, destination};
    const size_t first = values.size() + 1;
    absl::MutexLock lock(&mutex_);
    if (!destination.empty()) ISO_RETURN_IF_ERROR(Configured(destination).status());
    for (const QueueDestination& known : destinations_) {
      values.push_back(known.destination.ae_title);
    }
    std::set<std::string> due;
    ISO_RETURN_IF_ERROR(Durably([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      count = 0;
      return database_.Query(
          absl::StrCat("UPDATE transfers SET state = ?1, update_time_us = ?2, next_attempt_us = 0 "
                       "WHERE state IN (?1, ?3) AND (?4 = '' OR job_id = ?4) AND "
                       "(?5 = '' OR destination = ?5) AND destination IN (",
                       Marks(first, destinations_.size()), ") RETURNING destination"),
          values, [&](const Row& row) {
            ++count;
            due.insert(row.Text(0));
          });
    }));
    // What is to go now does not wait for a destination that did not answer before.
    for (const std::string& name : due) pauses_[name].until = absl::InfinitePast();
  }
  if (count > 0) NotifyListener();
  return count;
}

absl::StatusOr<int64_t> TransferQueue::TryNow(const std::string& destination, absl::Time now) {
  int64_t count = 0;
  {
    absl::MutexLock lock(&mutex_);
    ISO_RETURN_IF_ERROR(Configured(destination).status());
    pauses_[destination].until = absl::InfinitePast();
    ISO_RETURN_IF_ERROR(Durably([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      count = 0;
      return database_.Query(
          "UPDATE transfers SET next_attempt_us = 0, update_time_us = ?1 "
          "WHERE state = ?2 AND destination = ?3 RETURNING key",
          {absl::ToUnixMicros(now), Number(TransferState::kQueued), destination},
          [&](const Row&) { ++count; });
    }));
  }
  NotifyListener();
  return count;
}

absl::StatusOr<int64_t> EnqueueInstances(Database& database, const std::string& job_id,
                                         const Destination& destination, bool again,
                                         absl::Time now) {
  std::vector<Value> values = {job_id,
                               destination.ae_title,
                               Number(TransferState::kQueued),
                               destination.storage_commitment,
                               absl::ToUnixMicros(now),
                               Number(TransferState::kFailed),
                               Number(TransferState::kSkipped),
                               Number(again ? TransferState::kSent : TransferState::kFailed),
                               Number(again ? TransferState::kCommitted : TransferState::kFailed)};
  std::string of_class;
  if (!destination.sop_classes.empty()) {
    of_class = absl::StrCat(" AND i.sop_class_uid IN (",
                            Marks(values.size() + 1, destination.sop_classes.size()), ")");
    for (const std::string& sop_class : destination.sop_classes) values.push_back(sop_class);
  }
  // The condition of the selection also tells SQLite's parser that ON belongs to the insertion.
  int64_t count = 0;
  ISO_RETURN_IF_ERROR(database.Query(
      absl::StrCat(
          "INSERT INTO transfers (job_id, destination, sop_instance_uid, sop_class_uid, state, "
          "wants_commitment, enqueue_time_us, update_time_us) "
          "SELECT r.job_id, ?2, i.sop_instance_uid, i.sop_class_uid, ?3, ?4, ?5, ?5 "
          "FROM instances i JOIN series r ON r.key = i.series_key WHERE r.job_id = ?1",
          of_class,
          " ORDER BY r.key, i.position "
          "ON CONFLICT (destination, sop_instance_uid) DO UPDATE SET state = ?3, "
          "next_attempt_us = 0, update_time_us = ?5 WHERE state IN (?6, ?7, ?8, ?9) "
          "RETURNING key"),
      values, [&](const Row&) { ++count; }));
  return count;
}

}  // namespace isocenter::archive
