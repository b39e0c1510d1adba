#include "server/pipeline/engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/ops/device_lost.h"
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

/// Holds one half of a pair against the other, from which it takes what it does not say itself.
absl::Status JoinPair(const jobs::JobTable& table, AcquisitionRequest& request) {
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
  if (Failed(other)) return absl::OkStatus();
  if (other->facts.trajectory_hash != TrajectoryHash(request.acquisition.trajectory)) {
    return illegal(absl::StrCat("but the planned trajectory is not that of job '", other->id,
                                "'; legal is the same trajectory for both halves"));
  }
  if (other->patient_study.patient_id != request.patient_study.patient_id) {
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
  return absl::OkStatus();
}

}  // namespace

Engine::Engine(const EngineEnvironment& environment, std::vector<SlotDevices> devices,
               EngineOptions options)
    : environment_(environment),
      options_(std::move(options)),
      runs_(environment.registry, environment.scheduler, std::move(devices),
            [this](scheduler::DeviceSlot& slot, const absl::Status& why) {
              LoseSlot(slot, why);
              ReplaceLostRuns();
            }),
      consoles_([this] { WatchConsoles(); }) {}

Engine::~Engine() {
  StopAdmitting();
  // What is being accepted at this moment becomes active first.
  absl::Notification accepted;
  admission_lane_->Submit([&accepted] { accepted.Notify(); });
  accepted.WaitForNotification();
  SuspendAll();
  {
    absl::MutexLock lock(&mutex_);
    auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return active_.empty() && runs_being_freed_ == 0;
    };
    mutex_.Await(absl::Condition(&idle));
    stopping_ = true;
  }
  consoles_.join();
}

JobEnvironment Engine::EnvironmentOf(jobs::JobClass job_class) {
  return {.table = environment_.table,
          .results = environment_.results,
          .observer = environment_.observer,
          .keeper = *this,
          .exporter = job_class == jobs::JobClass::kLive ? live_exporter_ : exporter_,
          .reconnect_limit = options_.reconnect_limit};
}

// ---- Admission ---------------------------------------------------------------------------------

void Engine::Accept(AcquisitionRequest request, std::function<bool()> wanted, AcceptDone done) {
  auto shared = std::make_shared<AcquisitionRequest>(std::move(request));
  admission_lane_->Submit([this, shared, wanted = std::move(wanted), done = std::move(done)] {
    if (wanted()) {
      done(AcceptNow(std::move(*shared)));
    } else {
      done(absl::CancelledError("the console left before its acquisition was planned"));
    }
  });
}

absl::StatusOr<Engine::Accepted> Engine::AcceptNow(AcquisitionRequest request) {
  {
    absl::MutexLock lock(&mutex_);
    if (!admitting_) return ShuttingDown();
  }
  if (!request.request_id.empty()) {
    const jobs::JobSnapshot job = environment_.table.FindByRequestId(request.request_id);
    if (job != nullptr) return Existing(request, job);
  }
  ISO_RETURN_IF_ERROR(recon::ValidateAcquisition(request.acquisition));
  if (!request.pair_id.empty()) ISO_RETURN_IF_ERROR(JoinPair(environment_.table, request));
  ISO_ASSIGN_OR_RETURN(const VolumeGrid grid, ResolveGrid(request));
  // Better to refuse now than to lose a scan of the patient at its end.
  ISO_RETURN_IF_ERROR(MakeRoomFor(grid));

  const absl::Time now = absl::Now();
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<ReconstructionRun> run,
                       runs_.Make(request, grid, {request.job_class, now + request.deadline}));
  jobs::Job job = NewJob(request, grid);
  job.facts = FactsOf(run->plan());
  job.facts.tube_voltage_kv = request.tube_voltage_kv;
  job.facts.body_part_examined = request.body_part_examined;
  job.facts.series_description = request.series_description;
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
  AddActive(accepted.job);
  accepted.job->StartRun(run);
  accepted.snapshot = std::make_shared<const jobs::Job>(job);
  const AcquisitionRequest& kept = accepted.job->request();
  spdlog::info(
      "event=job_accepted job={} protocol={} station={} class={} frames={} detector={}x{} "
      "grid={}x{}x{} slot={} device_bytes={} host_bytes={} predicted_seconds={:.2f}",
      job.id, job.protocol, job.station_name, std::string(jobs::Name(job.job_class)),
      job.progress.frames_total, kept.acquisition.detector.columns, kept.acquisition.detector.rows,
      grid.nx, grid.ny, grid.nz, run->slot().name, run->plan().peak_bytes,
      ReconstructionRun::HostBytes(run->plan()), accepted.predicted_seconds);
  if (const auto warning = ShortArcWarning(run->plan())) accepted.job->Warn(*warning);
  return accepted;
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
  job.protocol = request.protocol;
  job.station_name = request.station_name;
  job.request_id = request.request_id;
  job.job_class = request.job_class;
  job.deadline = now + request.deadline;
  job.pair_id = request.pair_id;
  job.pair_role = request.pair_role;
  job.grid = grid;
  job.progress.frames_total = static_cast<int>(request.acquisition.trajectory.size());
  job.progress.slices_total = grid.nz;
  job.create_time = now;
  return job;
}

