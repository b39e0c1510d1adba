// Lets acquisitions in, or refuses them before the exposure.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/pipeline/acquisition_request.h"
#include "server/pipeline/acquisitions.h"
#include "server/pipeline/engine_environment.h"

namespace isocenter::pipeline {

/// An acquisition that has been let in, now or before.
struct AcceptedJob {
  /// Where the frames go; null when the job has ended already.
  std::shared_ptr<ReconstructionJob> job;
  jobs::JobSnapshot snapshot;
  bool is_new = false;     // not begun before
  bool is_proven = false;  // what the console says it sends is what the job was begun with
  int64_t peak_bytes = 0;
  double predicted_seconds = 0;  // 0 until something has been measured
};

/// What an acquisition would meet now.
struct AdmissionQuote {
  RunForecast forecast;
  int active_jobs = 0;
  /// The job of the request id is here, or the other half of the pair.
  bool holds_related_job = false;
};

/// What the results of live acquisitions may take of the archive's disk now, with what refinements
/// would give up. Any thread. Errors: INTERNAL.
absl::StatusOr<int64_t> RoomForLive(const EngineParts& parts);

/// Plans an acquisition, gets it memory and a spool, and makes it a job. Admit and Quote are called
/// by one thread, which is the one that makes runs; the others from any thread.
class AcquisitionAdmission {
 public:
  AcquisitionAdmission(const EngineParts& parts, Acquisitions& acquisitions)
      : parts_(parts), acquisitions_(acquisitions) {}

  /// Errors: as Engine::Accept.
  absl::StatusOr<AcceptedJob> Admit(AcquisitionRequest request);
  /// Errors: as Engine::Predict.
  absl::StatusOr<AdmissionQuote> Quote(AcquisitionRequest request);
  /// Any thread. Errors: as Engine::Resume.
  absl::StatusOr<AcceptedJob> Resume(const ResumeRequest& request) const;

  /// While there is a reason, an operator wants nothing new here.
  void SetDrained(std::optional<std::string> reason);
  /// Errors: UNAVAILABLE (drained; says why).
  absl::Status CheckNotDrained() const;

 private:
  /// What is known of an acquisition before it is planned.
  struct Screened {
    std::optional<AcceptedJob> known;  // the job of its request id; the rest is unset
    VolumeGrid grid;
    std::vector<jobs::JobWarning> warnings;
    /// In memory until a run has it.
    std::shared_ptr<const ops::Calibration> calibration;
    bool has_other_half = false;  // of its pair, from which the request now has what it lacked
  };
  /// Errors: INVALID_ARGUMENT, PERMISSION_DENIED, UNAVAILABLE (drained, stopping), those of
  /// Calibrate and of the result store.
  absl::StatusOr<Screened> Screen(AcquisitionRequest& request) const;
  /// Chooses what the request is corrected with. Errors: those of ChooseCalibration and
  /// LoadedCalibrations, but for DATA_LOSS.
  absl::Status Calibrate(AcquisitionRequest& request, Screened& screened) const;
  /// The job that was made for the request id of `request` before. Errors: INVALID_ARGUMENT (for
  /// another acquisition), PERMISSION_DENIED (by another caller).
  absl::StatusOr<AcceptedJob> Existing(const AcquisitionRequest& request,
                                       const jobs::JobSnapshot& job) const;
  /// Takes memory; for a live acquisition also that of what gives way.
  absl::StatusOr<std::shared_ptr<ReconstructionRun>> MakeRun(const AcquisitionRequest& request,
                                                             const VolumeGrid& grid);
  jobs::Job NewRecord(const AcquisitionRequest& request, const VolumeGrid& grid) const;

  const EngineParts& parts_;
  Acquisitions& acquisitions_;
  mutable absl::Mutex mutex_;
  std::optional<std::string> drain_reason_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::pipeline
