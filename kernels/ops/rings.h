// What a detector's remaining gain errors leave: stripes in line integrals, the same in all views,
// and of them rings in volumes, around the axis that the source turns around.
//
// Run checks what it is given with INVALID_ARGUMENT: a stack or a volume of another use, backend or
// shape.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/buffers.h"

namespace isocenter::ops {

struct RingSpec {
  VolumeGrid grid;                // the whole volume, of which slabs are worked on
  double axis_i = 0, axis_j = 0;  // where the axis crosses its slices, in voxels
};

/// Where slices are sampled: rings of radius k·step_mm around the axis, k from 0 to `rings` - 1,
/// which reach beyond the slices' farthest corner; on each, `angles` samples at (a + ½)·2π/angles
/// from the i axis towards the j axis, a voxel apart on the outermost one.
struct PolarRaster {
  double step_mm = 0;  // half of the smaller spacing of a slice
  int rings = 0;
  int angles = 0;  // a multiple of kMostRingSectors

  /// A ring has 1, 2, 4 or kMostRingSectors sectors of equal angle, as many as are kLeastSectorMm
  /// long at least. Sector s of n has the samples a with a·n/angles in [s, s + 1).
  int Sectors(int ring) const;
};
inline constexpr int kMostRingSectors = 8;
inline constexpr double kLeastSectorMm = 25;
/// Errors: INVALID_ARGUMENT (ValidateGrid; an axis that is more than kMostRings rings away).
absl::Status CheckRings(const RingSpec& spec);
inline constexpr int kMostRings = 1 << 14;
/// Of a specification that is legal.
PolarRaster RasterOf(const RingSpec& spec);

/// Rings in a volume in HU, all finite, are taken off in place, each slice by itself,
/// kRingPasses times:
/// - f(k, a): the slice at the raster's points, bilinear, beyond the grid as at its edge. f(-k, a)
///   is f(k, a + angles/2); beyond the last ring f is that of the last.
/// - d(k, a) = f(k, a) - median of f(k - kRingReach, a) to f(k + kRingReach, a). Edges ascend or
///   descend: nothing is left of them.
/// - r(k, s): the lower median of d(k, a) in sector s, over points that are at most half a voxel
///   beyond the grid, of which there must be half of the sector's; else 0. What most of a sector
///   does not have is none of its ring. Beyond kMostRingHu it falls, as what has a ring's shape but
///   is none: r becomes sign(r)·max(0, min(|r|, 2 kMostRingHu - |r|)).
/// - each voxel loses r, linear in radius between rings, and on each ring linear in angle between
///   the centres of its sectors.
/// After Sijbers, Postnov, Phys. Med. Biol. 49 (2004) N247, and Prell, Kyriakou, Kalender, Phys.
/// Med. Biol. 54 (2009) 3881, who filter along radius and angle; medians are ours.
class RemoveRings {
 public:
  virtual ~RemoveRings() = default;
  /// `volume`: slices of the spec's grid from `first_slice` on.
  absl::Status Run(int first_slice, VolumeBuffer& volume);

 protected:
  explicit RemoveRings(const RingSpec& spec) : spec_(spec), raster_(RasterOf(spec)) {}
  const RingSpec& spec() const { return spec_; }
  const PolarRaster& raster() const { return raster_; }

 private:
  virtual absl::Status DoRun(VolumeBuffer& volume) = 0;

  const RingSpec spec_;
  const PolarRaster raster_;
};
inline constexpr int kRingPasses = 3;
inline constexpr int kRingReach = 6;
inline constexpr double kMostRingHu = 200;

/// Takes from finite line integrals of all views of a scan, some or all rows of them, in place,
/// what a pixel has too much in all views, kStripePasses times:
/// - d(view, v, u) = p(view, v, u) - median over k = 1 to kStripePairs of (4 a(k) - a(2k))/3, where
///   a(k) = (p(view, v, u - k) + p(view, v, u + k))/2: slopes and curvatures cancel. Columns that
///   are less than 2 kStripePairs from a row's ends stay as they are.
/// - m(g, v, u): the lower median of d over part g of the views, from g·views/kStripeParts on. An
///   object moves over the detector, but its border may not move much in a part.
/// - s(v, u): the second smallest of m over g if that is above 0, the second largest if that is
///   below 0, else 0. Beyond kMostStripe it falls, as what is that large is no drift of a gain: s
///   becomes sign(s)·max(0, min(|s|, 2 kMostStripe - |s|)). p loses s.
/// Of fewer views than kStripeParts nothing is taken off. After Raven, Rev. Sci. Instrum. 69 (1998)
/// 2978, and Boin, Haibel, Opt. Express 14 (2006) 12071, who filter mean sinograms; pairs and
/// medians are ours.
class RemoveStripes {
 public:
  virtual ~RemoveStripes() = default;
  absl::Status Run(ProjectionStack& frames);

 private:
  virtual absl::Status DoRun(ProjectionStack& frames) = 0;
};
inline constexpr int kStripePasses = 2;
inline constexpr int kStripePairs = 3;
inline constexpr int kStripeParts = 8;
inline constexpr double kMostStripe = 0.1;

}  // namespace isocenter::ops
