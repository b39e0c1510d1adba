// A rotational X-ray angiographic run as an acquisition. docs/formats/dicom-xa.md.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"

namespace isocenter::formats {

/// Opens a multi-frame object of the classes X-Ray Angiographic Image or Enhanced XA Image, in any
/// transfer syntax that DCMTK decodes: uncompressed, RLE, JPEG, JPEG-LS. Frames are decoded one at
/// a time; the file is never in memory as a whole. `matrices` names a trajectory table with one
/// matrix per frame (docs/formats/trajectory.md); empty: an ideal orbit from the positioner angles.
/// Without `i0_counts` the unattenuated intensity is the largest value that the file can hold.
/// notes() of the source says what was assumed. Errors: INVALID_ARGUMENT (file, attribute, value,
/// what is needed), those of ReadTrajectoryCsv; from Read DATA_LOSS.
absl::StatusOr<std::unique_ptr<FrameSource>> OpenXaRun(const std::filesystem::path& path,
                                                       const std::filesystem::path& matrices,
                                                       std::optional<double> i0_counts);

}  // namespace isocenter::formats
