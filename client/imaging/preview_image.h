// What a volume looks like while it is reconstructed.
#pragma once

#include "absl/status/statusor.h"
#include "client/formats/png_image.h"
#include "client/imaging/planes.h"
#include "isocenter/v1/jobs.pb.h"

namespace isocenter::imaging {

/// The planes side by side, as they come, in square pixels of the finest spacing, each below its
/// name; oriented as RenderPlane does, with the letters of SidesOf where the preview has its grid.
/// Errors: DATA_LOSS when a plane is not what its fields say or none is there, those of
/// wire::GridFromProto.
absl::StatusOr<formats::GrayImage> PreviewImage(const v1::Preview& preview, const Window& window);

}  // namespace isocenter::imaging
