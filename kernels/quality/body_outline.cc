#include "kernels/quality/body_outline.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter::quality {
namespace {

using Kind = PhantomModule::Kind;

constexpr double kTissue = -500, kDense = 650, kThin = -650;  // HU

// The middle of what is denser than air within `reach` of (x, y), in a slice; voxel indices.
struct Outline {
  double x = 0, y = 0, area_mm2 = 0;
};
Outline OutlineNear(const VolumeView& volume, int k, double x, double y, double reach) {
  const VolumeGrid& grid = volume.grid;
  double count = 0, sum_x = 0, sum_y = 0;
  for (int j = 0; j < grid.ny; ++j) {
    for (int i = 0; i < grid.nx; ++i) {
      if (!(volume.voxels(k, j, i) > kTissue)) continue;
      if (std::hypot((i - x) * grid.spacing.x, (j - y) * grid.spacing.y) > reach) continue;
      ++count;
      sum_x += i;
      sum_y += j;
    }
  }
  if (count == 0) return {};
  return {sum_x / count, sum_y / count, count * grid.spacing.x * grid.spacing.y};
}

struct Axis {
  Vec3 origin, along, across;  // world; `along` follows the slices' order
};

// The line through the middles of all slices that have an outline of the body's size.
absl::StatusOr<Axis> AxisOf(const VolumeView& volume, double radius) {
  const VolumeGrid& grid = volume.grid;
  std::vector<Vec3> middles;  // voxel indices
  const double expected = kPi * radius * radius;
  double largest = 0;
  for (int k = 0; k < grid.nz; ++k) {
    Outline outline{0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1)};
    // What lies beside the phantom, as a table does, is left out once its middle is known.
    for (const double reach : {1e9, 1.3 * radius, 1.1 * radius, 1.1 * radius}) {
      outline = OutlineNear(volume, k, outline.x, outline.y, reach);
    }
    largest = std::max(largest, outline.area_mm2);
    if (std::abs(outline.area_mm2 - expected) > 0.2 * expected) continue;
    middles.push_back({outline.x, outline.y, static_cast<double>(k)});
  }
  if (middles.size() < 10) {
    return absl::NotFoundError(absl::StrFormat(
        "%d slices of %d have an outline of the phantom's size, %.0f mm² (the largest has %.0f); "
        "legal is 10 or more: is it this phantom, and is it whole in the slices?",
        middles.size(), grid.nz, expected, largest));
  }
  Vec3 mean;
  const double share = 1.0 / static_cast<double>(middles.size());
  for (const Vec3& middle : middles) mean = mean + share * middle;
  double zz = 0, zx = 0, zy = 0;
  for (const Vec3& middle : middles) {
    const Vec3 off = middle - mean;
    zz += off.z * off.z;
    zx += off.z * off.x;
    zy += off.z * off.y;
  }
  const Vec3 origin = grid.VoxelToWorld(mean.x, mean.y, mean.z);
  const Vec3 next = grid.VoxelToWorld(mean.x + zx / zz, mean.y + zy / zz, mean.z + 1);
  const Vec3 along = (1 / Norm(next - origin)) * (next - origin);
  const auto& d = grid.direction;
  const Vec3 row{d[0], d[3], d[6]};
  const Vec3 level = row - Dot(row, along) * along;
  return Axis{origin, along, (1 / Norm(level)) * level};
}

// Calls visit(x, y, z, value) for each voxel whose distance from the axis is that of `insert`, to
// its radius; x and y across the axis, z along it.
template <class Visit>
void VisitRing(const VolumeView& volume, const Axis& axis, const PhantomModule& insert,
               Visit visit) {
  const VolumeGrid& grid = volume.grid;
  const Vec3 up = Cross(axis.along, axis.across);
  const double out = std::hypot(insert.center.x, insert.center.y);
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        const double value = volume.voxels(k, j, i);
        if (!(value > kDense || value < kThin)) continue;
        const Vec3 from = grid.VoxelToWorld(i, j, k) - axis.origin;
        const double x = Dot(from, axis.across), y = Dot(from, up);
        if (std::abs(std::hypot(x, y) - out) > insert.radius_mm) continue;
        visit(x, y, Dot(from, axis.along), value);
      }
    }
  }
}

