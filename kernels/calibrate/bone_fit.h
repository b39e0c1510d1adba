// The bone table of a beam, from steps of bone behind steps of water.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/calibrate/figure.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

/// Steps with bone that a fit has at least, of so many thicknesses of bone and of water.
inline constexpr int kLeastBoneSteps = 9, kLeastBones = 3, kLeastWaters = 3;
/// Root mean square of what the table misses of a step that it was not fitted to, and of what the
/// water polynomial misses of a step without bone (% of the longest line integral).
inline constexpr double kMostBoneMissedPercent = 0.5;
/// A voxel of the first volume begins to be bone above soft tissue and blood (HU).
inline constexpr double kBoneFromHu = 100;
/// Of a bone table (ops::CheckBoneTable): steps of other thicknesses than those written down make
/// bone of thousands of HU, of either sign. Most is ops::kMostBoneHu.
inline constexpr double kLeastBoneHu = kBoneFromHu + ops::kLeastBoneSpanHu;

struct BoneStep {
  double water_mm = 0, bone_mm = 0;
  double line_integral = 0;  // of the mean transmission
};

struct BoneFit {
  ops::BoneTable table;
  double mu_bone_per_mm = 0;
  /// Of each step: line integral in the end less that of its water and bone, without the table
  /// (and the bone's attenuation for which that is least) and with it.
  std::vector<double> missed_before, missed_after;
  Figures figures;
};

/// After Joseph, Spital, J. Comput. Assist. Tomogr. 2 (1978) 100: what line integrals q that the
/// water polynomial made lack behind b mm of bone, so that mu_water·w + mu_bone·b is left for any w
/// and b. It is b times a quadratic polynomial of q and b (linear least squares), held at its value
/// at the border of what was measured. mu_bone is free, as any will do: it is that with which thin
/// bone behind kReferenceMm of water, or as much of it as there was, is right already; bone's HU in
/// a volume follow from it. Errors: INVALID_ARGUMENT (steps, `water`, mu_water_per_mm,
/// ops::CheckBoneTable), FAILED_PRECONDITION (too few steps, or the figure and its bound).
absl::StatusOr<BoneFit> FitBone(const std::vector<BoneStep>& steps,
                                const ops::WaterPolynomial& water, double mu_water_per_mm);

}  // namespace isocenter::calibrate
