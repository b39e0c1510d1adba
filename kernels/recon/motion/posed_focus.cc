#include "kernels/recon/motion/posed_focus.h"

#include "kernels/base/status_macros.h"
#include "kernels/recon/motion/compensation.h"
#include "kernels/recon/motion/matrix_model.h"

namespace isocenter::recon {

absl::StatusOr<std::unique_ptr<PosedFocus>> PosedFocus::Create(
    const Acquisition& acquisition, const BinnedLines& finest, const VolumeGrid& grid,
    const FdkSettings& fdk, std::span<const RigidPose> as_seen, const ops::Registry& registry,
    ops::Device& device, ThreadPool& threads) {
  ISO_ASSIGN_OR_RETURN(AngularSteps steps, AngularSteps::Create(acquisition.trajectory));
  std::unique_ptr<PosedFocus> made(new PosedFocus(acquisition.trajectory, std::move(steps)));
  const PixelBins again = BinsFor(Binned(acquisition, finest.bins), grid.spacing.x);
  const PixelBins bins = BothBins(finest.bins, again);
  const ops::Device* const devices[] = {&device};
  ISO_ASSIGN_OR_RETURN(made->plan_, MakePlan(Binned(acquisition, bins), grid, fdk, registry,
                                             devices, Arrival::kComplete));
  if (!as_seen.empty()) ISO_RETURN_IF_ERROR(WeighAsSeen(as_seen, made->plan_));
  const BinnedLines coarse = BinnedAgain(made->plan_.acquisition, finest, again);
  ISO_ASSIGN_OR_RETURN(made->focus_,
                       Focus::Create(made->plan_, bins, coarse.view(), registry, device, threads));
  return made;
}

absl::StatusOr<double> PosedFocus::Entropy(std::span<const double> of_frames,
                                           std::span<double> by_frame) {
  constexpr int kPose = 6;
  const auto of_view = [](auto all, size_t view) { return all.subspan(view * kPose, kPose); };
  const size_t views = trajectory_.size();
  std::vector<double> lengths(views), shares(views), by_share(views);
  std::vector<ProjectionMatrix> matrices(views);
  std::vector<ops::MatrixSlope> slopes(views);
  for (size_t view = 0; view < views; ++view) {
    matrices[view] = InPose(trajectory_[view], of_view(of_frames, view));
    lengths[view] = matrices[view].m[11];
    for (double& element : matrices[view].m) element /= lengths[view];
  }
  steps_.Evaluate(of_frames, shares);
  ISO_ASSIGN_OR_RETURN(const double entropy, focus_->Evaluate(matrices, shares, slopes, by_share));
  for (size_t view = 0; view < views; ++view) {
    // Of Q / q with q Q's last element: (S - (S · Q / q) e) / q.
    double dot = 0;
    for (int i = 0; i < 12; ++i) dot += slopes[view][i] * matrices[view].m[i];
    slopes[view][11] -= dot;
    for (double& element : slopes[view]) element /= lengths[view];
    PullToPose(trajectory_[view], of_view(of_frames, view), slopes[view], of_view(by_frame, view));
  }
  steps_.Gather(shares, by_share, by_frame);
  return entropy;
}

}  // namespace isocenter::recon
