// The plan of an iterative reconstruction: what is known before it begins.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/recon/iterative/settings.h"
#include "kernels/recon/plan.h"

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

/// Immutable once made.
struct RefinementPlan {
  Acquisition acquisition;
  VolumeGrid grid;
  FdkSettings fdk;                  // of the warm start
  ops::HounsfieldScale hounsfield;  // of the warm start and of the result
  IterativeSettings settings;       // with what was left to choose chosen
  /// Views of each subset in the order in which they are used; together they are all views, once.
  std::vector<std::vector<int>> subsets;
  int chunk_views = 0;           // at most so many views of a subset are worked on at once
  std::vector<Piece> pieces;     // first those of the result, in order of their slices
  std::vector<DeviceRows> rows;  // by device
  /// Not all pieces of a device, or not all projections, fit into its memory: they wait in host
  /// memory.
  bool pieces_in_host = false;
  bool projections_in_host = false;
  /// Aᵀ1 of every subset stays in memory; else it is computed again each time.
  bool keep_column_sums = true;
  /// The volume that it begins with, in the same memory before the iterations; none: zero.
  std::optional<ReconstructionPlan> warm_start;
  std::string methods;  // names of the projectors, for people
  /// As those of a ReconstructionPlan, of the warm start or the iterations, whichever needs more.
  MemoryParts device_parts;
  MemoryParts host_parts;
  int64_t peak_bytes = 0;  // of device_parts: upper bound of the memory of each device
  int64_t host_bytes = 0;  // of host_parts: upper bound of the host's
  /// Voxels times views times two for each pass, for predicting time.
  double voxel_updates = 0;

  int views() const { return static_cast<int>(acquisition.trajectory.size()); }
  int devices() const { return static_cast<int>(rows.size()); }
};

/// The rows of a detector of `rows` rows that any projector sees a piece in. Rays see a voxel up to
/// where the next one has its centre, which may be many rows away.
RowRange RowsOfPiece(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid, int rows);

/// Views of which the frames are there at once, at most, in the warm start or for the iterations.
int MostViewsAtOnce(const RefinementPlan& plan);

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
