#include "kernels/recon/detruncation/row_completer.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/status_macros.h"
#include "kernels/recon/second_pass/plan.h"
#include "kernels/recon/stage_scope.h"

namespace isocenter::recon {
namespace {

constexpr int kEndColumns = 3;  // whose mean is what is measured at an end
constexpr double kFadeMm = 8;

}  // namespace

absl::StatusOr<std::unique_ptr<RowCompleter>> RowCompleter::Create(const DetruncationPlan& plan,
                                                                   const ops::Registry& registry,
                                                                   ops::Device& device,
                                                                   HostView3<const float> model) {
  std::unique_ptr<RowCompleter> self(new RowCompleter(plan));
  ISO_ASSIGN_OR_RETURN(self->session_, device.NewSession());
  ops::Session& session = *self->session_;
  ISO_ASSIGN_OR_RETURN(const SecondPassMethods methods,
                       SecondPassMethods::Find(registry, session.backend()));
  ISO_ASSIGN_OR_RETURN(self->volume_, session.NewVolume(plan.model.grid));
  const Detector& detector = plan.again.acquisition.detector;
  ISO_ASSIGN_OR_RETURN(
      self->projections_,
      session.NewProjectionStack({LargestChunk(plan.again), detector.rows, detector.columns},
                                 ops::StackUse::kProjections));
  ISO_ASSIGN_OR_RETURN(self->project_, methods.project(session));
  ISO_ASSIGN_OR_RETURN(self->arithmetic_, methods.arithmetic(session));
  ISO_RETURN_IF_ERROR(self->volume_->Upload(0, model));
  return self;
}

absl::Status RowCompleter::Run(std::span<const ProjectionMatrix> matrices,
                               HostView3<const float> lines, ThreadPool& threads,
                               HostView3<float> completed) {
  {
    const StageScope scope(timeline(), ops::Stage::kForwardProject);
    ISO_RETURN_IF_ERROR(projections_->Reshape(completed.shape()));
    ISO_RETURN_IF_ERROR(arithmetic_->Fill(0, *projections_));
    ISO_RETURN_IF_ERROR(project_->Run(matrices, *volume_, *projections_));
    ISO_RETURN_IF_ERROR(projections_->Download(0, completed));
  }
  const auto narrow = static_cast<size_t>(lines.shape().fast);
  const auto wide = static_cast<size_t>(completed.shape().fast);
  threads.ParallelFor(lines.shape().slow * lines.shape().middle, [&](int64_t row, int) {
    Join(lines.span().subspan(row * narrow, narrow), completed.span().subspan(row * wide, wide));
  });
  return absl::OkStatus();
}

void RowCompleter::Join(std::span<const float> measured, std::span<float> completed) const {
  const int more = plan_.more_columns, columns = static_cast<int>(measured.size());
  const double fade_px = kFadeMm * columns / (2 * plan_.known_radius_mm);
  const int ends = std::min(kEndColumns, columns);
  for (const int side : {-1, 1}) {
    const int edge = side < 0 ? 0 : columns - 1;
    double missed = 0;
    for (int k = 0; k < ends; ++k) {
      const int u = edge - side * k;
      missed += (measured[u] - completed[more + u]) / ends;
    }
    for (int k = 1; k <= more; ++k) {
      float& beyond = completed[more + edge + side * k];
      beyond = static_cast<float>(std::max(0.0, beyond + missed * std::exp(-(k - 1) / fade_px)));
    }
  }
  std::copy(measured.begin(), measured.end(), completed.begin() + more);
}

}  // namespace isocenter::recon
