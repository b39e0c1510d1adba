// An RTK acquisition: geometry XML and a stack of projections. docs/formats/rtk.md.
#pragma once

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"

namespace isocenter::formats {

/// `projections` is a MetaImage whose third axis counts the views. Floats are line integrals;
/// MET_USHORT is taken as counts with `i0_counts`. Errors: those of both readers; INVALID_ARGUMENT
/// when the numbers of views differ.
absl::StatusOr<std::unique_ptr<FrameSource>> OpenRtkAcquisition(
    const std::filesystem::path& geometry, const std::filesystem::path& projections,
    double i0_counts);

}  // namespace isocenter::formats
