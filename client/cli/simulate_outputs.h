// What `isocenter simulate` writes, checked before its work.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "client/cli/options/simulate_flags.h"

namespace isocenter::cli {

/// "bundle", "rabbitct" or "dicom-xa": --format, or by the ending of --out.
std::string FormatOf(const SimulateOptions& options);

/// What is written, by its format, as far as it can be told before: of a RabbitCT data set the
/// volumes, too, and of a bundle the frames. Nothing that is there is replaced without --overwrite.
/// Errors: those of CheckFileDestination and CheckUnused.
absl::Status CheckOutputs(const SimulateOptions& options, const std::string& format,
                          int64_t frames);

/// Tells what was written. Errors: those of JsonOutput::Report.
absl::Status ReportOutputs(const SimulateOptions& options, const std::string& format,
                           int64_t frames, double seconds);

}  // namespace isocenter::cli
