// What is special to refinements: how they come to be, and the frames that they use.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/pipeline/acquisition_request.h"
#include "server/pipeline/engine_environment.h"
#include "server/pipeline/refinement_job.h"

namespace isocenter::pipeline {

/// Makes refinements, and keeps the frames that they use in the spool. Thread-safe.
class Refinements {
 public:
  Refinements(const EngineParts& parts, scheduler::LaneExecutor& exporter)
      : parts_(parts), exporter_(exporter) {}
  /// Nothing is active any more.
  ~Refinements() = default;

  using Done = std::function<void(absl::StatusOr<jobs::JobSnapshot>)>;
  /// Refines a completed job, as a job of its own; opens its frames on a thread of its own and
  /// calls `done` there. Errors: NOT_FOUND, FAILED_PRECONDITION (not completed; no frames of its
  /// own, or no longer; bone without a bone table; a reference that is none for this job: see
  /// CheckReferenceJob), INVALID_ARGUMENT (the request id belongs to another request; a job as its
  /// own reference), DATA_LOSS, RESOURCE_EXHAUSTED (the archive's disk), UNAVAILABLE (stopping),
  /// those of the job store.
  void Refine(const std::string& source_id, RefinementRequest request, Done done);

  /// What the protocol of an acquisition asks for, when its volume is stored and before it is
  /// COMPLETED: whatever happens then, there is exactly one such refinement. It begins when the
  /// source is completed. Without effect where it exists already. Errors: the job store's,
  /// FAILED_PRECONDITION (bone without a bone table).
  absl::Status Follow(const jobs::Job& source, const jobs::StoredSeries& stored,
                      const AcquisitionRequest& request, std::shared_ptr<jobs::JobSpool> spool);

  /// Goes on with a refinement that was active when the service stopped. Errors: the decoder's.
  absl::Status Recover(const jobs::Job& job);

  /// The acquisition has ended and needs its frames no longer: they are released, now or when the
  /// last refinement that uses them has ended.
  void ReleaseFrames(const std::string& job_id);

  /// Returns when nothing that was asked for before is being made.
  void AwaitMade();

 private:
  absl::StatusOr<jobs::JobSnapshot> RefineNow(const std::string& source_id,
                                              RefinementRequest request);
  absl::StatusOr<RefinementInput> OpenInput(const std::string& source_id);
  /// Whether what the frames are corrected with has what is asked for. Errors: FAILED_PRECONDITION.
  absl::Status CheckCalibration(const std::string& source_id, const RefinementRequest& request,
                                const std::optional<jobs::UsedCalibration>& used) const;
  /// Adds what CheckTable says of the request to the job's warnings; returns it where the job's
  /// source does not say the same.
  std::optional<jobs::JobWarning> WarnOfTable(const RefinementRequest& request,
                                              const std::optional<jobs::UsedCalibration>& used,
                                              jobs::Job& job) const;
  /// Whether the request's reference, if it has one, is one for this job; completes the request.
  /// Errors: NOT_FOUND, those of CheckReferenceJob and ResolveReference, FAILED_PRECONDITION (its
  /// volume is not stored here).
  absl::Status ChooseReference(const jobs::Job& source, RefinementRequest& request) const;
  /// What a refinement's volume takes on the archive's disk. Errors: PromisedDisk::Reserve.
  absl::StatusOr<scheduler::DiskPromise> RoomFor(const jobs::Job& job);
  /// Stores the job's record and keeps the job. Without `room` it looks for some at its end.
  absl::StatusOr<jobs::JobSnapshot> Add(jobs::Job job, RefinementRequest request,
                                        RefinementInput input, scheduler::DiskPromise room);
  std::shared_ptr<RefinementJob> MakeJob(const jobs::Job& job, RefinementRequest request);

  void Use(const std::string& source_id) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndUse(const std::string& source_id) ABSL_LOCKS_EXCLUDED(mutex_);

  const EngineParts& parts_;
  scheduler::LaneExecutor& exporter_;

  absl::Mutex mutex_;
  /// Refinements of each source's frames, which are not released before.
  std::map<std::string, int> uses_ ABSL_GUARDED_BY(mutex_);

  /// Opening a spooled job reads all of its frames. Last: its thread ends first.
  scheduler::LaneExecutor opener_{"iso-refine"};
  const std::shared_ptr<scheduler::LaneExecutor::Lane> opening_ = opener_.NewLane();
};

}  // namespace isocenter::pipeline
