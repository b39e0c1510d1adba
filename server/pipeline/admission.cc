#include "server/pipeline/admission.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/recon/completeness/grid_coverage.h"
#include "server/base/log.h"
#include "server/base/try_again.h"
#include "server/jobs/private_error.h"
#include "server/pipeline/calibration_choice.h"
#include "server/pipeline/early/early_refinements.h"
#include "server/pipeline/facts.h"
#include "server/pipeline/frames/frame_monitor.h"
#include "server/pipeline/identity/same_acquisition.h"
#include "server/pipeline/identity/study_patient.h"
#include "server/pipeline/pair.h"

namespace isocenter::pipeline {
namespace {

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

/// The same error, in a sentence.
absl::Status Explained(const absl::Status& why, absl::string_view before, absl::string_view after) {
  absl::Status explained(why.code(), absl::StrCat(before, why.message(), after));
  return jobs::IsPrivate(why) ? jobs::MarkPrivate(explained) : explained;
}

/// Whether a live acquisition may take its room.
bool GivesUpRoom(const EngineParts& parts, const ActiveJob& other) {
  const absl::StatusOr<jobs::JobSnapshot> job = parts.table.Get(other.id());
  return other.gives_way() && job.ok() && (*job)->state < jobs::JobState::kExporting;
}

/// Room for the result. A live acquisition also gets that of refinements which have not got so far
/// as to need it, the newest first: they look for some again, and can wait; a patient cannot.
absl::StatusOr<scheduler::DiskPromise> ReserveRoom(const EngineParts& parts,
                                                   const AcquisitionRequest& request,
                                                   const VolumeGrid& grid) {
  const int64_t bytes = parts.results.StoredBytes(grid, request.dicom_forms);
  auto room = parts.disk.Reserve(bytes);
  if (request.job_class != jobs::JobClass::kLive) return room;
  auto others = parts.active.All();
  for (; absl::IsResourceExhausted(room.status()) && !others.empty(); others.pop_back()) {
    ActiveJob& other = *others.back();
    if (!GivesUpRoom(parts, other)) continue;
    other.TakeRoom({});
    room = parts.disk.Reserve(bytes);
  }
  return room;
}

/// Whether the caller may have one more batch job: one who has thousands of scans to send does not
/// keep the others' out.
absl::Status CheckShare(const EngineParts& parts, const AcquisitionRequest& request) {
  if (request.job_class != jobs::JobClass::kBatch || request.caller.empty()) {
    return absl::OkStatus();
  }
  int has = 0;
  for (const auto& active : parts.active.All<ReconstructionJob>()) {
    const absl::StatusOr<jobs::JobSnapshot> job = parts.table.Get(active->id());
    has += job.ok() && (*job)->begun_by == request.caller &&
           (*job)->job_class == jobs::JobClass::kBatch;
  }
  if (has < parts.options.batch_jobs_per_caller) return absl::OkStatus();
  return FullForNow(absl::StrCat(request.caller, " has ", has, " batch jobs; legal is at most ",
                                 parts.options.batch_jobs_per_caller,
                                 "; try again when one has ended"));
}

void LogAccepted(const jobs::Job& job, const AcceptedJob& accepted, const ReconstructionRun& run) {
  const Detector& detector = accepted.job->request().acquisition.detector;
  spdlog::info(
      "event=job_accepted job={} protocol={} station={} class={} frames={} detector={}x{} "
      "grid={}x{}x{} slot={} device_bytes={} host_bytes={} predicted_seconds={:.2f} "
      "calibration={} continues={}",
      job.id, job.protocol, job.station_name, std::string(jobs::Name(job.job_class)),
      job.progress.frames_total, detector.columns, detector.rows, job.grid.nx, job.grid.ny,
      job.grid.nz, run.slot().name, run.plan().peak_bytes, run.plan().host_bytes,
      accepted.predicted_seconds, job.facts.calibration ? job.facts.calibration->name : "none",
      accepted.job->request().continues_job_id.empty() ? "nothing" : "another node");
}

}  // namespace

absl::StatusOr<int64_t> RoomForLive(const EngineParts& parts) {
  ISO_ASSIGN_OR_RETURN(int64_t room, parts.disk.room());
  for (const auto& other : parts.active.All()) {
    if (GivesUpRoom(parts, *other)) room += other->room_bytes();
  }
  return room;
}

void AcquisitionAdmission::SetDrained(std::optional<std::string> reason) {
  absl::MutexLock lock(&mutex_);
  drain_reason_ = std::move(reason);
}

absl::Status AcquisitionAdmission::CheckNotDrained() const {
  absl::MutexLock lock(&mutex_);
  if (!drain_reason_) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the node is drained",
                                             drain_reason_->empty() ? "" : ": ", *drain_reason_,
                                             "; use another one, or have an operator resume it"));
}

