#include "kernels/recon/second_pass/scatter_removal.h"

#include <algorithm>
#include <vector>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {
namespace {

Shape3 FramesShape(const SecondPassPlan& plan) {
  const Detector& detector = plan.acquisition.detector;
  return {plan.chunk_views, detector.rows, detector.columns};
}

Shape3 CellsShape(const SecondPassPlan& plan) {
  return {plan.chunk_views, plan.scatter->rows, plan.scatter->columns};
}

}  // namespace

absl::StatusOr<std::unique_ptr<ScatterRemoval>> ScatterRemoval::Create(
    const SecondPassPlan& plan, const ops::Registry& registry, ops::Device& device) {
  std::unique_ptr<ScatterRemoval> self(new ScatterRemoval(plan));
  ISO_ASSIGN_OR_RETURN(self->session_, device.NewSession());
  ops::Session& session = *self->session_;
  ISO_ASSIGN_OR_RETURN(const auto remove, registry.remove_scatter.Find(session.backend()));
  ISO_ASSIGN_OR_RETURN(
      self->frames_, session.NewProjectionStack(FramesShape(plan), ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(self->cells_,
                       session.NewProjectionStack(CellsShape(plan), ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(self->remove_, remove(session, *plan.acquisition.calibration));
  return self;
}

absl::StatusOr<int64_t> ScatterRemoval::DeviceBytes(const SecondPassPlan& plan,
                                                    const ops::Registry& registry,
                                                    const ops::Device& device) {
  ISO_ASSIGN_OR_RETURN(const auto remove, registry.remove_scatter.Find(device.backend()));
  return device.ProjectionStackBytes(FramesShape(plan), ops::StackUse::kLineIntegrals) +
         device.ProjectionStackBytes(CellsShape(plan), ops::StackUse::kLineIntegrals) +
         remove.WorkspaceBytes(device, {.stack = FramesShape(plan), .grid = plan.grid},
                               *plan.acquisition.calibration);
}

absl::Status ScatterRemoval::Run(const ScatterPass& scatter, int first_view, int views,
                                 LineStore& lines) {
  const ScatterPlan& known = *plan_.scatter;
  const int64_t size = int64_t{known.rows} * known.columns;
  std::vector<float> cells(views * size);
  for (int i = 0; i < views; ++i) {
    const std::vector<double> here = scatter.CellsAt(first_view + i);
    std::transform(here.begin(), here.end(), cells.begin() + i * size,
                   [](double value) { return static_cast<float>(value); });
  }
  const HostView3<float> chunk = lines.Lines(first_view, views);
  ISO_RETURN_IF_ERROR(frames_->Reshape(chunk.shape()));
  const Shape3 shape{views, known.rows, known.columns};
  ISO_RETURN_IF_ERROR(cells_->Reshape(shape));
  ISO_RETURN_IF_ERROR(frames_->Upload(0, chunk));
  ISO_RETURN_IF_ERROR(cells_->Upload(0, HostView3<const float>(cells.data(), shape)));
  ISO_RETURN_IF_ERROR(remove_->Run(views, *cells_, *frames_));
  return frames_->Download(0, chunk);
}

}  // namespace isocenter::recon
