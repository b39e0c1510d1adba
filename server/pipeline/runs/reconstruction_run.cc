#include "server/pipeline/runs/reconstruction_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/status_macros.h"
#include "server/pipeline/runs/chunk_loader.h"

namespace isocenter::pipeline {
namespace {

// Consoles want four a second of a GPU and one of a CPU; more would only cost.
constexpr absl::Duration kBetweenPreviews = absl::Milliseconds(180);

jobs::PreviewPlane Shown(const recon::PreviewPlane& plane) {
  const VolumeGrid& grid = plane.grid;
  jobs::PreviewPlane shown;
  switch (plane.orientation) {
    case recon::PlaneOrientation::kAxial:
      shown = {jobs::PlaneOrientation::kAxial, grid.nx, grid.ny, grid.spacing.x, grid.spacing.y};
      break;
    case recon::PlaneOrientation::kCoronal:
      shown = {jobs::PlaneOrientation::kCoronal, grid.nx, grid.nz, grid.spacing.x, grid.spacing.z};
      break;
    case recon::PlaneOrientation::kSagittal:
      shown = {jobs::PlaneOrientation::kSagittal, grid.ny, grid.nz, grid.spacing.y, grid.spacing.z};
      break;
  }
  shown.hounsfield.reserve(plane.hounsfield.size());
  for (const float value : plane.hounsfield) {
    shown.hounsfield.push_back(
        static_cast<int16_t>(std::lround(std::clamp(value, -32768.0F, 32767.0F))));
  }
  return shown;
}

}  // namespace

ReconstructionRun::ReconstructionRun(std::unique_ptr<const recon::ReconstructionPlan> plan,
                                     const RunPlace& place, scheduler::Admission admission,
                                     const scheduler::Urgency& urgency, absl::Time predicted_finish)
    : Run(place, urgency),
      plan_(std::move(plan)),
      completion_(place.completer.NewLane(urgency)),
      somebody_waits_(urgency.job_class != jobs::JobClass::kBatch),
      predicted_seconds_(place.slot.cost.PredictSeconds(plan_->voxel_updates)),
      predicted_finish_(predicted_finish),
      admission_(std::move(admission)),
      workload_(place.slot.backlog.Add(urgency.job_class, plan_->voxel_updates)),
      slices_(std::make_shared<SliceGate>(plan_->grid.nz)) {}

absl::StatusOr<std::shared_ptr<ReconstructionRun>> ReconstructionRun::Create(
    std::unique_ptr<const recon::ReconstructionPlan> plan, const RunPlace& place,
    scheduler::Admission admission, const ops::Registry& registry,
    const scheduler::Urgency& urgency, absl::Time predicted_finish) {
  std::shared_ptr<ReconstructionRun> run(new ReconstructionRun(
      std::move(plan), place, std::move(admission), urgency, predicted_finish));
  ISO_ASSIGN_OR_RETURN(
      run->reconstructor_,
      recon::Reconstructor::Create(
          *run->plan_, registry, place.devices,
          {.urgent = urgency.job_class == jobs::JobClass::kLive, .preview = run->somebody_waits_}));
  ops::Device& device = *place.devices[0];
  ISO_ASSIGN_OR_RETURN(run->chunk_, device.NewHostMemory(recon::LargestChunk(*run->plan_) *
                                                         FrameBytes(run->plan_->acquisition)));
  ISO_ASSIGN_OR_RETURN(run->volume_, device.NewHostMemory(recon::VolumeBytes(run->plan_->grid)));
  return run;
}

absl::Status ReconstructionRun::Push(jobs::JobSpool& spool, std::span<const ViewSource> sources) {
  const int views = static_cast<int>(sources.size());
  const recon::Acquisition& acquisition = plan_->acquisition;
  const std::span<std::byte> pixels(chunk_->data(), views * FrameBytes(acquisition));
  ISO_RETURN_IF_ERROR(LoadChunk(spool, acquisition, sources, pixels, measured_));
  ISO_RETURN_IF_ERROR(reconstructor_->Push(AsFrames(acquisition, views, pixels), measured_.matrices,
                                           measured_.doses));
  frames_pushed_ += views;
  // A device goes on working after the call. Where others are to go first, a batch job has no more
  // than one chunk there.
  if (!somebody_waits_ && place_.slot.backlog.Ahead(jobs::JobClass::kInteractive) > 0) {
    ISO_RETURN_IF_ERROR(TakeTrace());
  }
  workload_.Done(static_cast<double>(plan_->grid.voxels()) * views);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const jobs::Preview>> ReconstructionRun::PreviewIfDue() {
  const absl::Time now = place_.clock();
  if (!somebody_waits_ || now - last_preview_ < kBetweenPreviews) return nullptr;
  last_preview_ = now;
  ISO_ASSIGN_OR_RETURN(const std::vector<recon::PreviewPlane> planes,
                       reconstructor_->TakePreview());
  auto preview = std::make_shared<jobs::Preview>();
  preview->frames_backprojected = frames_pushed_;
  for (const recon::PreviewPlane& plane : planes) preview->planes.push_back(Shown(plane));
  return preview;
}

absl::Status ReconstructionRun::TakeTrace() {
  ISO_ASSIGN_OR_RETURN(const std::vector<recon::DeviceSpan> spans, reconstructor_->TakeTrace());
  trace_.insert(trace_.end(), spans.begin(), spans.end());
  return absl::OkStatus();
}

absl::StatusOr<bool> ReconstructionRun::FinishStep() {
  return reconstructor_->FinishStep(
      volume(), [slices = slices_](int first, int count) { slices->Arrived(first, count); });
}

absl::StatusOr<absl::Time> ReconstructionRun::Complete() {
  ISO_RETURN_IF_ERROR(reconstructor_->AwaitFinish());
  const absl::Time complete = place_.clock();
  ISO_RETURN_IF_ERROR(TakeTrace());
  reconstructor_.reset();
  chunk_.reset();
  workload_ = scheduler::Workload();
  admission_.ShrinkToHost(recon::VolumeBytes(plan_->grid));
  return complete;
}

}  // namespace isocenter::pipeline
