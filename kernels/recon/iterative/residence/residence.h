// Where the vectors of an iterative method may be: in the devices' memory or in the host's, in how
// many pieces and chunks.
#pragma once

#include <vector>

#include "kernels/ops/device.h"
#include "kernels/recon/iterative/plan.h"

namespace isocenter::recon {

/// One way of keeping the vectors. What projectors take for themselves grows with a piece and a
/// chunk, so that smaller ones serve where everything has room in a device's memory, too.
struct Residence {
  bool projections_in_host = false;
  bool pieces_in_host = false;
  int piece_slices = 0;  // of a piece, at most
  int chunk_views = 0;
};

/// All ways, the one that takes most memory first. `share`: slices of the device that has most.
std::vector<Residence> Residences(const RefinementPlan& plan, const ops::DeviceTraits& traits,
                                  int share);

/// Whether each subset is one chunk: then a piece of its update is done with at once.
bool SubsetsAreChunks(const RefinementPlan& plan);

}  // namespace isocenter::recon
