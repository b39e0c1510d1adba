// How much of a grid the views see at all.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

/// Refuses a grid whose volume would have nothing in it. Errors: INVALID_ARGUMENT when in every
/// view all of it lies beside the detector.
absl::Status CheckGridIsSeen(const Acquisition& acquisition, const VolumeGrid& grid);

/// Voxels count as seen that half of the views, or more, have on the detector.
inline constexpr double kLeastSeenShare = 0.1;
/// A sentence for people where less than kLeastSeenShare of the grid is seen, told by some voxels
/// and views from all over. A cube around the field of view has half and more.
std::optional<std::string> LittleSeenText(const Acquisition& acquisition, const VolumeGrid& grid);

}  // namespace isocenter::recon
