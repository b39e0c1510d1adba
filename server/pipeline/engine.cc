#include "server/pipeline/engine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "server/pipeline/facts.h"
#include "spdlog/spdlog.h"

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

/// What planning itself takes: the redundancy table in float64 and its float32 copy in the plan.
int64_t PlanningBytes(const recon::Acquisition& acquisition) {
  return static_cast<int64_t>(acquisition.trajectory.size()) * acquisition.detector.columns *
         static_cast<int64_t>(sizeof(double) + sizeof(float));
}

int64_t VolumeBytes(const VolumeGrid& grid) {
  return grid.voxels() * static_cast<int64_t>(sizeof(float));
}

/// Everything that a job holds in the host's memory at once, beyond a few kilobytes. Two frames are
/// on their way through the wire's layers.
int64_t HostBytes(const recon::ReconstructionPlan& plan) {
  return ChunkAssembler::BufferBytes(plan) + plan.kept_frames_bytes +
         2 * FrameBytes(plan.acquisition) + VolumeBytes(plan.grid) +
         static_cast<int64_t>(plan.column_weight.size() * sizeof(float));
}

}  // namespace

Engine::Engine(const ops::Registry& registry, std::vector<SlotDevices> devices,
               scheduler::Scheduler& scheduler, jobs::JobTable& table, jobs::ResultStore& results,
               jobs::JobObserver& observer)
    : registry_(registry),
      devices_(std::move(devices)),
      scheduler_(scheduler),
      table_(table),
      results_(results),
      observer_(observer) {}

Engine::~Engine() {
  StopAdmitting();
  CancelAll(absl::UnavailableError("the service stopped"));
  WaitUntilIdle(absl::InfiniteFuture());
}

void Engine::Accept(AcquisitionRequest request, std::function<bool()> wanted,
                    std::function<void()> room, AcceptDone done) {
  admission_lane_->Submit([this, request = std::move(request), wanted = std::move(wanted),
                           room = std::move(room), done = std::move(done)] {
    if (wanted()) {
      done(AcceptNow(request, room));
    } else {
      done(absl::CancelledError("the console left before its acquisition was planned"));
    }
  });
}

