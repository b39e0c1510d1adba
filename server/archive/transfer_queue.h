// The queue of instances that are to be sent to other nodes, and what has become of them. It is
// part of the archive's index: a result and its place in the queues become visible together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/archive/database.h"
#include "server/archive/records.h"

namespace isocenter::archive {

/// How far an instance has come. The numbers stand in the index and are never changed.
enum class TransferState {
  kQueued = 0,     // waits for its turn or for the next attempt
  kSending = 1,    // claimed by a sender of this run of the service
  kSent = 2,       // received by the destination
  kCommitted = 3,  // the destination has said that it keeps it
  kFailed = 4,     // refused for good, until an operator retries
  kSkipped = 5,    // in a form that the destination does not accept; it gets the other
};
/// "queued", "sending", ...
absl::string_view Name(TransferState state);
/// Of counts in which what is 0 may not be.
int64_t CountOf(const std::map<TransferState, int64_t>& counts, TransferState state);

/// A destination as it is configured.
struct QueueDestination {
  Destination destination;
  /// Time to the next attempt of an instance that the destination did not keep; doubles with every
  /// attempt up to the longest.
  absl::Duration first_retry = absl::Seconds(5), longest_retry = absl::Minutes(5);
};

/// An instance that a sender has claimed.
struct Outgoing {
  int64_t key = 0;
  std::string job_id;
  InstanceRow instance;
};

/// The instances of one job for one destination.
struct Transfer {
  int64_t first_key = 0;  // position in the listing
  std::string job_id, destination;
  TransferState state = TransferState::kQueued;  // see v1::Transfer
  std::map<TransferState, int64_t> counts;       // what is not in it is 0
  std::string reason;
  int64_t attempts = 0;
  bool storage_commitment = false;
  bool done = false;
  absl::Time enqueue_time, update_time;
  std::optional<absl::Time> next_try;  // of what waits for another attempt
};

struct TransferFilter {
  std::string job_id, destination;    // empty: all
  std::vector<TransferState> states;  // empty: all
  std::optional<int64_t> before_key;  // only those with a smaller first_key
};

/// What waits for one destination.
struct QueueLength {
  std::map<TransferState, int64_t> counts;  // what is not in it is 0
  std::optional<absl::Time> oldest;         // when the oldest that is not done was enqueued
  // While something waits for another attempt:
  std::string reason;                  // why the last one failed
  int attempts = 0;                    // failed ones
  std::optional<absl::Time> next_try;  // empty: at once
};

/// Why and until when nothing is sent to a destination.
struct Pause {
  std::string reason;
  int attempts = 0;  // failed ones in a row
  absl::Time until = absl::InfinitePast();
};

/// A request of storage commitment.
struct CommitmentRequest {
  std::string transaction_uid, job_id;
  struct Item {
    std::string sop_class_uid, sop_instance_uid;
  };
  std::vector<Item> items;
};

/// What a destination says of a request.
struct CommitmentReport {
  std::string transaction_uid;
  std::vector<std::string> committed;  // SOP instance UIDs
  struct Failure {
    std::string sop_instance_uid;
    std::string reason;
    bool is_permanent = false;  // sending again cannot help
  };
  std::vector<Failure> failed;
};

/// Thread-safe. Changes by senders survive the end of the process, and reach the disk with the next
/// change that must not be lost (results, reports of commitment, requests of operators): after a
/// loss of power some instances may be sent again, none is forgotten. Errors: those of Database.
class TransferQueue {
 public:
  /// `index`: the archive's index, whose schema is up to date; `results`: the directory of results.
  static absl::StatusOr<std::unique_ptr<TransferQueue>> Open(const std::filesystem::path& index,
                                                             std::filesystem::path results);

  /// Once, before anything is sent. What an earlier run was sending is queued again, for it is not
  /// known to have arrived, and commitment that was not reported is asked for again. Instances for
  /// destinations that do not exist any more become failed.
  absl::Status Configure(std::vector<QueueDestination> destinations, absl::Time now);
  /// As configured.
  std::vector<Destination> destinations() const;
  /// Errors: NOT_FOUND, naming those that are configured.
  absl::Status CheckDestination(const std::string& destination) const;
  /// Called whenever there may be something new to do, from the thread that caused it; must be
  /// quick. Null: nobody.
  void SetListener(std::function<void()> listener);
  void NotifyListener() const;

