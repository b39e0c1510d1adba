// What is known of a correction of the cone-beam artefact before it begins.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/second_pass/pixel_bins.h"

namespace isocenter::recon {

/// The object is modelled on a grid of `merge` x `merge` x `merge_slices` voxels of the volume in
/// one, with `more_below` and `more_above` slices beyond the volume's; it is projected on binned
/// pixels.
struct ConeBeamPlan : PixelBins {
  int merge = 1, merge_slices = 1;
  int more_below = 0, more_above = 0;  // of the model's slices
  ReconstructionPlan model;            // of the model's line integrals, on its grid
  double radius_mm = 0;                // around the isocentre; what lies further out is no model's
  double source_mm = 0;                // from the isocentre
  // Of the object, what is in the volume and seen by all views lies between these heights above the
  // orbit's plane (on the side of the volume's last slice).
  double known_from_mm = 0, known_to_mm = 0;
  int chunk_views = 0;  // at most so many views are projected at once
  // The first device has what it takes and room for the volume, which stays there; else the host
  // models, finds and takes off.
  bool on_device = false;
};

/// Errors: INVALID_ARGUMENT (slices that are turned by more than 10 degrees from the orbit's
/// plane), those of MakePlan.
absl::StatusOr<ConeBeamPlan> MakeConeBeamPlan(const ReconstructionPlan& first,
                                              const ops::Registry& registry,
                                              std::span<const ops::Device* const> devices);

/// Page-locked, of the host: a chunk of lines, or slices on their way.
int64_t ConeBeamLockedBytes(const ConeBeamPlan& plan, const VolumeGrid& volume);
/// Of the host, beside the volume that is corrected.
int64_t ConeBeamHostBytes(const ConeBeamPlan& plan, const VolumeGrid& volume);

}  // namespace isocenter::recon
