#include "kernels/quality/phantom_placement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/quality/body_outline.h"
#include "kernels/quality/handedness.h"

namespace isocenter::quality {
namespace {

using Kind = PhantomModule::Kind;

constexpr double kSearchMm = 15, kMostTiltDeg = 10, kMostDeviation = 400, kMostRmsMm = 1.5;

Vec3 Row(const VolumeGrid& grid) {
  return {grid.direction[0], grid.direction[3], grid.direction[6]};
}
Vec3 Normal(const VolumeGrid& grid) {
  return {grid.direction[2], grid.direction[5], grid.direction[8]};
}

std::vector<Marker> MarkersOf(const QualityPhantom& phantom) {
  std::vector<Marker> markers;
  for (const PhantomModule& module : phantom.modules) {
    if (module.kind != Kind::kBall) continue;
    markers.push_back({module.center, module.radius_mm, module.hounsfield});
  }
  return markers;
}

// The middle of what is denser than air.
Vec3 MiddleOf(const VolumeView& volume) {
  const VolumeGrid& grid = volume.grid;
  double count = 0;
  Vec3 sum;
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        if (!(volume.voxels(k, j, i) > -400)) continue;
        ++count;
        sum = sum + Vec3{double(i), double(j), double(k)};
      }
    }
  }
  const Vec3 middle = (1 / std::max(1.0, count)) * sum;
  return grid.VoxelToWorld(middle.x, middle.y, middle.z);
}

absl::StatusOr<FoundMarkers> FindBalls(const VolumeView& volume, std::vector<Marker> markers,
                                       const Vec3& shift) {
  for (Marker& marker : markers) marker.center = marker.center + shift;
  ISO_ASSIGN_OR_RETURN(FoundMarkers found, FindMarkers(volume, markers, kSearchMm));
  found.placement.shift = found.placement.ToWorld(shift);
  if (found.rms_mm <= kMostRmsMm) return found;
  return absl::NotFoundError(absl::StrFormat(
      "what is where the phantom's balls should be does not have their distances: %.2f mm are left "
      "of them; legal is %g: is it this phantom?",
      found.rms_mm, kMostRmsMm));
}

// Turned by quarters about z, and the other way round, as far as the balls are the same then.
std::vector<Placement> Alike(const Placement& placement, const std::vector<Marker>& markers) {
  std::vector<Placement> ways;
  for (const double flip : {1.0, -1.0}) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      const double c = quarter % 2 == 0 ? 1.0 - quarter : 0,
                   s = quarter % 2 == 1 ? 2.0 - quarter : 0;
      const Placement turn{{c, -s * flip, 0, s, c * flip, 0, 0, 0, flip}, {}};
      const bool same = std::ranges::all_of(markers, [&](const Marker& marker) {
        return std::ranges::any_of(markers, [&](const Marker& other) {
          return Norm(turn.Turn(marker.center) - other.center) < 0.01;
        });
      });
      if (!same) continue;
      Placement& way = ways.emplace_back(placement);
      for (int r = 0; r < 3; ++r) {
        for (int col = 0; col < 3; ++col) {
          way.rotation[3 * r + col] = 0;
          for (int i = 0; i < 3; ++i) {
            way.rotation[3 * r + col] += placement.rotation[3 * r + i] * turn.rotation[3 * i + col];
          }
        }
      }
    }
  }
  return ways;
}

absl::StatusOr<double> InsertDeviation(const VolumeView& volume, const QualityPhantom& phantom,
                                       const Placement& placement) {
  double squares = 0, count = 0;
  for (const PhantomModule& module : phantom.modules) {
    if (module.kind != Kind::kInsert) continue;
    ISO_ASSIGN_OR_RETURN(const RegionFigures figures,
                         MeasureRegion(volume, RodOf(placement, module, 0.6)));
    squares += (figures.mean - module.hounsfield) * (figures.mean - module.hounsfield);
    ++count;
  }
  return std::sqrt(squares / count);
}