absl::StatusOr<AcquisitionAdmission::Screened> AcquisitionAdmission::Screen(
    AcquisitionRequest& request) const {
  if (parts_.active.draining()) return ShuttingDown();
  Screened screened;
  if (!request.request_id.empty()) {
    const jobs::JobSnapshot job = parts_.table.FindByRequestId(request.request_id);
    if (job != nullptr) {
      ISO_ASSIGN_OR_RETURN(screened.known, Existing(request, job));
      return screened;
    }
  }
  if (!request.continues_job_id.empty()) {
    const absl::StatusOr<jobs::JobSnapshot> job = parts_.table.Get(request.continues_job_id);
    if (job.ok()) {
      if (!jobs::IsAcquisition(**job)) {
        return absl::InvalidArgumentError(
            absl::StrCat("continues_job_id is '", request.continues_job_id,
                         "', for which nothing was acquired; legal is an acquisition's job"));
      }
      ISO_ASSIGN_OR_RETURN(screened.known, Existing(request, *job));
      return screened;
    }
  }
  ISO_RETURN_IF_ERROR(CheckNotDrained());
  ISO_RETURN_IF_ERROR(CheckShare(parts_, request));
  ISO_RETURN_IF_ERROR(recon::ValidateAcquisition(request.acquisition));
  if (!request.pair_id.empty()) {
    ISO_ASSIGN_OR_RETURN(screened.has_other_half, JoinPair(parts_.table, request));
  }
  ISO_RETURN_IF_ERROR(CheckStudyPatient(parts_, request.patient_study));
  ISO_ASSIGN_OR_RETURN(screened.grid, ResolveGrid(request));
  ISO_RETURN_IF_ERROR(Calibrate(request, screened));
  return screened;
}

