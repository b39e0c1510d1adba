#include "kernels/recon/second_pass/line_correction.h"

#include <algorithm>

#include "kernels/base/status_macros.h"
#include "kernels/recon/stage_scope.h"

namespace isocenter::recon {
namespace {

// A ray sees metal where it passes this share of a voxel of the least metal.
constexpr double kLeastMetalShare = 0.1;

double LeastMetal(const SecondPassPlan& plan) {
  const Vec3& spacing = plan.grid.spacing;
  return kLeastMetalShare * std::min({spacing.x, spacing.y, spacing.z}) *
         plan.settings.metal->metal_edge_hu;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LineCorrection>> LineCorrection::Create(
    const SecondPassPlan& plan, const ops::Registry& registry, ops::Device& device) {
  std::unique_ptr<LineCorrection> self(new LineCorrection(plan));
  ISO_ASSIGN_OR_RETURN(self->session_, device.NewSession());
  ops::Session& session = *self->session_;
  ISO_ASSIGN_OR_RETURN(const SecondPassMethods methods,
                       SecondPassMethods::Find(registry, session.backend()));
  ISO_ASSIGN_OR_RETURN(self->volume_, session.NewVolume(SlicesOf(plan.grid, 0, plan.slab_slices)));
  const Detector& detector = plan.acquisition.detector;
  const Shape3 shape{plan.chunk_views, detector.rows, detector.columns};
  ISO_ASSIGN_OR_RETURN(self->projections_,
                       session.NewProjectionStack(shape, ops::StackUse::kProjections));
  for (auto* stack : {&self->first_, &self->second_, &self->frames_}) {
    ISO_ASSIGN_OR_RETURN(*stack, session.NewProjectionStack(shape, ops::StackUse::kLineIntegrals));
  }
  ISO_ASSIGN_OR_RETURN(self->project_, methods.project(session));
  ISO_ASSIGN_OR_RETURN(self->arithmetic_, methods.arithmetic(session));
  ISO_ASSIGN_OR_RETURN(self->trace_, methods.trace(session));
  if (plan.settings.bone) {
    ISO_ASSIGN_OR_RETURN(self->bone_, methods.bone(session, *plan.acquisition.calibration));
  }
  return self;
}

absl::Status LineCorrection::Reshape(const LineChunk& chunk) {
  for (auto* stack : {&projections_, &first_, &second_, &frames_}) {
    ISO_RETURN_IF_ERROR((*stack)->Reshape(chunk.lines.shape()));
  }
  return absl::OkStatus();
}

absl::Status LineCorrection::ProjectTo(HostView3<const float> volume, const LineChunk& chunk,
                                       ops::ProjectionStack& lines) {
  const StageScope scope(session_->timeline(), ops::Stage::kForwardProject);
  ISO_RETURN_IF_ERROR(arithmetic_->Fill(0, *projections_));
  // A grid's projection is the sum of its slabs' (ops::ProjectorModel::kJoseph).
  const int all = plan_.grid.nz;
  for (int first = 0; first < all; first += plan_.slab_slices) {
    const int slices = std::min(plan_.slab_slices, all - first);
    if (uploaded_ != volume.data() || slices < all) {
      ISO_RETURN_IF_ERROR(volume_->Reshape(SlicesOf(plan_.grid, first, slices)));
      ISO_RETURN_IF_ERROR(volume_->Upload(0, volume.slices(first, slices)));
      uploaded_ = volume.data();
    }
    ISO_RETURN_IF_ERROR(project_->Run(chunk.matrices, *volume_, *projections_));
  }
  return arithmetic_->Copy(*projections_, lines);
}

absl::Status LineCorrection::Project(HostView3<const float> volume, const LineChunk& chunk) {
  ISO_RETURN_IF_ERROR(Reshape(chunk));
  ISO_RETURN_IF_ERROR(ProjectTo(volume, chunk, *first_));
  return first_->Download(0, chunk.lines);
}

absl::Status LineCorrection::TakeMetalOut(HostView3<const float> metal,
                                          HostView3<const float> prior, const LineChunk& chunk) {
  ISO_RETURN_IF_ERROR(Reshape(chunk));
  ISO_RETURN_IF_ERROR(frames_->Upload(0, chunk.lines));
  ISO_RETURN_IF_ERROR(ProjectTo(metal, chunk, *first_));
  const bool with_prior = prior.data() != nullptr;
  if (with_prior) ISO_RETURN_IF_ERROR(ProjectTo(prior, chunk, *second_));
  ISO_RETURN_IF_ERROR(
      trace_->Run(chunk.lines.shape().slow,
                  {.least = LeastMetal(plan_), .margin = plan_.settings.metal->trace_margin_px},
                  *first_, with_prior ? second_.get() : nullptr, *frames_));
  return frames_->Download(0, chunk.lines);
}

absl::Status LineCorrection::CorrectBone(HostView3<const float> bone, const LineChunk& chunk) {
  ISO_RETURN_IF_ERROR(Reshape(chunk));
  ISO_RETURN_IF_ERROR(frames_->Upload(0, chunk.lines));
  ISO_RETURN_IF_ERROR(ProjectTo(bone, chunk, *first_));
  ISO_RETURN_IF_ERROR(bone_->Run(chunk.lines.shape().slow, *first_, *frames_));
  return frames_->Download(0, chunk.lines);
}

}  // namespace isocenter::recon
