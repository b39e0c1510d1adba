// The plan of a reconstruction that completes rows which the detector cuts.
#pragma once

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/recon/iterative/plan.h"
#include "kernels/recon/refinement_basis.h"
#include "kernels/recon/second_pass/pixel_bins.h"

namespace isocenter::recon {

/// Passes over all views that the model outside of the field of view is made with.
inline constexpr int kModelPasses = 10;

/// Immutable once made. It begins with the volume of the frames as they came, its warm_start; its
/// voxel_updates are of all that comes after that.
struct DetruncationPlan : RefinementBasis {
  PixelBins bins;              // of the coarse plans
  int more_columns = 0;        // on either side of the completed rows
  int more_binned = 0;         // the same, of binned ones
  ReconstructionPlan start;    // of binned rows that have been extended, on the coarse grid
  RefinementPlan model;        // one pass over binned rows as they are, on the coarse grid
  ReconstructionPlan again;    // of completed line integrals
  double known_radius_mm = 0;  // around the isocentre: what all views see
};

/// A pure function of its arguments, as MakePlan, whose devices and `arrival` (of the first volume)
/// these are.
/// Errors: those of MakePlan; INVALID_ARGUMENT (a displaced detector; an arc that is too short for
/// rows an eighth longer on either side).
absl::StatusOr<DetruncationPlan> MakeDetruncationPlan(const Acquisition& acquisition,
                                                      const VolumeGrid& grid,
                                                      const FdkSettings& fdk,
                                                      const ops::Registry& registry,
                                                      std::span<const ops::Device* const> devices,
                                                      Arrival arrival = Arrival::kComplete);

/// A matrix for a detector with `more` columns before the first one.
ProjectionMatrix Widened(const ProjectionMatrix& matrix, int more);

}  // namespace isocenter::recon
