// A voxel volume in host memory, as files hold it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::formats {

/// Voxels in Hounsfield units, [z][y][x]. The grid is in millimetres; file formats that know the
/// patient are mapped to DICOM's LPS axes (x to the left, y to the back, z to the head).
struct Volume {
  VolumeGrid grid;
  std::vector<float> voxels;

  HostView3<const float> view() const { return {voxels.data(), grid.shape()}; }
};

/// Reverses the order of the slices where the direction cosines are left-handed, and checks the
/// grid. `where` names the file in errors. Errors: INVALID_ARGUMENT.
absl::StatusOr<Volume> WithRightHandedGrid(Volume volume, const std::string& where);

/// Moves the middle of the grid to the isocentre; the direction cosines stay.
void CenterAtIsocenter(VolumeGrid& grid);

/// Number of voxels of a grid as a file claims it. Errors: INVALID_ARGUMENT when a count is outside
/// 1..4096.
absl::StatusOr<int64_t> CheckedVoxelCount(int64_t nx, int64_t ny, int64_t nz,
                                          const std::string& where);

}  // namespace isocenter::formats