absl::StatusOr<Engine::Accepted> Engine::AcceptNow(const AcquisitionRequest& request,
                                                   std::function<void()> room) {
  {
    absl::MutexLock lock(&mutex_);
    if (!admitting_) return ShuttingDown();
  }
  if (!request.request_id.empty()) {
    const jobs::JobSnapshot job = table_.FindByRequestId(request.request_id);
    if (job != nullptr) return Existing(request, job);
  }
  ISO_RETURN_IF_ERROR(recon::ValidateAcquisition(request.acquisition));
  ISO_ASSIGN_OR_RETURN(const VolumeGrid grid, ResolveGrid(request));

  const std::vector<scheduler::Forecast> ranked =
      scheduler_.Rank(static_cast<double>(grid.voxels()) *
                          static_cast<double>(request.acquisition.trajectory.size()),
                      jobs::JobClass::kLive);
  if (ranked.empty()) {
    return absl::UnavailableError("all devices are out of service; use another service");
  }
  const int slot_index = ranked.front().slot;
  scheduler::DeviceSlot& slot = *scheduler_.slots()[slot_index];
  const SlotDevices& devices = devices_[slot_index];
  const std::vector<const ops::Device*> planned(devices.begin(), devices.end());
  std::unique_ptr<const recon::ReconstructionPlan> plan;
  {
    // Refuses what is hopeless before it costs time, and accounts for the planning.
    const int64_t on_device = devices[0]->traits().own_memory ? 0 : VolumeBytes(grid);
    ISO_ASSIGN_OR_RETURN(const scheduler::Admission planning,
                         scheduler_.Admit(slot_index, on_device,
                                          PlanningBytes(request.acquisition) + VolumeBytes(grid)));
    ISO_ASSIGN_OR_RETURN(recon::ReconstructionPlan made,
                         recon::MakePlan(request.acquisition, grid, request.settings, planned));
    plan = std::make_unique<const recon::ReconstructionPlan>(std::move(made));
  }
  const int64_t host_bytes = HostBytes(*plan);
  ISO_ASSIGN_OR_RETURN(scheduler::Admission admission,
                       scheduler_.Admit(slot_index, plan->peak_bytes, host_bytes));
  // Better to refuse now than to lose a scan of the patient at its end.
  ISO_RETURN_IF_ERROR(results_.CheckRoom(grid));
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<recon::Reconstructor> reconstructor,
                       recon::Reconstructor::Create(*plan, registry_, devices));
  HostBuffers buffers;
  ISO_ASSIGN_OR_RETURN(buffers.frames, ChunkAssembler::Allocate(*plan, *devices[0]));
  ISO_ASSIGN_OR_RETURN(buffers.volume, devices[0]->NewHostMemory(VolumeBytes(grid)));

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
  job.facts = FactsOf(*plan);
  job.facts.tube_voltage_kv = request.tube_voltage_kv;
  job.facts.body_part_examined = request.body_part_examined;
  job.facts.series_description = request.series_description;
  job.protocol = request.protocol;
  job.station_name = request.station_name;
  job.request_id = request.request_id;
  job.grid = grid;
  job.progress.frames_total = plan->views();
  job.progress.slices_total = grid.nz;
  job.result.backend = std::string(devices[0]->backend());
  job.create_time = now;

  Accepted accepted{.peak_bytes = plan->peak_bytes + host_bytes,
                    .predicted_seconds = slot.cost.PredictSeconds(plan->voxel_updates)};
  accepted.job = std::make_shared<ReconstructionJob>(
      job.id, JobEnvironment{table_, results_, observer_, slot, exporter_}, std::move(admission),
      std::move(plan), std::move(reconstructor), std::move(buffers), std::move(room),
      [this, id = job.id] { Forget(id); });
  {
    absl::MutexLock lock(&mutex_);
    if (!admitting_) return ShuttingDown();
    active_[job.id] = accepted.job;
  }
  const absl::Status inserted = table_.Insert(job);
  if (!inserted.ok()) {
    Forget(job.id);
    return inserted;
  }
  accepted.snapshot = std::make_shared<const jobs::Job>(job);
  spdlog::info(
      "event=job_accepted job={} protocol={} station={} frames={} detector={}x{} grid={}x{}x{} "
      "device_bytes={} host_bytes={} predicted_seconds={:.2f}",
      job.id, job.protocol, job.station_name, job.progress.frames_total,
      request.acquisition.detector.columns, request.acquisition.detector.rows, grid.nx, grid.ny,
      grid.nz, accepted.peak_bytes - host_bytes, host_bytes, accepted.predicted_seconds);
  return accepted;
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
  return Accepted{.snapshot = job};
}

absl::Status Engine::Cancel(const std::string& job_id, const absl::Status& why) {
  std::shared_ptr<ReconstructionJob> job;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = active_.find(job_id);
    if (found != active_.end()) job = found->second;
  }
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot snapshot, table_.Get(job_id));
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
  absl::MutexLock lock(&mutex_);
  auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return active_.empty(); };
  return mutex_.AwaitWithDeadline(absl::Condition(&idle), deadline);
}

void Engine::CancelAll(const absl::Status& why) {
  std::vector<std::shared_ptr<ReconstructionJob>> jobs;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, job] : active_) jobs.push_back(job);
  }
  for (const auto& job : jobs) job->Cancel(why);
}

void Engine::Forget(const std::string& job_id) {
  std::shared_ptr<ReconstructionJob> last;  // destroyed after the lock is given back
  absl::MutexLock lock(&mutex_);
  const auto found = active_.find(job_id);
  if (found == active_.end()) return;
  last = std::move(found->second);
  active_.erase(found);
}

}  // namespace isocenter::pipeline
