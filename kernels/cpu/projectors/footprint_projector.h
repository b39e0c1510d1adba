// Forward projection and its adjoint with footprints: cuts the work into parts for the threads and
// runs the kernels on them.
#pragma once

#include <memory>

#include "kernels/cpu/device/buffers.h"
#include "kernels/cpu/projectors/footprint_runs.h"
#include "kernels/ops/projector.h"

namespace isocenter::cpu {

struct FootprintModel {
  Footprint footprint;
  int parts = 1;  // of a voxel along each axis, 1 or 2
  RunKernels kernels;
};

std::unique_ptr<ops::ForwardProject> NewFootprintForward(std::shared_ptr<ThreadPool> pool,
                                                         const FootprintModel& model);
std::unique_ptr<ops::MatchedBackproject> NewFootprintBack(std::shared_ptr<ThreadPool> pool,
                                                          const FootprintModel& model);

}  // namespace isocenter::cpu
