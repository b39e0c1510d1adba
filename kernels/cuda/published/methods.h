// Forms of the operations as papers published them (docs/back-projection.md, docs/projection.md),
// to be measured against.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/projector.h"

namespace isocenter::cuda {

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectKernelA(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectKernelB(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectNaive(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectRapid(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectTexture(CudaSession& session);

/// Which plane of voxels the threads of Du et al. (2017) are: perpendicular to z, y or x.
enum class DuPlane { kAxial, kCoronal, kSagittal };
/// `beyond` is for views whose central ray is more than `critical_angle` (radians, 0 to π/2) from
/// the y axis of the grid, `plane` for the others.
struct DuPlanes {
  DuPlane plane, beyond;
  double critical_angle;
};
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectDu(CudaSession& session, int parts,
                                                                  const DuPlanes& planes);

}  // namespace isocenter::cuda
