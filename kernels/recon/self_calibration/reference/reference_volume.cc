#include "kernels/recon/self_calibration/reference/reference_volume.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::recon {
namespace {

constexpr int kLeastVoxels = 8;

int Together(int count, double spacing, double voxel_mm) {
  const int most = std::max(1, count / kLeastVoxels);
  return std::clamp(static_cast<int>(voxel_mm / spacing + 1e-6), 1, most);
}

// Means of blocks of `value(i, j, k)`; what is left at the ends is left out.
template <class Value>
ReferenceVolume Blocks(const VolumeGrid& grid, double voxel_mm, const Value& value) {
  const int of_x = Together(grid.nx, grid.spacing.x, voxel_mm);
  const int of_y = Together(grid.ny, grid.spacing.y, voxel_mm);
  const int of_z = Together(grid.nz, grid.spacing.z, voxel_mm);
  ReferenceVolume coarse{.grid = grid};
  VolumeGrid& to = coarse.grid;
  to.nx = grid.nx / of_x, to.ny = grid.ny / of_y, to.nz = grid.nz / of_z;
  to.origin = grid.VoxelToWorld((of_x - 1) / 2.0, (of_y - 1) / 2.0, (of_z - 1) / 2.0);
  to.spacing = {grid.spacing.x * of_x, grid.spacing.y * of_y, grid.spacing.z * of_z};
  coarse.mu.reserve(to.voxels());
  for (int k = 0; k < to.nz; ++k) {
    for (int j = 0; j < to.ny; ++j) {
      for (int i = 0; i < to.nx; ++i) {
        double sum = 0;
        for (int c = k * of_z; c < (k + 1) * of_z; ++c) {
          for (int b = j * of_y; b < (j + 1) * of_y; ++b) {
            for (int a = i * of_x; a < (i + 1) * of_x; ++a) sum += value(a, b, c);
          }
        }
        coarse.mu.push_back(static_cast<float>(sum / (of_x * of_y * of_z)));
      }
    }
  }
  return coarse;
}

}  // namespace

absl::StatusOr<ReferenceVolume> MakeReference(const VolumeGrid& grid,
                                              HostView3<const float> hounsfield,
                                              double mu_water_per_mm, double voxel_mm) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  if (hounsfield.shape() != grid.shape()) {
    return absl::InvalidArgumentError("reference volume: voxels of another number than its grid's");
  }
  if (std::min({grid.nx, grid.ny, grid.nz}) < kLeastVoxels) {
    return absl::InvalidArgumentError(
        absl::StrFormat("reference volume of %dx%dx%d voxels; legal is %d or more along each axis",
                        grid.nx, grid.ny, grid.nz, kLeastVoxels));
  }
  ReferenceVolume reference = Blocks(grid, voxel_mm, [&](int i, int j, int k) {
    const double hu = hounsfield(k, j, i);
    return std::isfinite(hu) ? std::max(0.0, mu_water_per_mm * (1 + hu / 1000)) : 0.0;
  });
  VolumeGrid& made = reference.grid;
  reference.middle_mm =
      made.VoxelToWorld((made.nx - 1) / 2.0, (made.ny - 1) / 2.0, (made.nz - 1) / 2.0);
  made.origin = made.origin - reference.middle_mm;
  const float most = *std::max_element(reference.mu.begin(), reference.mu.end());
  if (!(most > 0.5 * mu_water_per_mm)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "reference volume: its densest voxel has %.0f HU; legal is a volume in HU with something "
        "denser than -500",
        1000 * (most / mu_water_per_mm - 1)));
  }
  return reference;
}

ReferenceVolume Coarser(const ReferenceVolume& reference, double voxel_mm) {
  const VolumeGrid& grid = reference.grid;
  return Blocks(grid, voxel_mm, [&](int i, int j, int k) {
    return double{reference.mu[(int64_t{k} * grid.ny + j) * grid.nx + i]};
  });
}

}  // namespace isocenter::recon
