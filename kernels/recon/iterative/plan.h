// The plan of an iterative reconstruction: what is known before it begins.
#pragma once

#include <cstdint>
#include <span>
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
  FdkSettings fdk;             // of the warm start; its mu_water is what Hounsfield units refer to
  IterativeSettings settings;  // with what was left to choose chosen
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
  int64_t peak_bytes = 0;  // upper bound of the memory of each device
  int64_t host_bytes = 0;  // upper bound of host memory, the acquisition's frames not included
  /// Voxels times views times two for each pass, for predicting time.
  double voxel_updates = 0;

  int views() const { return static_cast<int>(acquisition.trajectory.size()); }
  int devices() const { return static_cast<int>(rows.size()); }
};

/// A function of its arguments alone. The devices, at least one and all of one backend, state how
/// they like their work and what it takes, in sessions of their own; no work is done. Errors:
/// INVALID_ARGUMENT (the field, its value, what is legal), RESOURCE_EXHAUSTED (what is needed and
/// the limit).
absl::StatusOr<RefinementPlan> MakeRefinementPlan(const Acquisition& acquisition,
                                                  const VolumeGrid& grid, const FdkSettings& fdk,
                                                  const IterativeSettings& settings,
                                                  const ops::Registry& registry,
                                                  std::span<ops::Device* const> devices);

}  // namespace isocenter::recon
