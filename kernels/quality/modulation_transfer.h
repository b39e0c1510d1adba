// Sharpness: the presampled modulation transfer function, from the edge of a cylinder or from a
// wire.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "kernels/quality/region.h"
#include "kernels/quality/transfer_curve.h"

namespace isocenter::quality {

struct EdgeTransfer {
  FrequencyCurve mtf;          // 1 at frequency 0, up to the voxels' Nyquist frequency
  FrequencyCurve spread;       // the edge spread function: HU over mm from the rod's axis
  double contrast = 0;         // HU, inside less outside
  double center_shift_mm = 0;  // how far the fitted centre is from the rod's
  /// Standard uncertainties by noise: of the function where it is a half (at the Nyquist frequency,
  /// where it does not fall to that), and of the frequency at which it is.
  double half_sigma = 0;
  std::optional<double> half_sigma_per_mm;
};
/// Noise adds to the function's magnitude and takes from it: beyond this, where it falls to a half
/// is no longer its own.
inline constexpr double kMostHalfSigma = 0.05;
/// The task transfer function at the edge of a rod (Richard et al., Med. Phys. 39 (2012) 4115; AAPM
/// TG-233, 2019): values by distance from the fitted centre, in bins of an eighth of a voxel,
/// differentiated and transformed; what bins and differences take away is put back. `reach_mm` on
/// both sides of the edge is looked at, of which the outer 40 % are tapered. Errors: those of
/// VisitRod; INVALID_ARGUMENT for voxels that are not square across the slices (to 1 %), `reach_mm`
/// below 4 voxels or above the radius, an edge whose contrast is below its noise's standard error
/// by 20, distances that too few voxels have, and a half_sigma above kMostHalfSigma. The latter is
/// by the delete-a-group jackknife over kSectors of the edge, which knows noise that neighbours
/// share.
absl::StatusOr<EdgeTransfer> MeasureEdge(const VolumeView& volume, const Rod& rod, double reach_mm);

struct WireTransfer {
  FrequencyCurve mtf;
  int slices = 0;
};
/// The transfer function at a thin wire that goes through the slices: the Fourier-Bessel sum of the
/// voxels around the straight line through its centroids, less the ring around them; the wire's own
/// diameter is divided out (Nickoloff, Riley, Med. Phys. 12 (1985) 437). A wire a little askew
/// meets many fractions of a voxel (Judy, Med. Phys. 3 (1976) 233). The spread is taken as round.
/// `rod` is the wire. Errors: those of VisitRod; INVALID_ARGUMENT for voxels that are not square,
/// `reach_mm` below 4 voxels, a wire more than 20° from the slices' normal, and one that is not
/// denser than what is around it.
absl::StatusOr<WireTransfer> MeasureWire(const VolumeView& volume, const Rod& rod, double reach_mm);

}  // namespace isocenter::quality