absl::Status AcquisitionAdmission::Calibrate(AcquisitionRequest& request,
                                             Screened& screened) const {
  while (true) {
    std::vector<jobs::CalibrationLabel> kept;
    if (parts_.calibrations != nullptr) kept = parts_.calibrations->Labels();
    ISO_ASSIGN_OR_RETURN(CalibrationChoice choice, ChooseCalibration(kept, request, parts_.Now()));
    screened.warnings.clear();
    if (choice.warning) screened.warnings.push_back(*std::move(choice.warning));
    request.calibration = std::move(choice.used);
    if (!request.calibration) break;
    auto loaded = parts_.calibrations_in_memory.Get(*request.calibration);
    // One that is damaged is not among the others any more.
    if (absl::IsDataLoss(loaded.status())) continue;
    ISO_ASSIGN_OR_RETURN(screened.calibration, std::move(loaded));
    const auto& add = parts_.options.decoders.add_calibration;
    if (add) request.record = add(request.record, *request.calibration);
    break;
  }
  ISO_ASSIGN_OR_RETURN(auto warning, CheckRefinable(request, screened.calibration.get()));
  // Frames that are not corrected are warned of already.
  if (screened.warnings.empty() && warning) screened.warnings.push_back(*std::move(warning));
  if (screened.calibration == nullptr) return absl::OkStatus();
  if (screened.warnings.empty()) {
    if (auto no_water = CheckWater(*screened.calibration)) screened.warnings.push_back(*no_water);
  }
  if (auto stale = CheckTable(request, *screened.calibration)) screened.warnings.push_back(*stale);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<ReconstructionRun>> AcquisitionAdmission::MakeRun(
    const AcquisitionRequest& request, const VolumeGrid& grid) {
  const scheduler::Urgency urgency{request.job_class, parts_.Now() + request.deadline};
  auto made = parts_.runs.Make(request, grid, urgency);
  // A refinement can begin again; a patient cannot be told to come back for it.
  const bool live = request.job_class == jobs::JobClass::kLive;
  while (absl::IsResourceExhausted(made.status()) &&
         (parts_.early.YieldOne() || (live && parts_.active.YieldOne()))) {
    made = parts_.runs.Make(request, grid, urgency);
  }
  return made;
}

absl::StatusOr<AcceptedJob> AcquisitionAdmission::Admit(AcquisitionRequest request) {
  ISO_ASSIGN_OR_RETURN(Screened screened, Screen(request));
  if (screened.known) return *std::move(screened.known);
  const VolumeGrid& grid = screened.grid;
  // Better to refuse now than to lose a scan of the patient at its end.
  ISO_ASSIGN_OR_RETURN(scheduler::DiskPromise room, ReserveRoom(parts_, request, grid));
  ISO_ASSIGN_OR_RETURN(const std::shared_ptr<ReconstructionRun> run, MakeRun(request, grid));
  if (parts_.active.draining()) return ShuttingDown();
  const std::vector<std::string> implausible = request.implausible;
  jobs::Job job = NewRecord(request, grid);
  job.facts = FactsOf(request, run->plan());
  job.result.backend = std::string(run->place().devices[0]->backend());
  job.predicted_finish = run->predicted_finish();
  // Last: kept frames of ended jobs may go for it.
  ISO_ASSIGN_OR_RETURN(
      const std::shared_ptr<jobs::JobSpool> spool,
      parts_.spool.Create(job.id, request.record, job.progress.frames_total,
                          FrameBytes(request.acquisition), parts_.disk.promised_on_spool()));
  AcceptedJob accepted{.job = acquisitions_.NewJob(job.id, std::move(request), grid, spool),
                       .snapshot = std::make_shared<const jobs::Job>(job),
                       .is_new = true,
                       .is_proven = true,
                       .peak_bytes = run->peak_bytes(),
                       .predicted_seconds = run->predicted_seconds()};
  const absl::Status inserted =
      parts_.active.draining() ? ShuttingDown() : parts_.table.Insert(job);
  if (!inserted.ok()) {
    (void)parts_.spool.Remove(job.id);
    return inserted;
  }
  accepted.job->TakeRoom(std::move(room));
  acquisitions_.Begin(accepted.job);
  accepted.job->StartRun(run);
  LogAccepted(job, accepted, *run);
  if (const auto warning = ShortArcWarning(run->plan())) accepted.job->Warn(*warning);
  if (const auto unseen = recon::LittleSeenText(run->plan().acquisition, grid)) {
    accepted.job->Warn({jobs::WarningKind::kGridUnseen, std::nullopt, *unseen});
  }
  for (const std::string& text : implausible) {
    accepted.job->Warn({jobs::WarningKind::kImplausibleHeader, std::nullopt, text});
  }
  for (jobs::JobWarning& warning : screened.warnings) accepted.job->Warn(std::move(warning));
  return accepted;
}

absl::StatusOr<AdmissionQuote> AcquisitionAdmission::Quote(AcquisitionRequest request) {
  ISO_ASSIGN_OR_RETURN(const Screened screened, Screen(request));
  AdmissionQuote quote{.active_jobs = parts_.scheduler.active_jobs(),
                       .holds_related_job = screened.known || screened.has_other_half};
  if (screened.known) return quote;
  const scheduler::Urgency urgency{request.job_class, parts_.Now() + request.deadline};
  auto forecast = parts_.runs.Predict(request, screened.grid, urgency);
  // What is done early costs no console its place: a scan that is announced is about to begin.
  while (absl::IsResourceExhausted(forecast.status()) && parts_.early.YieldOne()) {
    forecast = parts_.runs.Predict(request, screened.grid, urgency);
  }
  ISO_ASSIGN_OR_RETURN(quote.forecast, std::move(forecast));
  return quote;
}

jobs::Job AcquisitionAdmission::NewRecord(const AcquisitionRequest& request,
                                          const VolumeGrid& grid) const {
  const absl::Time now = parts_.Now();
  jobs::Job job;
  job.id = request.continues_job_id.empty() ? jobs::NewJobId(now) : request.continues_job_id;
  job.patient_study = request.patient_study;
  // A study that two nodes know has one time.
  const absl::Time begun = jobs::BeginOf(job.id).value_or(now);
  if (job.patient_study.study_date.empty()) {
    job.patient_study.study_date = absl::FormatTime("%Y%m%d", begun, absl::LocalTimeZone());
  }
  if (job.patient_study.study_time.empty()) {
    job.patient_study.study_time = absl::FormatTime("%H%M%S", begun, absl::LocalTimeZone());
  }
  job.order.is_reported = parts_.options.reports_procedure_steps;
  job.protocol = request.protocol;
  job.station_name = request.station_name;
  job.request_id = request.request_id;
  job.begun_by = request.caller;
  if (parts_.options.trace_parent_of) {
    job.trace_parent = parts_.options.trace_parent_of(job.id, request.trace_parent);
  }
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

absl::StatusOr<AcceptedJob> AcquisitionAdmission::Existing(const AcquisitionRequest& request,
                                                           const jobs::JobSnapshot& job) const {
  ISO_RETURN_IF_ERROR(CheckSameCaller(*job, request.caller));
  const absl::Status same = CheckSameAcquisition(*job, request);
  if (!same.ok()) {
    return Explained(
        same,
        request.request_id == job->request_id && !request.request_id.empty()
            ? absl::StrCat("request_id is '", request.request_id, "', which belongs to job '",
                           job->id, "' of another acquisition: ")
            : absl::StrCat("continues_job_id is '", job->id, "', a job of another acquisition: "),
        "; legal is an id that was never used");
  }
  return AcceptedJob{
      .job = parts_.active.Find<ReconstructionJob>(job->id), .snapshot = job, .is_proven = true};
}

absl::StatusOr<AcceptedJob> AcquisitionAdmission::Resume(const ResumeRequest& request) const {
  AcceptedJob accepted{.job = parts_.active.Find<ReconstructionJob>(request.job_id),
                       .is_proven = request.acquisition.has_value()};
  ISO_ASSIGN_OR_RETURN(accepted.snapshot, parts_.table.Get(request.job_id));
  ISO_RETURN_IF_ERROR(CheckSameCaller(*accepted.snapshot, request.caller));
  if (request.acquisition) {
    const absl::Status same = CheckSameAcquisition(*accepted.snapshot, *request.acquisition);
    if (!same.ok()) {
      return Explained(same,
                       absl::StrCat("resume.header is not that of job '", request.job_id, "': "),
                       "; legal is the header with which the job was begun");
    }
  }
  if (jobs::HasEnded(accepted.snapshot->state)) accepted.job = nullptr;
  return accepted;
}

}  // namespace isocenter::pipeline
