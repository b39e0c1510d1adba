#include "kernels/recon/self_calibration/sharpness.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"

namespace isocenter::recon {
namespace {

// The roll is searched for as a parameter in mm, too: the way of what is so far from the
// detector's middle.
constexpr double kRollLeverMm = 100;

}  // namespace

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
  ++evaluations_;
  return focus_->Evaluate(matrices, shares, slopes, by_share);
}

absl::Status Sharpness::Sharpen(const std::vector<DetectorMove>& moves,
                                std::span<const double> steps_mm, ConstantMove& constant) {
  double two[] = {constant.u_mm, constant.roll_rad * kRollLeverMm};
  const auto at = [&](int parameter, double change) {
    double changed[] = {two[0], two[1]};
    changed[parameter] += change;
    return Entropy(Then(moves, {.u_mm = changed[0], .roll_rad = changed[1] / kRollLeverMm}));
  };
  ISO_ASSIGN_OR_RETURN(double here, at(0, 0));
  for (const double step : steps_mm) {
    for (int parameter = 0; parameter < 2; ++parameter) {
      ISO_ASSIGN_OR_RETURN(const double less, at(parameter, -step));
      ISO_ASSIGN_OR_RETURN(const double more, at(parameter, step));
      // The least of a parabola through three values, or where the values fall.
      const double bend = less - 2 * here + more;
      const double falls = less < more ? -2 * step : 2 * step;
      double change = bend > 0 ? step * (less - more) / (2 * bend) : falls;
      change = std::clamp(change, -2 * step, 2 * step);
      ISO_ASSIGN_OR_RETURN(const double there, at(parameter, change));
      if (there >= here) continue;
      two[parameter] += change;
      here = there;
    }
  }
  constant = {.u_mm = two[0], .roll_rad = two[1] / kRollLeverMm};
  return absl::OkStatus();
}

}  // namespace isocenter::recon
