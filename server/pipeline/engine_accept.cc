// The engine's admission: an acquisition is planned, gets its memory and its spool, and becomes a
// job, or is refused before the exposure.
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "server/pipeline/engine.h"
#include "server/pipeline/facts.h"
#include "server/pipeline/frame_monitor.h"
#include "server/pipeline/subtraction.h"
#include "spdlog/spdlog.h"

namespace isocenter::pipeline {
namespace {

using jobs::JobState;

absl::StatusOr<VolumeGrid> ResolveGrid(const AcquisitionRequest& request) {
  if (const auto* grid = std::get_if<VolumeGrid>(&request.grid)) {
    ISO_RETURN_IF_ERROR(ValidateGrid(*grid));
    return *grid;
  }
  return AutoGrid(request.acquisition.trajectory, request.acquisition.detector,
                  std::get<AutoGridSize>(request.grid).size);
}

absl::Status ShuttingDown() {
  return absl::UnavailableError("the service is shutting down; use another one");
}

bool Failed(const jobs::JobSnapshot& job) {
  return job == nullptr || job->state == JobState::kFailed || job->state == JobState::kCancelled;
}

/// What a job's header said, before the worklist completed it.
const std::string& HeaderPatientId(const jobs::Job& job) {
  return job.order.settled ? job.order.header_patient_id : job.patient_study.patient_id;
}
const std::string& HeaderAccessionNumber(const jobs::Job& job) {
  return job.order.settled ? job.order.header_accession_number : job.patient_study.accession_number;
}

bool IsSamePatient(const jobs::Job& job, const std::string& patient_id) {
  return patient_id == HeaderPatientId(job) || patient_id == job.patient_study.patient_id;
}

/// Holds one half of a pair against the other, from which it takes what it does not say itself.
/// Whether the other half is there.
absl::StatusOr<bool> JoinPair(const jobs::JobTable& table, AcquisitionRequest& request) {
  const Pair pair = FindPair(table, request.pair_id);
  const bool is_mask = request.pair_role == jobs::PairRole::kMask;
  const jobs::JobSnapshot& same = is_mask ? pair.mask : pair.fill;
  const jobs::JobSnapshot& other = is_mask ? pair.fill : pair.mask;
  const auto illegal = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("pair.pair_id is '", request.pair_id, "', ", what));
  };
  if (!Failed(same)) {
    return illegal(absl::StrCat("whose ", std::string(jobs::Name(request.pair_role)), " is job '",
                                same->id, "' already; legal is an id that was never used"));
  }
  if (Failed(other)) return false;
  if (other->facts.trajectory_hash != TrajectoryHash(request.acquisition.trajectory)) {
    return illegal(absl::StrCat("but the planned trajectory is not that of job '", other->id,
                                "'; legal is the same trajectory for both halves"));
  }
  if (other->facts.patient_position != request.patient_position) {
    return illegal(absl::StrCat("but the patient of job '", other->id, "' lay ",
                                Name(other->facts.patient_position), ", not ",
                                Name(request.patient_position)));
  }
  if (!IsSamePatient(*other, request.patient_study.patient_id)) {
    return illegal(absl::StrCat("but job '", other->id, "' is of another patient"));
  }
  const std::string& study = other->patient_study.study_instance_uid;
  if (request.patient_study.study_instance_uid.empty()) {
    request.patient_study.study_instance_uid = study;
  } else if (request.patient_study.study_instance_uid != study) {
    return illegal(absl::StrCat("but job '", other->id, "' is of another study; legal is ", study));
  }
  if (const auto* grid = std::get_if<VolumeGrid>(&request.grid); grid && !(*grid == other->grid)) {
    return illegal(absl::StrCat("but the grid is not that of job '", other->id,
                                "'; legal is the same, or none"));
  }
  request.grid = other->grid;
  return true;
}

