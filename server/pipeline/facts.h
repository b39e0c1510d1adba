// What a plan says of its acquisition, for DICOM and for telling acquisitions apart.
#pragma once

#include <string>

#include "kernels/recon/plan.h"
#include "server/jobs/job.h"

namespace isocenter::pipeline {

/// SHA-256 of the matrices (float64, little-endian, row-major, in frame order), in hexadecimal.
std::string TrajectoryHash(const Trajectory& trajectory);

/// The facts that follow from the plan; distances are those of the middle view. What only the
/// header knows stays unset.
jobs::AcquisitionFacts FactsOf(const recon::ReconstructionPlan& plan);

}  // namespace isocenter::pipeline
