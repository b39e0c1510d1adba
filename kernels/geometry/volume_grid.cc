#include "kernels/geometry/volume_grid.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter {
namespace {

// A tenth of a micrometre, the least pixel of a detector too: micro-CT reaches about 0.5. Filtered
// projections grow as pixels shrink; those of such voxels are still far below what float16 holds.
constexpr double kLeastSpacingMm = 1e-4;

}  // namespace

Vec3 VolumeGrid::VoxelToWorld(double i, double j, double k) const {
  const double a = i * spacing.x, b = j * spacing.y, c = k * spacing.z;
  const auto& d = direction;
  return {origin.x + d[0] * a + d[1] * b + d[2] * c, origin.y + d[3] * a + d[4] * b + d[5] * c,
          origin.z + d[6] * a + d[7] * b + d[8] * c};
}

Vec3 VolumeGrid::WorldToVoxel(Vec3 world) const {
  const Vec3 p = world - origin;
  const auto& d = direction;
  return {(d[0] * p.x + d[3] * p.y + d[6] * p.z) / spacing.x,
          (d[1] * p.x + d[4] * p.y + d[7] * p.z) / spacing.y,
          (d[2] * p.x + d[5] * p.y + d[8] * p.z) / spacing.z};
}

VolumeGrid CenteredGrid(int nx, int ny, int nz, Vec3 spacing) {
  VolumeGrid grid{.nx = nx, .ny = ny, .nz = nz, .spacing = spacing};
  grid.origin = {-0.5 * (nx - 1) * spacing.x, -0.5 * (ny - 1) * spacing.y,
                 -0.5 * (nz - 1) * spacing.z};
  return grid;
}

absl::Status ValidateGrid(const VolumeGrid& grid) {
  const int counts[] = {grid.nx, grid.ny, grid.nz};
  const double spacings[] = {grid.spacing.x, grid.spacing.y, grid.spacing.z};
  const double origins[] = {grid.origin.x, grid.origin.y, grid.origin.z};
  const char* axes[] = {"x", "y", "z"};
  std::vector<std::string> wrong;  // of all axes: who forgot one has forgotten the others
  for (int a = 0; a < 3; ++a) {
    if (counts[a] < 1 || counts[a] > 4096) {
      wrong.push_back(absl::StrCat("grid.n", axes[a], " is ", counts[a], "; legal is 1 to 4096"));
    }
    if (!(spacings[a] >= kLeastSpacingMm && spacings[a] <= 100)) {
      wrong.push_back(absl::StrCat("grid.spacing_", axes[a], "_mm is ", spacings[a], "; legal is ",
                                   kLeastSpacingMm, " to 100"));
    }
    if (!(std::abs(origins[a]) <= 10000)) {
      wrong.push_back(absl::StrCat("grid.origin_", axes[a], "_mm is ", origins[a],
                                   "; legal is -10000 to 10000"));
    }
  }
  if (!wrong.empty()) return absl::InvalidArgumentError(absl::StrJoin(wrong, "; "));
  const auto& d = grid.direction;
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b <= a; ++b) {
      const double dot = d[a] * d[b] + d[3 + a] * d[3 + b] + d[6 + a] * d[6 + b];
      if (!(std::abs(dot - (a == b ? 1 : 0)) <= 1e-4)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "grid.direction: the product of columns ", b, " and ", a, " is ", dot, "; legal is ",
            a == b ? "1 (unit length)" : "0 (perpendicular)", " to within 1e-4"));
      }
    }
  }
  const double determinant = Dot(Cross({d[0], d[3], d[6]}, {d[1], d[4], d[7]}), {d[2], d[5], d[8]});
  if (determinant < 0) {
    return absl::InvalidArgumentError(absl::StrCat("grid.direction has determinant ", determinant,
                                                   "; legal is +1 (right-handed)"));
  }
  return absl::OkStatus();
}

}  // namespace isocenter
