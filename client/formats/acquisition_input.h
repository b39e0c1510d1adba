// Any acquisition that the command line accepts, by its name.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"

namespace isocenter::formats {

/// A bundle directory; a RabbitCT .rct of line integrals; an RTK geometry .xml with `projections`
/// (and `i0_counts` where these are counts, else 65535); a DICOM XA run, for which `projections`
/// may name a table of matrices and `i0_counts` overrides its largest value. Errors: those of the
/// readers; INVALID_ARGUMENT for other files.
absl::StatusOr<std::unique_ptr<FrameSource>> OpenAcquisition(
    const std::filesystem::path& path, const std::filesystem::path& projections,
    std::optional<double> i0_counts);

}  // namespace isocenter::formats
