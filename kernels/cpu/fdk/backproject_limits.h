// Where back-projection from register windows (backproject_windows-inl.h) is accurate enough.
#pragma once

#include "kernels/cpu/fdk/backproject_job.h"

namespace isocenter::cpu {

// Within a block of voxels along z, u and 1/w² are linear between their exact values at its ends,
// and v is a parabola: the line plus a bend, which is nearly the same for all blocks of a patch and
// taken from its centre. A block whose u or v would be misplaced by more than kMaxBend pixels is
// irregular, and so is one whose w changes by more than the fraction kMaxDepthChange (the weight
// would be wrong by more than 1e-5).
inline constexpr double kMaxBend = 5e-4;
inline constexpr double kMaxDepthChange = 0.004;
inline constexpr double kLeastDepth = 1e-3;  // of the isocentre's

/// A block's u stays within three columns if it changes by less than this.
inline constexpr double kMaxDrift = 1;
/// Rounding, and the bend (at most kMaxDepthChange / 4 of the change of v), may move a position by
/// less than this many pixels beyond the first and the last of its block.
inline constexpr double kSlack = 0.02;

/// How far the v of a block's middle lies from the mean of its ends' v, for a block of `lanes`
/// voxels at the centre of `box`; 0 where the source is too near.
double BendAtCentre(const BackprojectView& view, const VoxelBox& box, int lanes);

/// True only when the whole of `box` falls on the view's detector and every block of `lanes` voxels
/// in every patch of it is regular. From bounds over the box, not from samples.
bool IsRegularEverywhere(const BackprojectView& view, const VoxelBox& box, int lanes);

}  // namespace isocenter::cpu
