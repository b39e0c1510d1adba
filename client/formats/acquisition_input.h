// Any acquisition that the command line accepts, by its name.
#pragma once

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"

namespace isocenter::formats {

/// A bundle directory, a RabbitCT .rct of line integrals, or an RTK geometry .xml with
/// `projections` (and `i0_counts` where these are counts). Errors: those of the readers;
/// INVALID_ARGUMENT for other names.
absl::StatusOr<std::unique_ptr<FrameSource>> OpenAcquisition(
    const std::filesystem::path& path, const std::filesystem::path& projections, double i0_counts);

}  // namespace isocenter::formats
