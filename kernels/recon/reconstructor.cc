#include "kernels/recon/reconstructor.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"

namespace isocenter::recon {
namespace {

// Adds the time until its end to a stage. The device is synchronised first, so that the time is the
// stage's own.
class StageTimer {
 public:
  StageTimer(ops::Device& device, double& seconds)
      : device_(device), seconds_(seconds), start_(std::chrono::steady_clock::now()) {}
  absl::Status Stop() {
    const absl::Status status = device_.Synchronize();
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return status;
  }

 private:
  ops::Device& device_;
  double& seconds_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Reconstructor>> Reconstructor::Create(const ReconstructionPlan& plan,
                                                                     const ops::Registry& registry,
                                                                     ops::Device& device) {
  std::unique_ptr<Reconstructor> self(new Reconstructor(plan, device));
  const Detector& detector = plan.acquisition.detector;
  const ops::RampFilterSpec filter{.rows = detector.rows,
                                   .columns = detector.columns,
                                   .window = plan.settings.window,
                                   .cutoff = plan.settings.cutoff,
                                   .extend_truncated_rows = plan.settings.extend_truncated_rows};
  const absl::string_view backend = device.backend();
  ISO_ASSIGN_OR_RETURN(const auto new_preprocess, registry.preprocess.Find(backend));
  ISO_ASSIGN_OR_RETURN(const auto new_ramp_filter, registry.ramp_filter.Find(backend));
  ISO_ASSIGN_OR_RETURN(const auto new_backproject,
                       registry.backproject.Find(backend, plan.settings.backproject_method,
                                                 plan.settings.precision));
  ISO_ASSIGN_OR_RETURN(const auto new_to_hounsfield, registry.to_hounsfield.Find(backend));
  ISO_ASSIGN_OR_RETURN(self->preprocess_, new_preprocess(device));
  ISO_ASSIGN_OR_RETURN(self->ramp_filter_, new_ramp_filter(device, filter));
  ISO_ASSIGN_OR_RETURN(self->backproject_, new_backproject(device));
  ISO_ASSIGN_OR_RETURN(self->to_hounsfield_, new_to_hounsfield(device));

  int views = 0;
  for (const Chunk& chunk : plan.chunks) views = std::max(views, chunk.views);
  const Shape3 shape{views, detector.rows, detector.columns};
  ISO_ASSIGN_OR_RETURN(self->line_integrals_,
                       device.NewProjectionStack(shape, ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(self->filtered_, device.NewProjectionStack(shape, ops::StackUse::kFiltered));
  ISO_ASSIGN_OR_RETURN(self->volume_, device.NewVolume(plan.grid));
  return self;
}

absl::Status Reconstructor::Push(const ops::RawFrames& frames,
                                 std::span<const ProjectionMatrix> measured) {
  if (next_chunk_ >= static_cast<int>(plan_.chunks.size())) {
    return absl::FailedPreconditionError("all chunks of the plan have been pushed");
  }
  const Chunk chunk = plan_.chunks[next_chunk_];
  const Acquisition& acquisition = plan_.acquisition;
  ISO_RETURN_IF_ERROR(ops::CheckSameShape(
      "frames", frames.shape(),
      Shape3{chunk.views, acquisition.detector.rows, acquisition.detector.columns}));
  if ((frames.counts.data() != nullptr) != (acquisition.pixel_type == PixelType::kUint16Counts)) {
    return absl::InvalidArgumentError("the frames are not of the plan's pixel type");
  }
  if (!measured.empty() && static_cast<int>(measured.size()) != chunk.views) {
    return absl::InvalidArgumentError(
        absl::StrCat(measured.size(), " measured matrices for a chunk of ", chunk.views, " views"));
  }
  const std::span<const ProjectionMatrix> matrices =
      measured.empty() ? std::span(acquisition.trajectory).subspan(chunk.first_view, chunk.views)
                       : measured;

  const int columns = acquisition.detector.columns;
  std::vector<ops::ViewWeights> weights(chunk.views);
  for (int i = 0; i < chunk.views; ++i) {
    weights[i].matrix = matrices[i];
    weights[i].column_weight =
        std::span(plan_.column_weight)
            .subspan(static_cast<size_t>(chunk.first_view + i) * columns, columns);
  }

  StageTimer preprocess(device_, seconds_.preprocess);
  ISO_RETURN_IF_ERROR(preprocess_->Run(frames, ops::CountRange{.i0 = acquisition.i0_counts},
                                       weights, *line_integrals_));
  ISO_RETURN_IF_ERROR(preprocess.Stop());
  StageTimer filter(device_, seconds_.filter);
  ISO_RETURN_IF_ERROR(ramp_filter_->Run(chunk.views, *line_integrals_, *filtered_));
  ISO_RETURN_IF_ERROR(filter.Stop());
  StageTimer backproject(device_, seconds_.backproject);
  ISO_RETURN_IF_ERROR(backproject_->Run(matrices, *filtered_, *volume_));
  ISO_RETURN_IF_ERROR(backproject.Stop());
  ++next_chunk_;
  return absl::OkStatus();
}

absl::Status Reconstructor::Finish() {
  if (finished_)
    return absl::FailedPreconditionError("the reconstruction has been finished already");
  if (next_chunk_ < static_cast<int>(plan_.chunks.size())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "only ", next_chunk_, " of ", plan_.chunks.size(), " chunks have been pushed"));
  }
  StageTimer hounsfield(device_, seconds_.hounsfield);
  ISO_RETURN_IF_ERROR(to_hounsfield_->Run(plan_.settings.mu_water_per_mm, *volume_));
  ISO_RETURN_IF_ERROR(hounsfield.Stop());
  finished_ = true;
  return absl::OkStatus();
}

absl::Status Reconstructor::ReadSlices(int64_t first_slice, HostView3<float> slices) const {
  if (!finished_) return absl::FailedPreconditionError("the reconstruction has not been finished");
  return volume_->Download(first_slice, slices);
}

absl::StatusOr<StageSeconds> ReconstructAll(const ReconstructionPlan& plan,
                                            const ops::Registry& registry, ops::Device& device,
                                            const ops::RawFrames& frames, HostView3<float> volume) {
  const Detector& detector = plan.acquisition.detector;
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("frames", frames.shape(),
                                          Shape3{plan.views(), detector.rows, detector.columns}));
  ISO_ASSIGN_OR_RETURN(const auto reconstructor, Reconstructor::Create(plan, registry, device));
  for (const Chunk& chunk : plan.chunks) {
    ops::RawFrames part;
    if (frames.counts.data() != nullptr) {
      part.counts = frames.counts.slices(chunk.first_view, chunk.views);
    } else {
      part.line_integrals = frames.line_integrals.slices(chunk.first_view, chunk.views);
    }
    ISO_RETURN_IF_ERROR(reconstructor->Push(part));
  }
  ISO_RETURN_IF_ERROR(reconstructor->Finish());
  ISO_RETURN_IF_ERROR(reconstructor->ReadSlices(0, volume));
  return reconstructor->seconds();
}

}  // namespace isocenter::recon
