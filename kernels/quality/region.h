// Regions of a volume, and what is measured of their values alone: noise, uniformity, contrast,
// linearity.
#pragma once

#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::quality {

/// A volume in Hounsfield units, [z][y][x], on its grid (mm). The voxels must outlive it.
struct VolumeView {
  VolumeGrid grid;
  HostView3<const float> voxels;
};

/// A circular cylinder in the volume's world (mm). `axis` and `across` are unit vectors at right
/// angles.
struct Rod {
  Vec3 center;
  double radius_mm = 0, half_height_mm = 0;
  Vec3 axis{0, 0, 1}, across{1, 0, 0};
};

/// Voxels of a region below which no figure is made of it.
inline constexpr int64_t kLeastRegionVoxels = 30;

/// Calls `visit` with the value of each voxel whose centre is in the rod, and where it is from the
/// rod's centre along `across`, Cross(axis, across) and `axis` (mm). Errors: INVALID_ARGUMENT with
/// values and what is legal: voxels that are not the grid's, a rod that is not inside the volume, a
/// voxel that is not finite, fewer than kLeastRegionVoxels.
absl::Status VisitRod(const VolumeView& volume, const Rod& rod,
                      absl::FunctionRef<void(double value, Vec3 offset)> visit);

struct RegionFigures {
  double mean = 0;                // HU
  double standard_deviation = 0;  // HU, of n - 1: the noise of IEC 61223-3-5
  int64_t voxels = 0;
};
/// Errors: those of VisitRod.
absl::StatusOr<RegionFigures> MeasureRegion(const VolumeView& volume, const Rod& rod);

struct Uniformity {
  RegionFigures center;
  double edge_means[4] = {};  // HU: across, up, and opposite to them
  /// The largest |mean of an edge - mean of the centre|, HU (IEC 61223-3-5).
  double non_uniformity = 0;
  /// (most - least) / (most + least) of the five means plus 1000: attenuation, of which air has
  /// none.
  double integral_non_uniformity = 0;
  /// Standard error of such a mean by noise, HU: from how the means of slabs of the regions, along
  /// the axis, differ from their neighbours. The noise of voxels over the root of their number
  /// would be too small (neighbours share noise), noise itself is too large by far.
  double mean_error = 0;

  /// With their signs, HU. The middle less the mean of the edges: below 0 where the middle is dark.
  double cupping() const {
    return center.mean - 0.25 * (edge_means[0] + edge_means[1] + edge_means[2] + edge_means[3]);
  }
  /// From edge to edge, across and up.
  double gradient_across() const { return edge_means[0] - edge_means[2]; }
  double gradient_up() const { return edge_means[1] - edge_means[3]; }
};
/// Of five regions of 0.12 of the disc's radius: in its middle, and four that touch its edge from
/// inside. Errors: those of VisitRod.
absl::StatusOr<Uniformity> MeasureUniformity(const VolumeView& volume, const Rod& disc);

/// |mean - mean of background| / standard deviation of background. INVALID_ARGUMENT for a
/// background without noise.
absl::StatusOr<double> ContrastToNoise(const RegionFigures& region,
                                       const RegionFigures& background);

/// An insert: what it should be, and is (HU).
struct InsertValue {
  double nominal = 0, measured = 0;
};
/// measured = slope · nominal + intercept by least squares.
struct Linearity {
  double slope = 0, intercept = 0;  // intercept in HU
  double largest_deviation = 0;     // HU, from that line
};
/// INVALID_ARGUMENT for fewer than three inserts, or all of one nominal value.
absl::StatusOr<Linearity> MeasureLinearity(std::span<const InsertValue> inserts);

}  // namespace isocenter::quality
