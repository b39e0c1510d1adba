#include "kernels/recon/self_calibration/reference/reference_volume.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::recon {
namespace {

constexpr int kLeastVoxels = 8;

int CountTogether(int count, double spacing, double voxel_mm) {
  const int most = std::max(1, count / kLeastVoxels);
  return std::clamp(static_cast<int>(voxel_mm / spacing + 1e-6), 1, most);
}

BlockSize BlockOf(const VolumeGrid& grid, double voxel_mm) {
  return {.x = CountTogether(grid.nx, grid.spacing.x, voxel_mm),
          .y = CountTogether(grid.ny, grid.spacing.y, voxel_mm),
          .z = CountTogether(grid.nz, grid.spacing.z, voxel_mm)};
}

// What is left at the ends is left out.
VolumeGrid BlockGrid(const VolumeGrid& grid, BlockSize of) {
  VolumeGrid to = grid;
  to.nx = grid.nx / of.x, to.ny = grid.ny / of.y, to.nz = grid.nz / of.z;
  to.origin = grid.VoxelToWorld((of.x - 1) / 2.0, (of.y - 1) / 2.0, (of.z - 1) / 2.0);
  to.spacing = {grid.spacing.x * of.x, grid.spacing.y * of.y, grid.spacing.z * of.z};
  return to;
}

// A slice of `made`: means of blocks of `value(i, j, k)`, k from 0 to of.z.
template <class Value>
void AppendSlice(const VolumeGrid& made, BlockSize of, const Value& value, std::vector<float>& mu) {
  for (int j = 0; j < made.ny; ++j) {
    for (int i = 0; i < made.nx; ++i) {
      double sum = 0;
      for (int c = 0; c < of.z; ++c) {
        for (int b = j * of.y; b < (j + 1) * of.y; ++b) {
          for (int a = i * of.x; a < (i + 1) * of.x; ++a) sum += value(a, b, c);
        }
      }
      mu.push_back(static_cast<float>(sum / (of.x * of.y * of.z)));
    }
  }
}

}  // namespace

ReferenceMaker::ReferenceMaker(const VolumeGrid& grid, double mu_water_per_mm, double voxel_mm)
    : given_(grid), mu_water_per_mm_(mu_water_per_mm), block_(BlockOf(grid, voxel_mm)) {
  made_ = BlockGrid(grid, block_);
}

absl::StatusOr<ReferenceMaker> ReferenceMaker::Create(const VolumeGrid& grid,
                                                      double mu_water_per_mm, double voxel_mm) {
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  if (std::min({grid.nx, grid.ny, grid.nz}) < kLeastVoxels) {
    return absl::InvalidArgumentError(
        absl::StrFormat("reference volume of %dx%dx%d voxels; legal is %d or more along each axis",
                        grid.nx, grid.ny, grid.nz, kLeastVoxels));
  }
  return ReferenceMaker(grid, mu_water_per_mm, voxel_mm);
}

int64_t ReferenceMaker::bytes() const {
  const int64_t slices = int64_t{given_.nx} * given_.ny * block_.z;
  return (made_.voxels() + slices) * static_cast<int64_t>(sizeof(float));
}

absl::Status ReferenceMaker::Add(HostView3<const float> hounsfield) {
  if (slices_wanted() == 0) {
    return absl::FailedPreconditionError("the reference volume has all of its slices already");
  }
  const Shape3 shape{block_.z, given_.ny, given_.nx};
  if (hounsfield.shape() != shape) {
    return absl::InvalidArgumentError("reference volume: voxels of another number than its grid's");
  }
  mu_.reserve(made_.voxels());
  const auto mu = [&](int i, int j, int k) {
    const double hu = hounsfield(k, j, i);
    return std::isfinite(hu) ? std::max(0.0, mu_water_per_mm_ * (1 + hu / 1000)) : 0.0;
  };
  AppendSlice(made_, block_, mu, mu_);
  ++done_;
  return absl::OkStatus();
}

absl::StatusOr<ReferenceVolume> ReferenceMaker::Finish() {
  if (slices_wanted() > 0) {
    return absl::FailedPreconditionError(
        absl::StrFormat("the reference volume lacks %d slices", slices_wanted()));
  }
  const float most = *std::max_element(mu_.begin(), mu_.end());
  if (!(most > 0.5 * mu_water_per_mm_)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "reference volume: its densest voxel has %.0f HU; legal is a volume in HU with something "
        "denser than -500",
        1000 * (most / mu_water_per_mm_ - 1)));
  }
  ReferenceVolume reference{.grid = made_, .mu = std::move(mu_)};
  reference.middle_mm =
      made_.VoxelToWorld((made_.nx - 1) / 2.0, (made_.ny - 1) / 2.0, (made_.nz - 1) / 2.0);
  reference.grid.origin = made_.origin - reference.middle_mm;
  return reference;
}

absl::StatusOr<ReferenceVolume> MakeReference(const VolumeGrid& grid,
                                              HostView3<const float> hounsfield,
                                              double mu_water_per_mm, double voxel_mm) {
  ISO_ASSIGN_OR_RETURN(ReferenceMaker maker,
                       ReferenceMaker::Create(grid, mu_water_per_mm, voxel_mm));
  if (hounsfield.shape() != grid.shape()) {
    return absl::InvalidArgumentError("reference volume: voxels of another number than its grid's");
  }
  const int at_once = maker.slices_at_once();
  for (int slice = 0; maker.slices_wanted() > 0; slice += at_once) {
    ISO_RETURN_IF_ERROR(maker.Add(hounsfield.slices(slice, at_once)));
  }
  return maker.Finish();
}

ReferenceVolume Coarser(const ReferenceVolume& reference, double voxel_mm) {
  const VolumeGrid& grid = reference.grid;
  const BlockSize of = BlockOf(grid, voxel_mm);
  ReferenceVolume coarse{.grid = BlockGrid(grid, of)};
  coarse.mu.reserve(coarse.grid.voxels());
  for (int slice = 0; slice < coarse.grid.nz; ++slice) {
    const auto mu = [&](int i, int j, int k) {
      return double{reference.mu[(int64_t{slice * of.z + k} * grid.ny + j) * grid.nx + i]};
    };
    AppendSlice(coarse.grid, of, mu, coarse.mu);
  }
  return coarse;
}

}  // namespace isocenter::recon
