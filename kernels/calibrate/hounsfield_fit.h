// The table from reconstructed to true Hounsfield units, from a phantom with inserts.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/base/views.h"
#include "kernels/calibrate/figure.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

/// A ball of one material, within the insert and away from its border.
struct Insert {
  std::string name;
  Vec3 center;  // mm, in the volume's coordinates
  double radius_mm = 0;
  double true_hu = 0;
};

/// A table of text, one insert on each line: name, x, y, z, radius (mm) and true HU, separated by
/// blanks or commas; '#' begins a comment. 2 to 32 inserts, radius 1 to 100. Errors:
/// INVALID_ARGUMENT with the line number.
absl::StatusOr<std::vector<Insert>> ParseInserts(absl::string_view text);

inline constexpr int kLeastInsertVoxels = 30;
/// Of an insert's voxels (HU): more is another material, an artefact or noise that no mean cures.
inline constexpr double kMostInsertSigmaHu = 100;

struct MeasuredInsert {
  Insert insert;
  double mean_hu = 0, sigma_hu = 0;
  double slant_hu =
      0;  // standard deviation of the plane through the voxels: of a border, not noise
  int voxels = 0;
  double standard_error_hu() const { return sigma_hu / std::sqrt(voxels); }
};

/// An insert that is so far (HU) off the line through its neighbours, where that line is bent by so
/// much (the steeper side's slope over the other's), has or is beside a true HU that is not right:
/// hardening by bone bends tables by less.
inline constexpr double kMostOffNeighboursHu = 50, kMostBend = 1.5;
/// Between two neighbours that are so far apart (true HU) a table is steeper or flatter than this
/// for one reason alone: the inserts are not where, or what, the table of inserts says.
inline constexpr double kFarApartHu = 100, kMostSlope = 2;
/// No reconstruction has all inserts right within so little (HU), or within so many of their
/// largest standard error, but by a table.
inline constexpr double kTooRightHu = 1, kTooRightSigmas = 3;

/// Inserts of water's density, more or less (HU from 0): a water polynomial has them right by so
/// much (HU) where scatter is corrected or little, because water is 0 by its making.
inline constexpr double kNearWaterHu = 150, kMostWaterOffHu = 60;

/// A plane through an insert's voxels that has so much of their variance, and such a standard
/// deviation (HU), is a border of the insert within the ball: of noise it has some per cent.
inline constexpr double kMostSlantShare = 0.3, kMostSlantHu = 8;
/// An insert whose standard deviation is so many times the least of all inserts' has something
/// else than noise in it.
inline constexpr double kSameNoise = 1.5;

/// What a table needs to be right from air to bone: so many inserts, one of at most kAirHu and one
/// of kBoneHu at least.
inline constexpr int kEnoughInserts = 3;
inline constexpr double kAirHu = -800, kBoneHu = 500;
/// Air reads -1000 HU in any reconstruction, more or less. Where the table has no insert of air, it
/// may not make more (HU) of it.
inline constexpr double kMostAirMovedHu = 100;

/// A correction of such an insert that is within so many standard errors of its mean, where that is
/// so much (HU), is noise more than anything: voxels share theirs, so that the mean knows less than
/// their number says. Far from water a few HU are nothing.
inline constexpr double kNoiseSigmas = 3, kLeastNoiseHu = 0.5;

/// Inserts of one true HU, as a phantom has two of air, are one point of the table: their mean.
/// Cupping has them read some HU apart, not so many.
inline constexpr double kMostOneMaterialApartHu = 50;

struct HounsfieldFit {
  ops::HounsfieldTable table;
  std::vector<MeasuredInsert> inserts;  // by their true HU, each of which is there once
  Figures figures;
  std::vector<std::string> warnings;
};

/// Of a set with a water polynomial: a warning for inserts near water that are further off.
std::vector<std::string> WaterOff(const std::vector<MeasuredInsert>& inserts);

/// The mean of each insert's voxels, which are in HU of a reconstruction without a table. Errors:
/// INVALID_ARGUMENT (an insert that is not within the volume, ops::CheckHounsfieldTable),
/// FAILED_PRECONDITION (the figure and its bound).
absl::StatusOr<HounsfieldFit> FitHounsfield(HostView3<const float> volume, const VolumeGrid& grid,
                                            std::vector<Insert> inserts);

}  // namespace isocenter::calibrate
