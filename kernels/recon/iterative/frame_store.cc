#include "kernels/recon/iterative/frame_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::recon {
namespace {

// Of the frames, that concern any device.
RowRange RowsOfAll(const RefinementPlan& plan) {
  int first = plan.acquisition.detector.rows, end = 0;
  for (const DeviceRows& rows : plan.rows) {
    first = std::min(first, rows.seen.first);
    end = std::max(end, rows.seen.end());
  }
  return {first, end - first};
}

// Of what is converted at once: enough for a device to be busy.
constexpr int kMostViews = 8;
int ViewsAtOnce(const RefinementPlan& plan) { return std::min(plan.chunk_views, kMostViews); }

Shape3 ShapeOf(const RefinementPlan& plan) {
  return {ViewsAtOnce(plan), RowsOfAll(plan).count, plan.acquisition.detector.columns};
}

}  // namespace

absl::StatusOr<int64_t> FrameStore::DeviceBytes(const RefinementPlan& plan,
                                                const ops::Registry& registry, int device,
                                                const ops::Device& on) {
  if (device != 0) return 0;
  return LineConverter::DeviceBytes(plan.acquisition, RowsOfAll(plan), ViewsAtOnce(plan), registry,
                                    on);
}

int64_t FrameStore::HostBytes(const RefinementPlan& plan) {
  return ShapeOf(plan).count() * static_cast<int64_t>(sizeof(float));
}

absl::StatusOr<std::unique_ptr<FrameStore>> FrameStore::Create(LinearSystem& system,
                                                               ProjectionVector& b) {
  std::unique_ptr<FrameStore> self(new FrameStore(system, b));
  const RefinementPlan& plan = system.plan();
  self->rows_ = RowsOfAll(plan);
  ops::Session& session = system.session(0);
  ISO_ASSIGN_OR_RETURN(self->converter_,
                       LineConverter::Create(plan.acquisition, self->rows_, ViewsAtOnce(plan),
                                             system.registry(), session));
  ISO_ASSIGN_OR_RETURN(self->staging_, session.device().NewHostMemory(HostBytes(plan)));
  return self;
}

absl::Status FrameStore::Check(const ops::RawFrames& frames,
                               std::span<const ProjectionMatrix> measured,
                               std::span<const float> doses) const {
  const RefinementPlan& plan = system_.plan();
  const int64_t count = frames.shape().slow;
  const int64_t most = std::min(plan.chunk_views, plan.views() - next_view_);
  if (count < 1 || count > most) {
    return absl::InvalidArgumentError(absl::StrCat(count, " frames after ", next_view_, " of ",
                                                   plan.views(), "; legal is 1 to ", most));
  }
  return CheckFrames(plan.acquisition, count, frames, measured, doses);
}

absl::Status FrameStore::Push(const ops::RawFrames& frames,
                              std::span<const ProjectionMatrix> measured,
                              std::span<const float> doses) {
  ISO_RETURN_IF_ERROR(Check(frames, measured, doses));
  const int count = static_cast<int>(frames.shape().slow);
  const RefinementPlan& plan = system_.plan();
  for (size_t i = 0; i < measured.size(); ++i) {
    ISO_RETURN_IF_ERROR(system_.SetMatrix(next_view_ + static_cast<int>(i), measured[i]));
  }
  const int most = ViewsAtOnce(plan);
  for (int first = 0; first < count; first += most) {
    const int views = std::min(most, count - first);
    const HostView3<float> staging(reinterpret_cast<float*>(staging_->data()),
                                   {views, rows_.count, plan.acquisition.detector.columns});
    ISO_RETURN_IF_ERROR(
        converter_->Run(frames.views(first, views), DosesOf(doses, first, views), staging));
    ISO_RETURN_IF_ERROR(Distribute(staging));
    ISO_RETURN_IF_ERROR(system_.Synchronize());  // the staging memory is the next frames'
    next_view_ += views;
  }
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
