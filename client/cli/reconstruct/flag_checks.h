// What flags of `isocenter reconstruct` do not go together.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "client/cli/reconstruct/options.h"
#include "client/formats/destination.h"

namespace isocenter::cli {

/// Where --out goes.
formats::Destination VolumeDestination(const ReconstructOptions& options);

/// Settings of the algorithm; none for fdk. Checks all flags that need no acquisition. Errors:
/// wrong usage, INVALID_ARGUMENT (values), those of destinations.
absl::StatusOr<std::optional<recon::IterativeSettings>> CheckFlags(
    const ReconstructOptions& options);

/// Fan beams have a recipe of their own, of which some flags are none. INVALID_ARGUMENT.
absl::Status CheckFanBeamFlags(const ReconstructOptions& options);

}  // namespace isocenter::cli