absl::StatusOr<Engine::Accepted> Engine::Existing(const AcquisitionRequest& request,
                                                  const jobs::JobSnapshot& job) const {
  if (job->protocol != request.protocol ||
      job->patient_study.patient_id != request.patient_study.patient_id ||
      job->patient_study.accession_number != request.patient_study.accession_number ||
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

// ---- After a restart ---------------------------------------------------------------------------

void Engine::Recover(const RequestDecoder& decode) {
  for (const std::string& id : environment_.spool.Jobs()) {
    const absl::StatusOr<jobs::JobSnapshot> job = environment_.table.Get(id);
    if (!job.ok()) {
      (void)environment_.spool.Remove(id);  // nobody was told that it was accepted
    } else if (jobs::HasEnded((*job)->state)) {
      environment_.spool.Release(id);
    } else if (const absl::Status status = RecoverJob(**job, decode); !status.ok()) {
      spdlog::error("event=recovery_failed job={} error=\"{}\"", id, status.ToString());
      (void)environment_.table.Transition(id, JobState::kFailed, [&](jobs::Job& changed) {
        changed.error = status;
        changed.end_time = absl::Now();
      });
      environment_.spool.Release(id);
    }
  }
  const auto all = environment_.table.List({}, std::nullopt, std::numeric_limits<int>::max());
  for (const jobs::JobSnapshot& job : all) {
    if (job->pair_role == jobs::PairRole::kSubtraction && !jobs::HasEnded(job->state)) {
      // Begun anew below.
      (void)environment_.table.Transition(job->id, JobState::kFailed);
      (void)environment_.table.Delete(job->id);
    }
  }
  for (const jobs::JobSnapshot& job : all) {
    if (job->pair_role == jobs::PairRole::kFill) SubmitSubtraction(job->pair_id);
  }
  admission_lane_->Submit([this] { StartWaiting(); });
}

absl::Status Engine::RecoverJob(const jobs::Job& job, const RequestDecoder& decode) {
  const absl::StatusOr<jobs::StoredSeries> stored = environment_.results.Find(job);
  if (stored.ok()) return CompleteStored(job, *stored);
  ISO_ASSIGN_OR_RETURN(const std::shared_ptr<jobs::JobSpool> spool,
                       environment_.spool.Open(job.id));
  ISO_ASSIGN_OR_RETURN(AcquisitionRequest request, decode(spool->acquisition()));
  if (job.state != JobState::kReceiving) {
    ISO_RETURN_IF_ERROR(environment_.table.Transition(job.id, JobState::kReceiving));
  }
  auto recovered = std::make_shared<ReconstructionJob>(job.id, std::move(request), job.grid, spool,
                                                       EnvironmentOf(job.job_class));
  const ReconstructionJob::Input input = recovered->input();
  environment_.table.Update(job.id, [&](jobs::Job& changed) {
    changed.progress.frames_received = input.present;
    changed.progress.frames_lost = input.lost;
    changed.progress.frames_backprojected = 0;
    changed.progress.slices_exported = 0;
  });
  spdlog::info("event=job_recovered job={} frames={} of={}", job.id, input.present,
               job.progress.frames_total);
  environment_.observer.OnJobResumed("restart");
  // What was warned of since the job was last saved is not known any more.
  if (input.lost > 0 && std::ranges::none_of(job.warnings, [](const jobs::JobWarning& warning) {
        return warning.kind == jobs::WarningKind::kFrameGap;
      })) {
    recovered->Warn({jobs::WarningKind::kFrameGap, std::nullopt,
                     absl::StrCat(input.lost, " of ", job.progress.frames_total,
                                  " frames were given up before the service was started again")});
  }
  AddActive(recovered);
  return absl::OkStatus();
}

absl::Status Engine::CompleteStored(const jobs::Job& job, const jobs::StoredSeries& stored) {
  for (const JobState state : {JobState::kReconstructing, JobState::kExporting}) {
    if (job.state < state) ISO_RETURN_IF_ERROR(environment_.table.Transition(job.id, state));
  }
  ISO_RETURN_IF_ERROR(
      environment_.table.Transition(job.id, JobState::kCompleted, [&](jobs::Job& changed) {
        changed.end_time = absl::Now();
        jobs::RecordStored(stored, changed);
        changed.progress.frames_received = changed.progress.frames_backprojected =
            changed.progress.frames_total;
      }));
  environment_.spool.Release(job.id);
  return absl::OkStatus();
}

void Engine::StartWaiting() {
  std::vector<std::shared_ptr<ReconstructionJob>> waiting = ActiveJobs();
  std::erase_if(waiting, [](const auto& job) { return job->run() != nullptr; });
  std::ranges::sort(waiting, [](const auto& a, const auto& b) {
    return std::pair(a->urgency().job_class, a->urgency().deadline) <
           std::pair(b->urgency().job_class, b->urgency().deadline);
  });
  for (const auto& job : waiting) {
    auto run = runs_.Make(job->request(), job->grid(), job->urgency());
    if (run.ok()) {
      const std::string backend((*run)->devices()[0]->backend());
      environment_.table.Update(job->id(),
                                [&](jobs::Job& changed) { changed.result.backend = backend; });
      job->StartRun(*std::move(run));
    } else if (!absl::IsResourceExhausted(run.status()) && !absl::IsUnavailable(run.status())) {
      job->Fail(run.status());
    }
  }
}

// ---- What the jobs report ----------------------------------------------------------------------

absl::Status Engine::MakeRoomFor(const VolumeGrid& grid) {
  absl::Status room = environment_.results.CheckRoom(grid);
  if (!absl::IsResourceExhausted(room)) return room;
  // Results matter more than the frames of jobs that have ended.
  environment_.spool.FreeDisk(2 * ReconstructionRun::VolumeBytes(grid));
  return environment_.results.CheckRoom(grid);
}

absl::Status Engine::BeforeChunk(ReconstructionRun& run) {
  if (!options_.fault || run.slot().name != options_.fault->slot) return absl::OkStatus();
  if (chunks_on_faulty_slot_++ != options_.fault->chunks) return absl::OkStatus();
  spdlog::warn("event=fault_injected slot={}", run.slot().name);
  return run.devices()[0]->Break();
}

void Engine::OnDeviceLost(ReconstructionRun& run, const absl::Status& why) {
  std::vector<scheduler::DeviceSlot*> slots = runs_.SlotsOf(run);
  if (slots.size() > 1) {
    std::erase_if(slots, [&](scheduler::DeviceSlot* slot) { return !runs_.IsLost(*slot); });
    if (slots.empty()) slots = {&run.slot()};
  }
  for (scheduler::DeviceSlot* slot : slots) LoseSlot(*slot, why);
  ReplaceLostRuns();
}

void Engine::LoseSlot(scheduler::DeviceSlot& slot, const absl::Status& why) {
  if (!slot.healthy()) return;
  slot.Quarantine(std::string(why.message()));
  spdlog::error("event=device_lost slot={} error=\"{}\"", slot.name, why.ToString());
  environment_.observer.OnDeviceLost(slot.name);
}

void Engine::ReplaceLostRuns() {
  for (const auto& job : ActiveJobs()) {
    std::shared_ptr<ReconstructionRun> dropped = job->run();
    if (dropped == nullptr) continue;
    const auto used = runs_.SlotsOf(*dropped);
    if (std::ranges::all_of(used, [](const auto* slot) { return slot->healthy(); })) continue;
    if (job->DropRun() == nullptr) continue;
    {
      absl::MutexLock lock(&mutex_);
      ++runs_being_freed_;
    }
    FreeOnSlotThread(std::move(dropped), [this] {
      absl::MutexLock lock(&mutex_);
      --runs_being_freed_;
    });
    job->Warn({jobs::WarningKind::kDeviceReplaced, std::nullopt,
               "a device failed; the job is computed again from its frames"});
    environment_.observer.OnJobResumed("device");
  }
  if (environment_.scheduler.healthy_slots() > 0) {
    admission_lane_->Submit([this] { StartWaiting(); });
  } else if (!no_device_reported_.exchange(true) && options_.no_device_left) {
    options_.no_device_left();
  }
}

void Engine::OnConsoleLeft() {
  absl::MutexLock lock(&mutex_);
  consoles_changed_ = true;
}

void Engine::WatchConsoles() {
  pthread_setname_np(pthread_self(), "iso-consoles");
  while (true) {
    absl::Time earliest = absl::InfiniteFuture();
    for (const auto& job : ActiveJobs()) {
      if (job->console_deadline() <= absl::Now()) job->GiveUpConsole();
      earliest = std::min(earliest, job->console_deadline());
    }
    absl::MutexLock lock(&mutex_);
    auto news = [this]()
                    ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || consoles_changed_; };
    mutex_.AwaitWithDeadline(absl::Condition(&news), earliest);
    if (stopping_) return;
    consoles_changed_ = false;
  }
}

void Engine::OnJobEnded(ReconstructionJob& job) {
  const absl::StatusOr<jobs::JobSnapshot> snapshot = environment_.table.Get(job.id());
  const bool suspended = snapshot.ok() && !jobs::HasEnded((*snapshot)->state);
  if (!suspended) environment_.spool.Release(job.id());
  const std::string pair_id = job.request().pair_id;
  std::shared_ptr<ReconstructionJob> last;  // destroyed after the lock is given back
  bool others_wait = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = active_.find(job.id());
    if (found == active_.end()) return;
    last = std::move(found->second);
    if (!suspended && !pair_id.empty()) {
      SubmitSubtraction(pair_id);
    }
    for (const auto& [id, other] : active_) others_wait |= other != nullptr && !other->run();
    if (others_wait && admitting_) admission_lane_->Submit([this] { StartWaiting(); });
    active_.erase(found);
  }
}

