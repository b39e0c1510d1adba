#include "kernels/recon/iterative/os_sqs/urgency.h"

#include <cmath>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {
namespace {

constexpr double kMost = 3;

// 1 at 0, kMost at -far and far and beyond, straight in between.
ops::HounsfieldHinges Valley(double far) {
  const auto slope = static_cast<float>((kMost - 1) / far), end = static_cast<float>(far);
  ops::HounsfieldHinges hinges{.offset = kMost, .slope = 0, .count = 3};
  const float at[] = {-end, 0, end}, turn[] = {-slope, 2 * slope, -slope};
  for (int i = 0; i < hinges.count; ++i) {
    hinges.at[i] = at[i];
    hinges.turn[i] = turn[i];
  }
  return hinges;
}

}  // namespace

absl::Status ToUrgency(LinearSystem& system, PiecewiseVariation& variation, double squared_distance,
                       VolumeVector& moved, VolumeVector& scratch) {
  double voxels = 0;
  for (const Piece& piece : system.plan().pieces) {
    voxels += static_cast<double>(piece.grid.voxels());
  }
  const double far = std::sqrt(squared_distance / voxels);
  if (far == 0) return system.Fill(1, moved);
  ISO_RETURN_IF_ERROR(system.Bend(Valley(far), moved));
  // An eighth of the differences to each of the six neighbours.
  ISO_RETURN_IF_ERROR(system.Copy(moved, scratch));
  return variation.AddQuadraticGradient(-1. / 8, scratch, moved);
}

}  // namespace isocenter::recon
