// The part of TransferQueue that storage commitment needs.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/archive/transfer_queue.h"
#include "server/archive/transfer_sql.h"
#include "server/base/backoff.h"

namespace isocenter::archive {
namespace {

// Keeps a report well below the longest message that the node takes.
constexpr int kMostInstances = 2000;

}  // namespace

absl::StatusOr<std::optional<CommitmentRequest>> TransferQueue::BeginCommitment(
    const std::string& destination, const std::string& transaction_uid, absl::Time next,
    absl::Time now) {
  CommitmentRequest request;
  const int64_t time = absl::ToUnixMicros(now);
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(
      database_.InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
        request = {.transaction_uid = transaction_uid};
        ISO_RETURN_IF_ERROR(database_.Query(
            "SELECT t.job_id FROM transfers t WHERE t.destination = ?1 AND t.state = ?2 AND "
            "t.wants_commitment AND t.next_attempt_us <= ?3 AND NOT EXISTS (SELECT 1 FROM "
            "transfers u WHERE u.job_id = t.job_id AND u.destination = ?1 AND u.state IN (?4, ?5)) "
            "ORDER BY t.key LIMIT 1",
            {destination, Number(TransferState::kSent), time, Number(TransferState::kQueued),
             Number(TransferState::kSending)},
            [&](const Row& row) { request.job_id = row.Text(0); }));
        if (request.job_id.empty()) return absl::OkStatus();
        std::vector<int64_t> keys;
        ISO_RETURN_IF_ERROR(database_.Query(
            "SELECT key, sop_class_uid, sop_instance_uid FROM transfers WHERE job_id = ?1 AND "
            "destination = ?2 AND state = ?3 AND next_attempt_us <= ?4 ORDER BY key LIMIT ?5",
            {request.job_id, destination, Number(TransferState::kSent), time, kMostInstances},
            [&](const Row& row) {
              keys.push_back(row.Integer(0));
              request.items.push_back({row.Text(1), row.Text(2)});
            }));
        for (const int64_t key : keys) {
          ISO_RETURN_IF_ERROR(
              database_.Execute("UPDATE transfers SET next_attempt_us = ?1 WHERE key = ?2",
                                {absl::ToUnixMicros(next), key}));
        }
        return database_.Execute(
            "INSERT INTO commitments (transaction_uid, destination, job_id, request_time_us) "
            "VALUES (?1, ?2, ?3, ?4)",
            {transaction_uid, destination, request.job_id, time});
      }));
  if (request.job_id.empty()) return std::nullopt;
  return request;
}

absl::Status TransferQueue::PostponeCommitment(const CommitmentRequest& request,
                                               const std::string& destination,
                                               const std::string& reason, absl::Time next,
                                               absl::Time now) {
  absl::MutexLock lock(&mutex_);
  return database_.InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
    ISO_RETURN_IF_ERROR(database_.Execute("DELETE FROM commitments WHERE transaction_uid = ?1",
                                          {request.transaction_uid}));
    return database_.Execute(
        "UPDATE transfers SET reason = ?1, next_attempt_us = ?2, update_time_us = ?3 "
        "WHERE job_id = ?4 AND destination = ?5 AND state = ?6",
        {reason, absl::ToUnixMicros(next), absl::ToUnixMicros(now), request.job_id, destination,
         Number(TransferState::kSent)});
  });
}

absl::StatusOr<std::string> TransferQueue::Apply(const CommitmentReport& report, absl::Time now) {
  const int64_t time = absl::ToUnixMicros(now);
  std::string destination;
  {
    bool is_reported = false;
    absl::MutexLock lock(&mutex_);
    ISO_RETURN_IF_ERROR(database_.Query(
        "SELECT destination, is_reported FROM commitments WHERE transaction_uid = ?1",
        {report.transaction_uid}, [&](const Row& row) {
          destination = row.Text(0);
          is_reported = row.Integer(1) != 0;
        }));
    if (destination.empty()) {
      return absl::NotFoundError(absl::StrCat("no storage commitment was requested with UID '",
                                              report.transaction_uid, "'"));
    }
    if (is_reported) return destination;
    const auto known = std::ranges::find_if(destinations_, [&](const QueueDestination& candidate) {
      return candidate.destination.ae_title == destination;
    });
    const QueueDestination policy = known == destinations_.end() ? QueueDestination{} : *known;
    const Backoff retry(policy.first_retry, policy.longest_retry);

    ISO_RETURN_IF_ERROR(Durably([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      ISO_RETURN_IF_ERROR(
          database_.Execute("UPDATE commitments SET is_reported = 1 WHERE transaction_uid = ?1",
                            {report.transaction_uid}));
      for (const std::string& uid : report.committed) {
        ISO_RETURN_IF_ERROR(
            database_.Execute("UPDATE transfers SET state = ?1, reason = '', update_time_us = ?2 "
                              "WHERE destination = ?3 AND sop_instance_uid = ?4 AND state = ?5",
                              {Number(TransferState::kCommitted), time, destination, uid,
                               Number(TransferState::kSent)}));
      }
      for (const CommitmentReport::Failure& failure : report.failed) {
        int64_t attempts = 0;
        ISO_RETURN_IF_ERROR(database_.Query(
            "SELECT attempts FROM transfers WHERE destination = ?1 AND sop_instance_uid = ?2",
            {destination, failure.sop_instance_uid},
            [&](const Row& row) { attempts = row.Integer(0); }));
        ISO_RETURN_IF_ERROR(database_.Execute(
            "UPDATE transfers SET state = ?1, reason = ?2, next_attempt_us = ?3, "
            "update_time_us = ?4 WHERE destination = ?5 AND sop_instance_uid = ?6 AND state = ?7",
            {Number(failure.is_permanent ? TransferState::kFailed : TransferState::kQueued),
             failure.reason, absl::ToUnixMicros(now + retry.After(attempts)), time, destination,
             failure.sop_instance_uid, Number(TransferState::kSent)}));
      }
      return absl::OkStatus();
    }));
  }
  NotifyListener();
  return destination;
}

}  // namespace isocenter::archive