/// What the admission lane does for a request: `done` gets what `answer` makes of it, or CANCELLED
/// when nobody waits for that any more.
template <class Done, class Answer>
std::function<void()> WhileWanted(AcquisitionRequest request, std::function<bool()> wanted,
                                  Done done, Answer answer) {
  auto shared = std::make_shared<AcquisitionRequest>(std::move(request));
  return [shared, wanted = std::move(wanted), done = std::move(done), answer] {
    if (wanted()) {
      done(answer(std::move(*shared)));
    } else {
      done(absl::CancelledError("the console left before its acquisition was planned"));
    }
  };
}

}  // namespace

void Engine::Accept(AcquisitionRequest request, std::function<bool()> wanted, AcceptDone done) {
  admission_lane_->Submit(WhileWanted(
      std::move(request), std::move(wanted), std::move(done),
      [this](AcquisitionRequest&& wanted_one) { return AcceptNow(std::move(wanted_one)); }));
}

absl::StatusOr<Engine::Screened> Engine::Screen(AcquisitionRequest& request) const {
  {
    absl::MutexLock lock(&mutex_);
    if (!admitting_) return ShuttingDown();
  }
  Screened screened;
  if (!request.request_id.empty()) {
    const jobs::JobSnapshot job = environment_.table.FindByRequestId(request.request_id);
    if (job != nullptr) {
      ISO_ASSIGN_OR_RETURN(screened.known, Existing(request, job));
      return screened;
    }
  }
  ISO_RETURN_IF_ERROR(CheckNotDrained());
  ISO_RETURN_IF_ERROR(recon::ValidateAcquisition(request.acquisition));
  if (!request.pair_id.empty()) {
    ISO_ASSIGN_OR_RETURN(screened.has_other_half, JoinPair(environment_.table, request));
  }
  ISO_ASSIGN_OR_RETURN(screened.grid, ResolveGrid(request));
  return screened;
}

absl::StatusOr<Engine::Accepted> Engine::AcceptNow(AcquisitionRequest request) {
  ISO_ASSIGN_OR_RETURN(Screened screened, Screen(request));
  if (screened.known) return *std::move(screened.known);
  const VolumeGrid& grid = screened.grid;
  // Better to refuse now than to lose a scan of the patient at its end.
  ISO_RETURN_IF_ERROR(MakeRoomFor(grid));

  const absl::Time now = absl::Now();
  const scheduler::Urgency urgency{request.job_class, now + request.deadline};
  auto made = runs_.Make(request, grid, urgency);
  // A refinement can begin again; a patient cannot be told to come back for it.
  while (absl::IsResourceExhausted(made.status()) && request.job_class == jobs::JobClass::kLive &&
         refinements_.YieldOne()) {
    made = runs_.Make(request, grid, urgency);
  }
  ISO_ASSIGN_OR_RETURN(const std::shared_ptr<ReconstructionRun> run, std::move(made));
  jobs::Job job = NewJob(request, grid);
  job.facts = FactsOf(request, run->plan());
  job.result.backend = std::string(run->devices()[0]->backend());
  job.predicted_finish = run->predicted_finish();
  ISO_ASSIGN_OR_RETURN(const std::shared_ptr<jobs::JobSpool> spool,
                       environment_.spool.Create(job.id, request.record, job.progress.frames_total,
                                                 FrameBytes(request.acquisition)));
  Accepted accepted{.peak_bytes = run->peak_bytes(), .predicted_seconds = run->predicted_seconds()};
  accepted.job = std::make_shared<ReconstructionJob>(job.id, std::move(request), grid, spool,
                                                     EnvironmentOf(job.job_class));
  absl::Status inserted;
  {
    absl::MutexLock lock(&mutex_);
    if (!admitting_) inserted = ShuttingDown();
  }
  if (inserted.ok()) inserted = environment_.table.Insert(job);
  if (!inserted.ok()) {
    (void)environment_.spool.Remove(job.id);
    return inserted;
  }
  orders_.Begin(accepted.job);
  AddActive(accepted.job);
  accepted.job->StartRun(run);
  accepted.snapshot = std::make_shared<const jobs::Job>(job);
  const AcquisitionRequest& kept = accepted.job->request();
  spdlog::info(
      "event=job_accepted job={} protocol={} station={} class={} frames={} detector={}x{} "
      "grid={}x{}x{} slot={} device_bytes={} host_bytes={} predicted_seconds={:.2f}",
      job.id, job.protocol, job.station_name, std::string(jobs::Name(job.job_class)),
      job.progress.frames_total, kept.acquisition.detector.columns, kept.acquisition.detector.rows,
      grid.nx, grid.ny, grid.nz, run->slot().name, run->plan().peak_bytes, run->plan().host_bytes,
      accepted.predicted_seconds);
  if (const auto warning = ShortArcWarning(run->plan())) accepted.job->Warn(*warning);
  return accepted;
}