void Engine::SubmitSubtraction(const std::string& pair_id) {
  exporter_.NewLane({jobs::JobClass::kInteractive})->Submit([this, pair_id] {
    SubtractIfComplete(pair_id);
  });
}

void Engine::SubtractIfComplete(const std::string& pair_id) {
  const Pair pair = FindPair(environment_.table, pair_id);
  const auto completed = [](const jobs::JobSnapshot& job) {
    return job != nullptr && job->state == JobState::kCompleted;
  };
  if (!completed(pair.mask) || !completed(pair.fill) || pair.subtraction != nullptr) return;
  const absl::Status status = Subtract(pair, environment_.table, environment_.results,
                                       environment_.scheduler.slots()[0]->host_memory);
  if (!status.ok()) {
    spdlog::error("event=subtraction_failed pair={} error=\"{}\"", pair_id, status.ToString());
  }
}

// ---- Cancel and stop ---------------------------------------------------------------------------

absl::Status Engine::Cancel(const std::string& job_id, const absl::Status& why) {
  const std::shared_ptr<ReconstructionJob> job = FindActive(job_id);
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot snapshot, environment_.table.Get(job_id));
  if (job == nullptr || jobs::HasEnded(snapshot->state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job '", job_id, "' has ended already: it is ", std::string(jobs::Name(snapshot->state))));
  }
  job->Cancel(why);
  return absl::OkStatus();
}

void Engine::StopAdmitting() {
  absl::MutexLock lock(&mutex_);
  admitting_ = false;
}

bool Engine::WaitUntilIdle(absl::Time deadline) {
  for (const auto& job : ActiveJobs()) {
    if (job->console_deadline() < absl::InfiniteFuture()) job->Suspend();
  }
  absl::MutexLock lock(&mutex_);
  auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return active_.empty(); };
  return mutex_.AwaitWithDeadline(absl::Condition(&idle), deadline);
}

void Engine::SuspendAll() {
  for (const auto& job : ActiveJobs()) job->Suspend();
}

std::shared_ptr<ReconstructionJob> Engine::FindActive(const std::string& job_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = active_.find(job_id);
  return found == active_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<ReconstructionJob>> Engine::ActiveJobs() const {
  std::vector<std::shared_ptr<ReconstructionJob>> jobs;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, job] : active_) jobs.push_back(job);
  return jobs;
}

}  // namespace isocenter::pipeline
