#include "kernels/recon/self_calibration/sharpness.h"

#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"

namespace isocenter::recon {

std::vector<DetectorMove> Then(std::vector<DetectorMove> moves, const ConstantMove& constant) {
  for (DetectorMove& move : moves) {
    move.u_mm += constant.u_mm;
    move.roll_rad += constant.roll_rad;
  }
  return moves;
}

absl::StatusOr<std::unique_ptr<Sharpness>> Sharpness::Create(
    const Acquisition& acquisition, const BinnedLines& finest, int voxels, const FdkSettings& fdk,
    const ops::Registry& registry, ops::Device& device, ThreadPool& threads) {
  ISO_ASSIGN_OR_RETURN(const VolumeGrid grid,
                       AutoGrid(acquisition.trajectory, acquisition.detector, voxels));
  const PixelBins again = BinsFor(Binned(acquisition, finest.bins), grid.spacing.x);
  const PixelBins bins = BothBins(finest.bins, again);
  const ops::Device* const devices[] = {&device};
  ISO_ASSIGN_OR_RETURN(ReconstructionPlan plan, MakePlan(Binned(acquisition, bins), grid, fdk,
                                                         registry, devices, Arrival::kComplete));
  std::unique_ptr<Sharpness> made(new Sharpness(acquisition, std::move(plan)));
  const BinnedLines coarse = BinnedAgain(made->plan_.acquisition, finest, again);
  ISO_ASSIGN_OR_RETURN(made->focus_,
                       Focus::Create(made->plan_, bins, coarse.view(), registry, device, threads));
  return made;
}

absl::StatusOr<double> Sharpness::Entropy(const std::vector<DetectorMove>& moves) {
  const size_t views = moves.size();
  const std::vector<double> shares(views, 1.0);  // the sources stay where they are
  std::vector<double> by_share(views);
  std::vector<ops::MatrixSlope> slopes(views);
  std::vector<ProjectionMatrix> matrices;
  for (size_t view = 0; view < views; ++view) {
    matrices.push_back(Moved(acquisition_.trajectory[view], acquisition_.detector, moves[view]));
  }
  return focus_->Evaluate(matrices, shares, slopes, by_share);
}

}  // namespace isocenter::recon
