// isocenter reconstruct --find-defects.
#pragma once

#include <cstdio>

#include "absl/status/statusor.h"
#include "kernels/ops/operations.h"
#include "kernels/recon/plan.h"

namespace isocenter::cli {

/// The acquisition with a calibration that has the frames' new defects (calibrate::FindNewDefects),
/// too; says in `file` how many there are. Errors: INVALID_ARGUMENT (line integrals), those of
/// FindNewDefects.
absl::StatusOr<recon::Acquisition> WithNewDefects(recon::Acquisition acquisition,
                                                  const ops::RawFrames& frames, int threads,
                                                  std::FILE* file);

}  // namespace isocenter::cli