// What is denser than kDense and thinner than kThin around the axis, at the inserts' distance.
struct Inserts {
  double dense = 0, thin = 0;   // mm³
  double cosine = 0, sine = 0;  // of the dense ones' angles, summed
  double middle = 0;            // along the axis, of both
};
Inserts FindInserts(const VolumeView& volume, const Axis& axis, const PhantomModule& insert) {
  const Vec3 spacing = volume.grid.spacing;
  const double voxel = spacing.x * spacing.y * spacing.z;
  Inserts found;
  double height = 0;
  VisitRing(volume, axis, insert, [&](double x, double y, double z, double value) {
    if (value < 0) return;
    found.dense += voxel;
    height += z * voxel;
    found.cosine += x / std::hypot(x, y);
    found.sine += y / std::hypot(x, y);
  });
  if (found.dense == 0) return found;
  // As far along the axis as the dense ones only: what is thin beyond the body's ends is air.
  const double dense = height / found.dense, reach = insert.half_height_mm + spacing.z;
  VisitRing(volume, axis, insert, [&](double, double, double z, double value) {
    if (value > 0 || std::abs(z - dense) > reach) return;
    found.thin += voxel;
    height += z * voxel;
  });
  found.middle = height / (found.dense + found.thin);
  return found;
}

const PhantomModule* Densest(const QualityPhantom& phantom) {
  const PhantomModule* densest = nullptr;
  for (const PhantomModule& module : phantom.modules) {
    if (module.kind != Kind::kInsert) continue;
    if (densest == nullptr || module.hounsfield > densest->hounsfield) densest = &module;
  }
  return densest;
}

// The phantom's axes in the world, for an angle of its x about `along`.
Placement PlacementOf(const Vec3& along, const Vec3& across, double roll, const Vec3& origin) {
  const Vec3 up = Cross(along, across);
  const Vec3 x = std::cos(roll) * across + std::sin(roll) * up;
  const Vec3 y = Cross(along, x);
  return {{x.x, y.x, along.x, x.y, y.y, along.y, x.z, y.z, along.z}, origin};
}

}  // namespace

absl::StatusOr<std::vector<Placement>> PlaceByOutline(const VolumeView& volume,
                                                      const QualityPhantom& phantom) {
  ISO_ASSIGN_OR_RETURN(const Axis axis, AxisOf(volume, phantom.body_radius_mm));
  const PhantomModule& dense = *Densest(phantom);
  const double out = std::hypot(dense.center.x, dense.center.y);
  const Inserts found = FindInserts(volume, axis, dense);
  const double whole = kPi * dense.radius_mm * dense.radius_mm * 2 * dense.half_height_mm;
  if (found.dense < 0.3 * whole || found.thin < 0.3 * whole) {
    return absl::NotFoundError(absl::StrFormat(
        "%.0f mm³ above %g HU and %.0f mm³ below %g HU are %.1f mm from the phantom's axis; legal "
        "is %.0f or more of each, of its inserts: is it this phantom, and are its inserts in the "
        "scan?",
        found.dense, kDense, found.thin, kThin, out, 0.3 * whole));
  }
  const Vec3 origin = axis.origin + (found.middle - dense.center.z) * axis.along;
  const double seen = std::atan2(found.sine, found.cosine);
  const double truth = std::atan2(dense.center.y, dense.center.x);
  // Against the slices' order angles run the other way: `across` is kept, `up` turns round.
  return std::vector<Placement>{
      PlacementOf(axis.along, axis.across, seen - truth, origin),
      PlacementOf(-axis.along, axis.across, -seen - truth,
                  axis.origin + (found.middle + dense.center.z) * axis.along)};
}

}  // namespace isocenter::quality
