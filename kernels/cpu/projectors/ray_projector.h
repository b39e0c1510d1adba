// Forward projection along rays and its adjoint: what is around the kernels of a model.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cpu/projectors/project_job.h"
#include "kernels/ops/device.h"
#include "kernels/ops/projector.h"

namespace isocenter::cpu {

/// Run by all threads, each with jobs of its own, for the instruction set of the moment.
using RunForward = void (*)(const ForwardJob&);
using RunScatter = void (*)(const ScatterJob&);

/// A job for row sums has no voxels. Errors: INVALID_ARGUMENT (a session of another backend).
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewRayForwardProject(ops::Session& session,
                                                                          RunForward run);
absl::StatusOr<std::unique_ptr<ops::RowSums>> NewRayRowSums(ops::Session& session, RunForward run);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewRayMatchedBackproject(
    ops::Session& session, RunScatter run);

}  // namespace isocenter::cpu
