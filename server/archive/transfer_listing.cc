// The reading half of TransferQueue: what operators ask.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "server/archive/transfer_queue.h"

namespace isocenter::archive {
namespace {

constexpr int kStates = 6;
// The numbers of TransferState: 0 queued, 1 sending, 2 sent, 3 committed, 4 failed, 5 skipped.
constexpr char kOverallState[] =
    "CASE WHEN SUM(state = 4) > 0 THEN 4 WHEN SUM(state = 1) > 0 THEN 1 ELSE MIN(state) END";
constexpr char kIsDone[] = "(state IN (3, 5) OR (state = 2 AND NOT wants_commitment))";

}  // namespace

absl::StatusOr<std::vector<Transfer>> TransferQueue::List(const TransferFilter& filter, int most) {
  std::vector<Value> values = {filter.job_id, filter.destination,
                               filter.before_key.value_or(INT64_MAX), most};
  std::vector<std::string> states;
  for (const TransferState state : filter.states) {
    states.push_back(absl::StrCat(static_cast<int>(state)));
  }
  const std::string of_state = states.empty() ? ""
                                              : absl::StrCat(" AND ", kOverallState, " IN (",
                                                             absl::StrJoin(states, ","), ")");
  // Said only where it is asked: SQLite's index serves "job_id = ?", not "any, or job_id = ?".
  const std::string of_job = filter.job_id.empty() ? "?1 = ''" : "job_id = ?1";
  std::vector<Transfer> transfers;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      absl::StrCat(
          "SELECT MIN(key), job_id, destination, ", kOverallState,
          ", COALESCE(MAX(CASE WHEN state = 4 THEN reason END), MAX(reason)), MAX(attempts), "
          "MAX(wants_commitment), MIN(",
          kIsDone,
          "), MIN(enqueue_time_us), MAX(update_time_us), SUM(state = 0), SUM(state = 1), "
          "SUM(state = 2), SUM(state = 3), SUM(state = 4), SUM(state = 5), "
          "MIN(CASE WHEN state = 0 THEN next_attempt_us END) FROM transfers "
          "WHERE ",
          of_job,
          " AND (?2 = '' OR destination = ?2) "
          "GROUP BY job_id, destination HAVING MIN(key) < ?3",
          of_state, " ORDER BY MIN(key) DESC LIMIT ?4"),
      values, [&](const Row& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        Transfer transfer{.first_key = row.Integer(0),
                          .job_id = row.Text(1),
                          .destination = row.Text(2),
                          .state = static_cast<TransferState>(row.Integer(3)),
                          .reason = row.Text(4),
                          .attempts = row.Integer(5),
                          .storage_commitment = row.Integer(6) != 0,
                          .done = row.Integer(7) != 0,
                          .enqueue_time = absl::FromUnixMicros(row.Integer(8)),
                          .update_time = absl::FromUnixMicros(row.Integer(9))};
        for (int state = 0; state < kStates; ++state) {
          if (const int64_t count = row.Integer(10 + state); count > 0) {
            transfer.counts[static_cast<TransferState>(state)] = count;
          }
        }
        if (transfer.counts.contains(TransferState::kQueued)) {
          // A destination that does not answer is sent nothing before its pause is over.
          const auto pause = pauses_.find(transfer.destination);
          absl::Time next = absl::FromUnixMicros(row.Integer(10 + kStates));
          if (pause != pauses_.end()) next = std::max(next, pause->second.until);
          if (next > absl::UnixEpoch()) transfer.next_try = next;
        }
        transfers.push_back(std::move(transfer));
      }));
  return transfers;
}

absl::StatusOr<std::map<std::string, QueueLength>> TransferQueue::Lengths() {
  std::map<std::string, QueueLength> lengths;
  absl::MutexLock lock(&mutex_);
  for (const QueueDestination& known : destinations_) lengths[known.destination.ae_title];
  // Rows of destinations that are gone are not shown: labels of metrics stay few.
  for (auto& [destination, length] : lengths) {
    ISO_RETURN_IF_ERROR(database_.Query(
        "SELECT state, COUNT(*) FROM transfers WHERE destination = ?1 GROUP BY state",
        {destination}, [&length = length](const Row& row) {
          length.counts[static_cast<TransferState>(row.Integer(0))] = row.Integer(1);
        }));
    ISO_RETURN_IF_ERROR(database_.Query(
        "SELECT MIN(enqueue_time_us) FROM transfers WHERE destination = ?1 AND (state IN (0, 1) OR "
        "(state = 2 AND wants_commitment)) HAVING COUNT(*) > 0",
        {destination}, [&length = length](const Row& row) {
          length.oldest = absl::FromUnixMicros(row.Integer(0));
        }));
    // Instances that the destination had and did not keep wait each for themselves, and so do those
    // that it has taken and does not promise to keep.
    ISO_RETURN_IF_ERROR(database_.Query(
        "SELECT MAX(reason), MAX(CASE WHEN state = 0 THEN attempts ELSE 0 END), "
        "MIN(next_attempt_us) FROM transfers WHERE destination = ?1 AND next_attempt_us > 0 AND "
        "(state = 0 OR (state = 2 AND wants_commitment AND reason <> '')) HAVING COUNT(*) > 0",
        {destination}, [&length = length](const Row& row) {
          length.reason = row.Text(0);
          length.attempts = static_cast<int>(row.Integer(1));
          length.next_try = absl::FromUnixMicros(row.Integer(2));
        }));
    // A destination that nothing waits for has no pause to tell of.
    const auto pause = pauses_.find(destination);
    if (!length.oldest || pause == pauses_.end() || pause->second.attempts == 0) continue;
    length.reason = pause->second.reason;
    length.attempts = pause->second.attempts;
    if (pause->second.until > absl::InfinitePast()) length.next_try = pause->second.until;
  }
  return lengths;
}

absl::Status TransferQueue::CheckDelivered(const std::string& job_id) {
  std::vector<std::string> waiting;
  absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(database_.Query(
      absl::StrCat("SELECT destination, SUM(NOT ", kIsDone,
                   "), COUNT(*), MAX(wants_commitment) FROM transfers WHERE job_id = ?1 "
                   "AND EXISTS (SELECT 1 FROM series WHERE job_id = ?1) GROUP BY destination "
                   "HAVING SUM(NOT ",
                   kIsDone, ") > 0 ORDER BY destination"),
      {job_id}, [&](const Row& row) {
        waiting.push_back(absl::StrCat(row.Text(0), " has not confirmed to have ",
                                       row.Integer(3) != 0 ? "committed to " : "received ",
                                       row.Integer(1), " of ", row.Integer(2), " instances"));
      }));
  if (waiting.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("job '", job_id, "' is not delivered: ", absl::StrJoin(waiting, "; "),
                   "; wait, or delete it by force: `isocenter delete --force`"));
}

}  // namespace isocenter::archive
