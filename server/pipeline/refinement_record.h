// A refinement as the job table keeps it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/pipeline/refinement_request.h"

namespace isocenter::pipeline {

/// Whether a warning is of frames or of what corrects them, rather than of the course of a job:
/// then it holds for all volumes that are made of these frames.
bool IsOfTheFrames(jobs::WarningKind kind);

/// A new refinement of `source`, which is or is about to be completed with `stored`: of the same
/// patient, study, grid and position in the scanner, with its warnings of the frames,
/// but that they are cut where rows are completed.
jobs::Job RefinementRecord(const std::string& id, const jobs::Job& source,
                           const jobs::StoredSeries& stored, const RefinementRequest& request,
                           absl::Time now);

/// Whether a request can be met with so many frames. Errors: FAILED_PRECONDITION (of which job, and
/// what is legal).
absl::Status CheckFrameCount(const std::string& source_id, const RefinementRequest& request,
                             size_t frames);

/// Whether a job has a volume and frames of its own. Errors: FAILED_PRECONDITION.
absl::Status CheckRefinable(const jobs::Job& source);

/// Whether a volume of one phase can be made of a scan whose frames have told their phases, and all
/// volumes that it is one of; then what is known of it goes into the job, and a warning where its
/// frames lie far apart. Errors: FAILED_PRECONDITION, with the numbers of frames.
absl::Status CheckGates(const recon::Acquisition& scan, const RefinementRequest& request,
                        jobs::Job& job);

/// The phase that a job of before a restart is of, into what its recipe says. Errors: DATA_LOSS (a
/// recipe of no refinement, and no phase).
absl::Status AddPhase(const jobs::Job& job, RefinementRequest& request);

/// The job that was made for a request id before. Errors: INVALID_ARGUMENT (for another request).
absl::StatusOr<jobs::JobSnapshot> ExistingRefinement(const jobs::JobSnapshot& known,
                                                     const std::string& source_id,
                                                     const RefinementRequest& request);

}  // namespace isocenter::pipeline
