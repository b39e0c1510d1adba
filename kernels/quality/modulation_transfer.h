// Sharpness: the presampled modulation transfer function, from the edge of a cylinder or from a
// wire.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/quality/region.h"
#include "kernels/quality/transfer_curve.h"

namespace isocenter::quality {

struct EdgeTransfer {
  FrequencyCurve mtf;          // 1 at frequency 0, up to the voxels' Nyquist frequency
  FrequencyCurve spread;       // the edge spread function: HU over mm from the rod's axis
  double contrast = 0;         // HU, inside less outside
  double center_shift_mm = 0;  // how far the fitted centre is from the rod's
};
/// The task transfer function at the edge of a rod (Richard et al., Med. Phys. 39 (2012) 4115; AAPM
/// TG-233, 2019): values by distance from the fitted centre, in bins of an eighth of a voxel,
/// differentiated and transformed; what bins and differences take away is put back. `reach_mm` on
/// both sides of the edge is looked at, of which the outer 40 % are tapered. Errors: those of
/// VisitRod; INVALID_ARGUMENT for voxels that are not square across the slices (to 1 %), `reach_mm`
/// below 4 voxels or above the radius, an edge whose contrast is below its noise's standard error
/// by 20, and distances that too few voxels have.
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
