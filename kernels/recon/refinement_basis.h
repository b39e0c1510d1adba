// What the plans of all refinements say, whether they iterate or not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/recon/plan.h"

namespace isocenter::recon {

struct RefinementBasis {
  Acquisition acquisition;
  VolumeGrid grid;
  /// The volume that it begins with, in the same memory before all else; none: zero.
  std::optional<ReconstructionPlan> warm_start;
  int chunk_views = 0;  // at most so many views are worked on at once
  std::string methods;  // names of the operations, for people
  /// As those of a ReconstructionPlan, of the warm start or what follows, whichever needs more.
  MemoryParts device_parts;
  MemoryParts host_parts;
  int64_t peak_bytes = 0;    // of device_parts: upper bound of the memory of each device
  int64_t host_bytes = 0;    // of host_parts: upper bound of the host's
  double voxel_updates = 0;  // for predicting time

  int views() const { return static_cast<int>(acquisition.trajectory.size()); }
};

/// Views of which the frames are there at once, at most, in the warm start or after it.
int MostViewsAtOnce(const RefinementBasis& plan);

}  // namespace isocenter::recon