  // For senders.
  /// The SOP classes of what is due for a destination; empty when nothing is.
  absl::StatusOr<std::vector<std::string>> DueClasses(const std::string& destination,
                                                      absl::Time now);
  /// The oldest due instances of the given classes, at most `most`; they become kSending.
  absl::StatusOr<std::vector<Outgoing>> Claim(const std::string& destination,
                                              const std::vector<std::string>& classes, int most,
                                              absl::Time now);
  absl::Status MarkSent(int64_t key, absl::Time now);
  absl::Status MarkFailed(int64_t key, const std::string& reason, absl::Time now);
  /// The destination takes no instances of this SOP class. The instance is skipped when there are
  /// others of its job, of another class, that the destination has or may still take; else it
  /// becomes failed, and with it what was skipped of the job. Returns which of the two.
  absl::StatusOr<TransferState> MarkNotAccepted(int64_t key, const std::string& reason,
                                                absl::Time now);
  /// Puts a claimed instance back where it was. `attempted`: it counts as an attempt.
  absl::Status Unclaim(int64_t key, const std::string& reason, bool attempted, absl::Time now);
  /// Why nothing can be sent now, for whoever asks.
  absl::Status Explain(const std::string& destination, const std::string& reason, absl::Time now);
  /// Nothing is sent to the destination before `pause.until`. Not kept over a restart.
  void SetPause(const std::string& destination, Pause pause);
  /// As it was set, unless an operator has ended it; one that is over, too.
  Pause PauseOf(const std::string& destination) const;
  /// When the next instance or request of commitment that is not due yet will be.
  absl::StatusOr<absl::Time> NextDue(const std::string& destination, absl::Time now);

  // Storage commitment.
  /// The oldest job of which the destination has received all that it can get, and has not been
  /// asked, or not answered in time. It is not due again before `next`.
  absl::StatusOr<std::optional<CommitmentRequest>> BeginCommitment(
      const std::string& destination, const std::string& transaction_uid, absl::Time next,
      absl::Time now);
  /// The request could not be made; it is due again at `next`.
  absl::Status PostponeCommitment(const CommitmentRequest& request, const std::string& destination,
                                  const std::string& reason, absl::Time next, absl::Time now);
  /// Instances that the destination does not have are queued again. A report that comes twice is
  /// ignored. Returns the destination. NOT_FOUND: no such transaction.
  absl::StatusOr<std::string> Apply(const CommitmentReport& report, absl::Time now);

  // For operators.
  /// Queues what is stored of a job for a configured destination, and again what has failed or was
  /// skipped. NOT_FOUND: nothing is stored for the job; the destination is not configured.
  /// FAILED_PRECONDITION: nothing is stored in a form that the destination is to get.
  absl::Status Enqueue(const std::string& job_id, const std::string& destination, absl::Time now) {
    return Send(job_id, destination, /*again=*/false, now).status();
  }
  /// As Enqueue; with `again` also what the destination has confirmed to have received or to keep,
  /// of which it is asked for commitment anew. What is on its way stays as it is. Returns how many
  /// instances were put into the queue.
  absl::StatusOr<int64_t> Send(const std::string& job_id, const std::string& destination,
                               bool again, absl::Time now);
  /// As Send, of many jobs, with one write that reaches the disk for 20,000 instances (and the rest
  /// of the job that they end in). Returns the outcome of each, in order: one that fails alone does
  /// not keep others back; of a write that fails all jobs in it and after it have its error.
  std::vector<absl::StatusOr<int64_t>> SendAll(const std::vector<std::string>& job_ids,
                                               const std::string& destination, bool again,
                                               absl::Time now);
  /// Queues failed instances again, and has what waits for its next attempt be due now, also where
  /// its destination pauses; empty strings mean all. Returns how many are tried now. Errors:
  /// NOT_FOUND (the destination is not configured).
  absl::StatusOr<int64_t> Retry(const std::string& job_id, const std::string& destination,
                                absl::Time now);
  /// Ends the destination's pause, and has all that waits for it be due now. Returns how many
  /// instances wait. Errors: NOT_FOUND (the destination is not configured).
  absl::StatusOr<int64_t> TryNow(const std::string& destination, absl::Time now);
  /// Newest first, at most `most`.
  absl::StatusOr<std::vector<Transfer>> List(const TransferFilter& filter, int most);
  /// By AE title, with all that are configured.
  absl::StatusOr<std::map<std::string, QueueLength>> Lengths();
  /// FAILED_PRECONDITION, naming destinations and counts, unless every destination of the job has
  /// confirmed what it is configured to confirm.
  absl::Status CheckDelivered(const std::string& job_id);

 private:
  TransferQueue(Database database, std::filesystem::path results)
      : results_(std::move(results)), database_(std::move(database)) {}
  /// Errors: NOT_FOUND, naming those that are configured.
  /// Of one job, within a transaction, with the outcome of Send. Errors: those of Database.
  absl::Status SendStored(const std::string& job_id, const Destination& destination, bool again,
                          absl::Time now, absl::StatusOr<int64_t>& outcome)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Destination> Configured(const std::string& destination) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Runs `body` as a transaction that survives a loss of power.
  absl::Status Durably(const std::function<absl::Status()>& body)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::filesystem::path results_;
  mutable absl::Mutex mutex_;
  Database database_ ABSL_GUARDED_BY(mutex_);
  std::vector<QueueDestination> destinations_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Pause> pauses_ ABSL_GUARDED_BY(mutex_);
  mutable absl::Mutex listener_mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(listener_mutex_);
};

/// Statements that put the instances of a job's visible result into a destination's queue, or again
/// where they have failed or were skipped; with `again` also where they are sent or committed.
/// Returns how many. For a transaction on `database`.
absl::StatusOr<int64_t> EnqueueInstances(Database& database, const std::string& job_id,
                                         const Destination& destination, bool again,
                                         absl::Time now);

}  // namespace isocenter::archive