absl::Status CheckSlices(const VolumeView& volume, const QualityPhantom& phantom,
                         const Placement& placement) {
  const VolumeGrid& grid = volume.grid;
  double low = grid.nz, high = -1;
  for (const PhantomModule& module : phantom.modules) {
    const Vec3 center = placement.ToWorld(module.center);
    const double k = grid.WorldToVoxel(center).z;
    low = std::min(low, k);
    high = std::max(high, k);
  }
  const int first = std::max(0, static_cast<int>(std::floor(low)));
  const int last = std::min(grid.nz - 1, static_cast<int>(std::ceil(high)));
  for (int k = first; k <= last; ++k) {
    const auto slice = volume.voxels.slices(k, 1).span();
    const float value = slice.front();
    if (std::ranges::any_of(slice, [value](float v) { return v != value; })) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("slice %d of %d is blank: all of its voxels are %g HU; legal are slices "
                        "that show the phantom: part of the scan is missing",
                        k + 1, grid.nz, value));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Placement>> Candidates(const VolumeView& volume,
                                                  const QualityPhantom& phantom,
                                                  PhantomPlace& place) {
  const std::vector<Marker> markers = MarkersOf(phantom);
  if (markers.size() < 4) return PlaceByOutline(volume, phantom);
  auto found = FindBalls(volume, markers, {});
  if (!found.ok()) {
    const auto again = FindBalls(volume, markers, MiddleOf(volume));
    if (again.ok()) found = again;
  }
  ISO_RETURN_IF_ERROR(found.status());
  place.markers = *found;
  return Alike(found->placement, markers);
}

}  // namespace

Rod RodOf(const Placement& placement, const PhantomModule& module, double part) {
  return {.center = placement.ToWorld(module.center),
          .radius_mm = part * module.radius_mm,
          .half_height_mm = part * module.half_height_mm,
          .axis = placement.Turn({0, 0, 1}),
          .across = placement.Turn({1, 0, 0})};
}

absl::StatusOr<PhantomPlace> PlacePhantom(const VolumeView& volume, const QualityPhantom& phantom) {
  ISO_RETURN_IF_ERROR(ValidateGrid(volume.grid));
  if (volume.voxels.shape() != volume.grid.shape()) {
    return absl::InvalidArgumentError(absl::StrFormat("the volume has %d voxels; its grid has %d",
                                                      volume.voxels.shape().count(),
                                                      volume.grid.voxels()));
  }
  PhantomPlace place;
  ISO_ASSIGN_OR_RETURN(const std::vector<Placement> candidates, Candidates(volume, phantom, place));
  place.insert_deviation_hu = std::numeric_limits<double>::infinity();
  absl::Status outside;
  for (const Placement& candidate : candidates) {
    const auto deviation = InsertDeviation(volume, phantom, candidate);
    if (!deviation.ok()) outside = deviation.status();
    if (!deviation.ok() || *deviation >= place.insert_deviation_hu) continue;
    place.insert_deviation_hu = *deviation;
    place.placement = candidate;
  }
  if (!std::isfinite(place.insert_deviation_hu)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the phantom's inserts are not in the scan: ", outside.message()));
  }
  ISO_RETURN_IF_ERROR(CheckSlices(volume, phantom, place.placement));
  if (place.insert_deviation_hu > kMostDeviation) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the inserts are %.0f HU from what they should be; legal is %g: is it the "
                        "phantom \"%s\", and are the voxels in Hounsfield units?",
                        place.insert_deviation_hu, kMostDeviation, phantom.name));
  }
  ISO_RETURN_IF_ERROR(CheckHandedness(volume, phantom, place.placement));
  const Vec3 axis = place.placement.Turn({0, 0, 1}), x = place.placement.Turn({1, 0, 0});
  const double upright = std::min(1.0, std::abs(Dot(axis, Normal(volume.grid))));
  place.tilt_deg = RadiansToDegrees(std::acos(upright));
  place.roll_deg = RadiansToDegrees(
      std::atan2(Dot(x, Cross(Normal(volume.grid), Row(volume.grid))), Dot(x, Row(volume.grid))));
  if (place.tilt_deg <= kMostTiltDeg) return place;
  return absl::InvalidArgumentError(
      absl::StrFormat("the phantom is tilted by %.1f degrees against the slices; legal is up to "
                      "%g: put it straight and scan again",
                      place.tilt_deg, kMostTiltDeg));
}

}  // namespace isocenter::quality
