// The plan of an iterative reconstruction: what is known before it begins.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/geometry/limited_arc.h"
#include "kernels/recon/iterative/settings.h"
#include "kernels/recon/refinement_basis.h"

namespace isocenter::recon {

/// A box of voxels of the iterate, on one device. The pieces together are the vector x.
struct Piece {
  int device = 0;       // index among the job's devices
  VolumeGrid grid;      // of a run of slices of the result, or of the coarse surroundings
  int first_slice = 0;  // of the result's grid
  bool surroundings = false;
};

/// The rows of the detector that concern a device.
struct DeviceRows {
  RowRange seen;   // whose pixels its pieces contribute to, with a margin for measured matrices
  RowRange owned;  // of those, which it alone counts in sums over rows; count 0: none
};

/// Immutable once made. Its voxel_updates are of one pass: voxels times views times two.
struct RefinementPlan : RefinementBasis {
  FdkSettings fdk;                  // of the warm start
  ops::HounsfieldScale hounsfield;  // of the warm start and of the result
  IterativeSettings settings;       // with what was left to choose chosen
  /// Where the arc is too short for filtered back-projection, from whose volume it would begin: it
  /// begins with nothing. Whoever shows the result says so (LimitedArcText).
  std::optional<LimitedArc> limited_arc;
  /// Views of each subset in the order in which they are used; together they are all views, once.
  std::vector<std::vector<int>> subsets;
  /// EarlyFrames of the settings: the first so many frames must be there before each early pass.
  std::vector<int> early_frames;
  std::vector<Piece> pieces;     // first those of the result, in order of their slices
  std::vector<DeviceRows> rows;  // by device
  /// Not all pieces of a device, or not all projections, fit into its memory: they wait in host
  /// memory. A device may have several pieces in its memory, too: projectors take less for each.
  bool pieces_in_host = false;
  bool projections_in_host = false;
  /// Of so many subsets, the first ones, Aᵀ1 stays in memory; of the others it is computed again
  /// each time.
  int kept_column_sums = 0;

  int devices() const { return static_cast<int>(rows.size()); }
};

/// The rows of a detector of `rows` rows that any projector sees a piece in. Rays see a voxel up to
/// where the next one has its centre, which may be many rows away.
RowRange RowsOfPiece(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid, int rows);

/// A pure function of its arguments, as MakePlan, whose devices and `arrival` (of the warm start)
/// these are. Errors: INVALID_ARGUMENT (the field, its value, what is legal), NOT_FOUND (a method
/// that the backend lacks), RESOURCE_EXHAUSTED (what is needed and the limit).
absl::StatusOr<RefinementPlan> MakeRefinementPlan(const Acquisition& acquisition,
                                                  const VolumeGrid& grid, const FdkSettings& fdk,
                                                  const IterativeSettings& settings,
                                                  const ops::Registry& registry,
                                                  std::span<const ops::Device* const> devices,
                                                  Arrival arrival = Arrival::kComplete);

}  // namespace isocenter::recon
