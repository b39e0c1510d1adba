#include "kernels/quality/sphere_transfer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/quality/edge_spread.h"

namespace isocenter::quality {
namespace {

constexpr double kBinsToAVoxel = 8;
constexpr int kCenterings = 4;
constexpr double kConeDeg = 30;  // half of its opening

struct Sample {
  Vec3 at;  // along the grid's axes, from the centre
  double value = 0;
};

absl::Status Check(const VolumeGrid& grid, const Sphere& sphere, double reach_mm) {
  const Vec3 s = grid.spacing;
  if (!(std::abs(s.x - s.y) <= 0.01 * s.x)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "voxels are %g x %g mm in a slice; legal are square ones, to 1 %%", s.x, s.y));
  }
  const double least = 4 * std::max(s.x, s.z);
  if (reach_mm >= least && reach_mm <= sphere.radius_mm) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("the reach is %g mm; legal is 4 voxels, %g mm, to the sphere's radius of %g",
                      reach_mm, least, sphere.radius_mm));
}

absl::StatusOr<std::vector<Sample>> SamplesAround(const VolumeView& volume, const Sphere& sphere,
                                                  double radius) {
  const auto& d = volume.grid.direction;
  const Rod around{.center = sphere.center,
                   .radius_mm = radius,
                   .half_height_mm = radius,
                   .axis = {d[2], d[5], d[8]},
                   .across = {d[0], d[3], d[6]}};
  std::vector<Sample> samples;
  ISO_RETURN_IF_ERROR(VisitRod(volume, around, [&](double value, Vec3 at) {
    samples.push_back({at, value});
  }));
  return samples;
}

// Moves the origin to the centroid of what the samples have above `background` within `radius`.
void Center(std::vector<Sample>& samples, double background, double radius) {
  for (int round = 0; round < kCenterings; ++round) {
    double sum = 0;
    Vec3 moment;
    for (const Sample& s : samples) {
      if (Norm(s.at) > radius) continue;
      sum += s.value - background;
      moment = moment + (s.value - background) * s.at;
    }
    if (sum == 0) return;
    for (Sample& s : samples) s.at = s.at - (1 / sum) * moment;
  }
}

enum class Facing { kAny, kInPlane, kAxial };

std::vector<DistanceValue> Distances(const std::vector<Sample>& samples, Facing facing) {
  const double cone = std::cos(DegreesToRadians(kConeDeg)),
               plane = std::sin(DegreesToRadians(kConeDeg));
  std::vector<DistanceValue> values;
  for (const Sample& s : samples) {
    const double distance = Norm(s.at), height = std::abs(s.at.z);
    if (facing == Facing::kInPlane && height > plane * distance) continue;
    if (facing == Facing::kAxial && height < cone * distance) continue;
    values.push_back({distance, s.value});
  }
  return values;
}

// A symmetric transfer function back to lengths, 1 at length 0.
FrequencyCurve TransformBack(const FrequencyCurve& transfer, double step, int steps) {
  FrequencyCurve profile;
  for (int i = 0; i <= steps; ++i) {
    double sum = 0.5 * transfer.values.front();
    for (size_t n = 1; n < transfer.values.size(); ++n) {
      sum += transfer.values[n] * std::cos(2 * kPi * transfer.frequencies[n] * i * step);
    }
    profile.frequencies.push_back(i * step);
    profile.values.push_back(sum);
  }
  const double peak = profile.values.front();
  for (double& value : profile.values) value /= peak;
  return profile;
}

}  // namespace

absl::StatusOr<SphereTransfer> MeasureSphere(const VolumeView& volume, const Sphere& sphere,
                                             double reach_mm) {
  ISO_RETURN_IF_ERROR(Check(volume.grid, sphere, reach_mm));
  const double outer = sphere.radius_mm + reach_mm, from = sphere.radius_mm - reach_mm;
  ISO_ASSIGN_OR_RETURN(std::vector<Sample> samples,
                       SamplesAround(volume, sphere, sphere.radius_mm + 1.2 * reach_mm));
  const std::vector<DistanceValue> all = Distances(samples, Facing::kAny);
  const Level outside = LevelBetween(all, sphere.radius_mm + 0.6 * reach_mm, outer);
  const Level inside = LevelBetween(all, 0, sphere.radius_mm - 0.6 * reach_mm);
  ISO_RETURN_IF_ERROR(CheckContrast(inside, outside));
  Center(samples, outside.mean, sphere.radius_mm + 0.6 * reach_mm);
  SphereTransfer result;
  result.contrast = inside.mean - outside.mean;
  const auto spread = [&](Facing facing, double width) {
    return SpreadByDistance(Distances(samples, facing), from, width,
                            static_cast<int>(2 * reach_mm / width));
  };
  const double pixel = volume.grid.spacing.x, slice = volume.grid.spacing.z;
  const double width = pixel / kBinsToAVoxel, height = slice / kBinsToAVoxel;
  ISO_ASSIGN_OR_RETURN(const std::vector<double> in_plane, spread(Facing::kInPlane, width));
  ISO_ASSIGN_OR_RETURN(const std::vector<double> axial, spread(Facing::kAxial, height));
  result.in_plane = TransformSpread(in_plane, width, 0.5 / pixel);
  result.axial = TransformSpread(axial, height, 0.5 / slice);
  // Twice as far: a slice that is hardly blurred still has much there.
  const FrequencyCurve far = TransformSymmetric(axial, height, 1 / slice);
  result.slice_sensitivity =
      TransformBack(far, slice / 20, static_cast<int>(20 * reach_mm / slice));
  const auto half = result.slice_sensitivity.FallsTo(0.5);
  if (!half) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the slice sensitivity is above a half as far as %g mm; legal is a narrower one",
        result.slice_sensitivity.frequencies.back()));
  }
  result.slice_fwhm_mm = 2 * *half;
  return result;
}

}  // namespace isocenter::quality
