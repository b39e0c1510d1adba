#include "kernels/recon/iterative/frame_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"
#include "kernels/recon/stage_scope.h"

namespace isocenter::recon {

absl::StatusOr<std::unique_ptr<FrameStore>> FrameStore::Create(LinearSystem& system,
                                                               ProjectionVector& b) {
  std::unique_ptr<FrameStore> self(new FrameStore(system, b));
  const RefinementPlan& plan = system.plan();
  int first = plan.acquisition.detector.rows, end = 0;
  for (const DeviceRows& rows : plan.rows) {
    first = std::min(first, rows.seen.first);
    end = std::max(end, rows.seen.end());
  }
  self->rows_ = {first, end - first};
  ops::Session& session = system.session(0);
  self->column_weight_.assign(plan.acquisition.detector.columns, 1.f);
  ISO_ASSIGN_OR_RETURN(const auto preprocess, system.registry().preprocess.Find(session.backend()));
  ISO_ASSIGN_OR_RETURN(self->preprocess_, preprocess(session));
  const Shape3 shape{plan.chunk_views, self->rows_.count, plan.acquisition.detector.columns};
  ISO_ASSIGN_OR_RETURN(self->line_integrals_,
                       session.NewProjectionStack(shape, ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(self->staging_, session.device().NewHostMemory(
                                           shape.count() * static_cast<int64_t>(sizeof(float))));
  return self;
}

absl::Status FrameStore::Check(const ops::RawFrames& frames,
                               std::span<const ProjectionMatrix> measured) const {
  const RefinementPlan& plan = system_.plan();
  const Acquisition& acquisition = plan.acquisition;
  const int64_t count = frames.shape().slow;
  const int64_t most = std::min(plan.chunk_views, plan.views() - next_view_);
  if (count < 1 || count > most) {
    return absl::InvalidArgumentError(absl::StrCat(count, " frames after ", next_view_, " of ",
                                                   plan.views(), "; legal is 1 to ", most));
  }
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("frames", frames.shape(),
                          Shape3{count, acquisition.detector.rows, acquisition.detector.columns}));
  if (static_cast<bool>(frames.counts) != (acquisition.pixel_type == PixelType::kUint16Counts)) {
    return absl::InvalidArgumentError("the frames are not of the plan's pixel type");
  }
  if (!measured.empty() && static_cast<int64_t>(measured.size()) != count) {
    return absl::InvalidArgumentError(
        absl::StrCat(measured.size(), " measured matrices for ", count, " frames"));
  }
  return absl::OkStatus();
}

absl::Status FrameStore::Push(const ops::RawFrames& frames,
                              std::span<const ProjectionMatrix> measured) {
  ISO_RETURN_IF_ERROR(Check(frames, measured));
  const int count = static_cast<int>(frames.shape().slow);
  const RefinementPlan& plan = system_.plan();
  for (size_t i = 0; i < measured.size(); ++i) {
    ISO_RETURN_IF_ERROR(system_.SetMatrix(next_view_ + static_cast<int>(i), measured[i]));
  }
  std::vector<ops::ViewWeights> weights;
  for (int i = 0; i < count; ++i) {
    weights.push_back({.matrix = plan.acquisition.trajectory[next_view_ + i],
                       .column_weight = column_weight_,
                       .cosine = false});
  }
  const Shape3 shape{count, rows_.count, plan.acquisition.detector.columns};
  ISO_RETURN_IF_ERROR(line_integrals_->Reshape(shape));
  {
    const StageScope scope(system_.session(0).timeline(), ops::Stage::kPreprocess);
    ISO_RETURN_IF_ERROR(preprocess_->Run(frames.rows(rows_.first, rows_.count),
                                         {.i0 = plan.acquisition.i0_counts}, weights,
                                         *line_integrals_));
  }
  const HostView3<float> staging(reinterpret_cast<float*>(staging_->data()), shape);
  ISO_RETURN_IF_ERROR(line_integrals_->Download(0, staging));
  ISO_RETURN_IF_ERROR(Distribute(staging));
  next_view_ += count;
  return absl::OkStatus();
}

absl::Status FrameStore::Distribute(HostView3<const float> line_integrals) {
  for (int64_t i = 0; i < line_integrals.shape().slow; ++i) {
    const int view = next_view_ + static_cast<int>(i);
    for (int device = 0; device < system_.devices(); ++device) {
      const RowRange& rows = system_.plan().rows[device].seen;
      // Rows of one view are dense.
      const HostView3<const float> seen(line_integrals.row(i, rows.first - rows_.first),
                                        {1, rows.count, line_integrals.shape().fast});
      ISO_RETURN_IF_ERROR(b_.Store(system_.chunk_of(view), system_.index_of(view), device, seen));
    }
  }
  return absl::OkStatus();
}

}  // namespace isocenter::recon
