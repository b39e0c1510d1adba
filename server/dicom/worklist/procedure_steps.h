// Tells the information system of acquisitions as modality performed procedure steps (MPPS): begun
// with the first frame, completed or discontinued with the job's end. docs/adr/0016 says why so.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/archive/archive.h"
#include "server/archive/procedure_step_queue.h"
#include "server/base/backoff.h"
#include "server/dicom/net/association.h"
#include "server/dicom/net/node_options.h"
#include "server/dicom/net/operations.h"
#include "server/dicom/worklist/procedure_step_data.h"
#include "server/dicom/worklist/procedure_step_user.h"
#include "server/jobs/job.h"
#include "server/jobs/job_table.h"
#include "server/jobs/procedure_steps.h"

namespace isocenter::dicom {

struct ProcedureStepOptions {
  Peer peer;
  NodeOptions node;            // our AE title and PDU size
  std::filesystem::path file;  // of the queue
  /// Between two attempts; doubles from the first to the longest, and varies by a fifth.
  absl::Duration first_pause = absl::Seconds(1), longest_pause = absl::Minutes(5);
  /// A message that the peer has refused so often "for now" is given up: a day and more.
  int most_rejections = 400;
  /// Told of each answer, and of each peer that cannot be reached; must be quick. May be empty.
  std::function<void(NodeOutcome outcome)> observer;
};

/// Sends from a queue on disk, on a thread of its own, until the peer has taken everything. The
/// messages of one step go in order. What is reported here is in the queue a moment later; what a
/// crash keeps from getting there is found again in the job table. Thread-safe.
class ProcedureSteps : public jobs::ProcedureStepControl {
 public:
  /// Goes on with what is in the queue; steps whose jobs have ended meanwhile, or are not known any
  /// more, end. `table` has been loaded. `archive` must outlive this object. Errors: those of
  /// archive::Database.
  static absl::StatusOr<std::unique_ptr<ProcedureSteps>> Start(ProcedureStepOptions options,
                                                               archive::Archive& archive,
                                                               const jobs::JobTable& table);
  /// Stops sending; what is left is sent after the next start.
  ~ProcedureSteps() override;
  ProcedureSteps(const ProcedureSteps&) = delete;
  ProcedureSteps& operator=(const ProcedureSteps&) = delete;

  /// See jobs::JobObserver::OnAcquisitionBegan. Repetitions have no effect. Never blocks.
  void OnBegan(const jobs::Job& job);
  /// Without effect for jobs without frames of their own. Never blocks.
  void OnEnded(const jobs::Job& job);

  absl::StatusOr<std::vector<jobs::ProcedureStep>> List(
      const std::vector<jobs::ProcedureStepState>& states, int most) override;
  absl::StatusOr<jobs::ProcedureStep> Retry(const std::string& job_id) override;
  absl::StatusOr<jobs::ProcedureStep> Drop(const std::string& job_id) override;
  absl::StatusOr<archive::ProcedureStepQueue::Length> Count() { return queue_->Count(); }

 private:
  struct Event {
    std::shared_ptr<const jobs::Job> job;
    bool ends = false;
  };

  ProcedureSteps(ProcedureStepOptions options, archive::Archive& archive,
                 std::unique_ptr<archive::ProcedureStepQueue> queue);
  void Recover(const jobs::JobTable& table, const std::vector<std::string>& in_progress);
  void Post(const jobs::Job& job, bool ends);
  void Work();
  /// Puts what was reported into the queue. What cannot be written now is tried again.
  void Record();
  absl::Status Record(const Event& event);
  absl::StatusOr<std::vector<PerformedSeries>> SeriesOf(const jobs::Job& job);
  /// Sends what is due. Returns when something is due again.
  absl::Time SendDue();
  absl::Status SendAll(const std::vector<archive::ProcedureStepQueue::Message>& due);
  absl::Status Settle(const archive::ProcedureStepQueue::Message& message,
                      const ProcedureStepAnswer& answer);
  absl::Time After(int attempts);
  void Report(NodeOutcome outcome) const;
  /// Adds what the queue does not know.
  jobs::ProcedureStep Completed(jobs::ProcedureStep step);
  absl::StatusOr<jobs::ProcedureStep> Get(const std::string& job_id);

  const ProcedureStepOptions options_;
  archive::Archive& archive_;
  Interruptor interruptor_;
  const std::unique_ptr<archive::ProcedureStepQueue> queue_;

  // Used by the thread only.
  absl::BitGen random_;
  const Backoff backoff_;
  int failures_ = 0;  // attempts in a row in which the peer, or the disk, was not there
  absl::Time pause_until_ = absl::InfinitePast();
  std::map<int64_t, absl::Time> rejected_until_;  // by step

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool news_ ABSL_GUARDED_BY(mutex_) = false;
  bool retry_ ABSL_GUARDED_BY(mutex_) = false;   // an operator has asked for it: no more pauses
  std::string trouble_ ABSL_GUARDED_BY(mutex_);  // why nothing can be sent; empty: nothing
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace isocenter::dicom
