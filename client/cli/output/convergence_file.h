// The convergence of a refinement as a file.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "isocenter/v1/jobs.pb.h"

namespace isocenter::cli {

/// Whether it can be written to. Errors: those of formats::CheckFileDestination.
absl::Status CheckConvergenceFile(const std::string& path);
/// Table or picture, by the ending. Errors: those of imaging::WriteConvergence.
absl::Status WriteConvergence(const v1::Job& job, const std::string& path);

}  // namespace isocenter::cli
