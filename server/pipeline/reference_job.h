// A job whose stored volume is held beside the frames of a self-calibration
// (docs/self-calibration.md).
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/geometry/volume_grid.h"
#include "server/jobs/job.h"
#include "server/jobs/job_table.h"
#include "server/pipeline/refinement_request.h"

namespace isocenter::pipeline {

/// Whether the volume of `reference` may be held beside the frames of `source`. Jobs of different
/// patient ids are refused: edges that correlate are a check of the volume, not of who it is. Ids
/// that are not known contradict nothing. Errors: INVALID_ARGUMENT (the frames are its own),
/// FAILED_PRECONDITION (not completed; a difference of two volumes; another patient: marked
/// private, with both ids).
absl::Status CheckReferenceJob(const jobs::Job& source, const jobs::Job& reference);

/// Completes a request that names a reference: the grid of that job's volume in axes of the world
/// of `refined` (the refinement, or whose frames it uses), and whether both tell a patient id.
/// Without a reference it stays as it is. Errors: FAILED_PRECONDITION (there is no such job any
/// more), INVALID_ARGUMENT (too few voxels for a reference).
absl::Status ResolveReference(const jobs::JobTable& table, const jobs::Job& refined,
                              RefinementRequest& request);

}  // namespace isocenter::pipeline
