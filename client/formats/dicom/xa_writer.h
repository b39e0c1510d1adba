// Writes acquisitions as rotational X-ray angiographic runs.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::formats {

/// The trajectory with the columns of the detector counted from the other side: frames that are
/// seen from the detector, as angiographic images are, instead of from the source.
Trajectory SeenFromDetector(const Trajectory& trajectory, int columns);

/// One X-Ray Angiographic Image object, explicit VR little endian, of 16-bit counts (LIN).
/// Positioner angles, distances and pixel spacing are those of `trajectory`, whose world is taken
/// as the patient's (LPS) and whose frames are seen from the detector; the class cannot hold how an
/// arm deviates from these. Frames are appended in order and never together in memory. Errors:
/// INVALID_ARGUMENT (pixels that are no counts; more than 4 GiB; more views than fit into the
/// vector of angles), NOT_FOUND and PERMISSION_DENIED (file).
absl::StatusOr<std::unique_ptr<FrameSink>> CreateXaRun(const std::filesystem::path& path,
                                                       const v1::AcquisitionHeader& header,
                                                       const Trajectory& trajectory);

}  // namespace isocenter::formats
