// A voxel volume in host memory, as files hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/formats/element_type.h"
#include "client/formats/facts/volume_facts.h"
#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::formats {

/// Voxels in Hounsfield units, [z][y][x]. The grid is in millimetres; file formats that know the
/// patient are mapped to DICOM's LPS axes (x to the left, y to the back, z to the head).
struct Volume {
  VolumeGrid grid;
  std::vector<float> voxels;
  VolumeFacts facts{};

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

/// Deflate cannot shrink data by more than this factor; larger claims are false.
inline constexpr uint64_t kLargestDeflateRatio = 1100;

/// How a file stores its voxels: value = slope · stored + intercept.
struct VoxelCoding {
  ElementType type = ElementType::kInt16;
  bool big_endian = false;
  double slope = 1, intercept = 0;
};

/// Reads `count` voxels front to back; `read` fills its bytes from an offset into the voxels' data.
/// Memory is taken for as many voxels as the file has bytes, and for more, which only compressed
/// data have, as they come. Errors: those of `read`; RESOURCE_EXHAUSTED when all the voxels are
/// more than the memory that there is.
absl::StatusOr<std::vector<float>> ReadVoxels(
    const std::string& where, int64_t count, const VoxelCoding& coding, uint64_t file_bytes,
    absl::FunctionRef<absl::Status(uint64_t offset, std::span<std::byte> bytes)> read);

}  // namespace isocenter::formats
