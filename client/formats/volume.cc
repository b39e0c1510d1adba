#include "client/formats/volume.h"

#include <algorithm>
#include <new>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {

absl::StatusOr<Volume> WithRightHandedGrid(Volume volume, const std::string& where) {
  VolumeGrid& grid = volume.grid;
  auto& d = grid.direction;
  const double determinant = Dot(Cross({d[0], d[3], d[6]}, {d[1], d[4], d[7]}), {d[2], d[5], d[8]});
  if (determinant < 0) {
    grid.origin = grid.VoxelToWorld(0, 0, grid.nz - 1);
    for (const int i : {2, 5, 8}) d[i] = -d[i];
    const int64_t slice = int64_t{grid.nx} * grid.ny;
    for (int64_t low = 0, high = grid.nz - 1; low < high; ++low, --high) {
      std::swap_ranges(volume.voxels.begin() + low * slice,
                       volume.voxels.begin() + (low + 1) * slice,
                       volume.voxels.begin() + high * slice);
    }
  }
  if (absl::Status status = ValidateGrid(grid); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": ", status.message()));
  }
  return volume;
}

void CenterAtIsocenter(VolumeGrid& grid) {
  const Vec3 middle =
      grid.VoxelToWorld(0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0.5 * (grid.nz - 1));
  grid.origin = grid.origin - middle;
}

absl::StatusOr<int64_t> CheckedVoxelCount(int64_t nx, int64_t ny, int64_t nz,
                                          const std::string& where) {
  for (const int64_t n : {nx, ny, nz}) {
    if (n < 1 || n > 4096) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": size is ", nx, " x ", ny, " x ", nz,
                                                     "; legal is 1 to 4096 along each axis"));
    }
  }
  return nx * ny * nz;
}

absl::StatusOr<std::vector<float>> ReadVoxels(
    const std::string& where, int64_t count, const VoxelCoding& coding, uint64_t file_bytes,
    absl::FunctionRef<absl::Status(uint64_t offset, std::span<std::byte> bytes)> read) {
  constexpr size_t kPieceVoxels = 1 << 18;
  const size_t total = static_cast<size_t>(count);
  ISO_RETURN_IF_ERROR(CheckAvailableMemory(absl::StrCat(where, ": a volume of ", total, " voxels"),
                                           count * int64_t{sizeof(float)}));
  std::vector<float> voxels;
  try {
    std::vector<std::byte> stored(std::min(total, kPieceVoxels) * ElementBytes(coding.type));
    voxels.reserve(std::min<uint64_t>(total, file_bytes));
    while (voxels.size() < total) {
      const size_t piece = std::min(total - voxels.size(), kPieceVoxels);
      const std::span bytes = std::span(stored).first(piece * ElementBytes(coding.type));
      ISO_RETURN_IF_ERROR(read(voxels.size() * ElementBytes(coding.type), bytes));
      voxels.resize(voxels.size() + piece);
      ToFloat(bytes, coding.type, coding.big_endian, coding.slope, coding.intercept,
              std::span(voxels).last(piece));
    }
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(where, ": needs ", BytesText(static_cast<int64_t>(total * sizeof(float))),
                     " of memory for its voxels; there was none for more than ",
                     BytesText(static_cast<int64_t>(voxels.size() * sizeof(float)))));
  }
  return voxels;
}

}  // namespace isocenter::formats
