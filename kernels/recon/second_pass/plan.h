// The plan of a second pass: what is known before it begins.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/second_pass/settings.h"

namespace isocenter::recon {

/// Immutable once made.
struct SecondPassPlan {
  Acquisition acquisition;
  VolumeGrid grid;
  SecondPassSettings settings;
  ReconstructionPlan first;  // of the frames as they came
  ReconstructionPlan again;  // of their corrected line integrals, to the same HU
  int chunk_views = 0;       // at most so many views are projected at once
  int slab_slices = 0;       // and so many slices
  int stripe_rows = 0;       // rows of all views that stripes are taken off at once
  std::string methods;       // names of the operations, for people
  /// As those of a ReconstructionPlan, of a reconstruction or the projections, whichever needs
  /// more.
  MemoryParts device_parts;
  MemoryParts host_parts;
  int64_t peak_bytes = 0;
  int64_t host_bytes = 0;
  double voxel_updates = 0;  // of all that comes after the first volume

  int views() const { return first.views(); }
};

/// A pure function of its arguments, as MakePlan, whose devices and `arrival` (of the first pass)
/// these are. Lines are projected on the first device alone. Errors: INVALID_ARGUMENT (the field,
/// its value, what is legal; bone without a calibration that has a bone table), NOT_FOUND (a method
/// that the backend lacks), RESOURCE_EXHAUSTED (what is needed and the limit).
absl::StatusOr<SecondPassPlan> MakeSecondPassPlan(const Acquisition& acquisition,
                                                  const VolumeGrid& grid, const FdkSettings& fdk,
                                                  const SecondPassSettings& settings,
                                                  const ops::Registry& registry,
                                                  std::span<const ops::Device* const> devices,
                                                  Arrival arrival = Arrival::kComplete);

/// What projects, and the operations on what was projected, by backend.
struct SecondPassMethods {
  ops::ForwardProjectFactory project;
  ops::ArithmeticFactory arithmetic;
  ops::InterpolateTraceFactory trace;
  ops::CorrectBoneFactory bone;
  ops::RemoveStripesFactory stripes;
  std::string description;

  /// Errors: NOT_FOUND.
  static absl::StatusOr<SecondPassMethods> Find(const ops::Registry& registry,
                                                absl::string_view backend);
};

}  // namespace isocenter::recon
