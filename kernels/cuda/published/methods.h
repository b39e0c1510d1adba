// Forms of the operations as papers published them (docs/back-projection.md, docs/projection.md),
// to be measured against.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/projector.h"
#include "kernels/ops/registry.h"

namespace isocenter::cuda {

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectKernelA(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectKernelB(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectNaive(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectRapid(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectTexture(CudaSession& session);
/// Device memory that they take for themselves (ops::Factory::WorkspaceBytes); what is not here
/// takes nothing.
int64_t BackprojectKernelABytes(const ops::Extents& extents);
int64_t BackprojectKernelBBytes(const ops::Extents& extents);
int64_t BackprojectRapidBytes(const ops::Extents& extents);
int64_t BackprojectTextureBytes(const ops::Extents& extents);

/// Adds tests 1, 2, 3, 5, 6 and 7 of table II of Zinsser & Keck (2013) as "table2_test1" and so on;
/// tests 4 and 8 are kernel_a and kernel_b.
void RegisterZinsserKeckTable(ops::Registry& registry);
/// Adds the steps of Papenhausen & Mueller (2012) as back-projections "ladder_...".
void RegisterPapenhausenLadder(ops::Registry& registry);

/// Where the tables of crossings come from: from the host, view by view, or made once for views
/// that come again and kept on the device, some megabytes for each.
enum class LockStepTables { kCopied, kStored };
/// The ray-driven adjoint of Thompson & Lionheart (2014). Views without upright columns go to the
/// backend's own.
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectLockStep(
    CudaSession& session, LockStepTables tables);
int64_t BackprojectLockStepBytes(LockStepTables tables, const ops::Extents& extents);

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