void Engine::Predict(AcquisitionRequest request, std::function<bool()> wanted, QuoteDone done) {
  admission_lane_->Submit(WhileWanted(
      std::move(request), std::move(wanted), std::move(done),
      [this](AcquisitionRequest&& wanted_one) { return QuoteNow(std::move(wanted_one)); }));
}

absl::StatusOr<Engine::Quote> Engine::QuoteNow(AcquisitionRequest request) {
  ISO_ASSIGN_OR_RETURN(const Screened screened, Screen(request));
  Quote quote{.active_jobs = environment_.scheduler.active_jobs(),
              .holds_related_job = screened.known || screened.has_other_half};
  if (screened.known) return quote;
  ISO_ASSIGN_OR_RETURN(
      quote.forecast,
      runs_.Predict(request, screened.grid, {request.job_class, absl::Now() + request.deadline}));
  return quote;
}

jobs::Job Engine::NewJob(const AcquisitionRequest& request, const VolumeGrid& grid) const {
  const absl::Time now = absl::Now();
  jobs::Job job;
  job.id = jobs::NewJobId(now);
  job.patient_study = request.patient_study;
  if (job.patient_study.study_date.empty()) {
    job.patient_study.study_date = absl::FormatTime("%Y%m%d", now, absl::LocalTimeZone());
  }
  if (job.patient_study.study_time.empty()) {
    job.patient_study.study_time = absl::FormatTime("%H%M%S", now, absl::LocalTimeZone());
  }
  job.order.is_reported = options_.reports_procedure_steps;
  job.protocol = request.protocol;
  job.station_name = request.station_name;
  job.request_id = request.request_id;
  job.job_class = request.job_class;
  job.deadline = now + request.deadline;
  job.pair_id = request.pair_id;
  job.pair_role = request.pair_role;
  job.dicom_forms = request.dicom_forms;
  job.grid = grid;
  job.progress.frames_total = static_cast<int>(request.acquisition.trajectory.size());
  job.progress.slices_total = grid.nz;
  job.create_time = now;
  return job;
}

absl::StatusOr<Engine::Accepted> Engine::Existing(const AcquisitionRequest& request,
                                                  const jobs::JobSnapshot& job) const {
  if (job->protocol != request.protocol ||
      HeaderPatientId(*job) != request.patient_study.patient_id ||
      HeaderAccessionNumber(*job) != request.patient_study.accession_number ||
      job->facts.patient_position != request.patient_position ||
      job->facts.trajectory_hash != TrajectoryHash(request.acquisition.trajectory)) {
    return absl::InvalidArgumentError(
        absl::StrCat("request_id is '", request.request_id, "', which belongs to job '", job->id,
                     "' of another acquisition; legal is an id that was never used"));
  }
  return Accepted{.job = FindActive(job->id), .snapshot = job};
}

absl::StatusOr<Engine::Accepted> Engine::Resume(const std::string& job_id) {
  Accepted accepted{.job = FindActive(job_id)};
  ISO_ASSIGN_OR_RETURN(accepted.snapshot, environment_.table.Get(job_id));
  if (jobs::HasEnded(accepted.snapshot->state)) accepted.job = nullptr;
  if (accepted.job != nullptr) environment_.observer.OnJobResumed("console");
  return accepted;
}

void Engine::AddActive(const std::shared_ptr<ReconstructionJob>& job) {
  {
    absl::MutexLock lock(&mutex_);
    active_[job->id()] = job;
  }
  OnConsoleLeft();
}

}  // namespace isocenter::pipeline
