#include "kernels/quality/modulation_transfer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/quality/edge_spread.h"

namespace isocenter::quality {
namespace {

constexpr int kFrequencies = 64;
constexpr double kBinsToAVoxel = 8;
constexpr int kCenterings = 4;
constexpr int kSectors = 12;

struct Sample {
  double x, y, value;
};

absl::StatusOr<double> PixelMm(const VolumeGrid& grid, double reach_mm) {
  const double x = grid.spacing.x, y = grid.spacing.y;
  if (!(std::abs(x - y) <= 0.01 * x)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("voxels are %g x %g mm in a slice; legal are square ones, to 1 %%", x, y));
  }
  if (!(reach_mm >= 4 * x)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the reach is %g mm; legal is 4 voxels of %g mm or more", reach_mm, x));
  }
  return x;
}

// Moves the origin of samples to the centroid of what they have above `background` within `radius`.
double Center(std::vector<Sample>& samples, double background, double radius) {
  double moved_x = 0, moved_y = 0;
  for (int round = 0; round < kCenterings; ++round) {
    double sum = 0, x = 0, y = 0;
    for (const Sample& s : samples) {
      if (std::hypot(s.x, s.y) > radius) continue;
      sum += s.value - background;
      x += s.x * (s.value - background);
      y += s.y * (s.value - background);
    }
    if (sum == 0) break;
    for (Sample& s : samples) {
      s.x -= x / sum;
      s.y -= y / sum;
    }
    moved_x += x / sum;
    moved_y += y / sum;
  }
  return std::hypot(moved_x, moved_y);
}

std::vector<DistanceValue> Distances(const std::vector<Sample>& samples) {
  std::vector<DistanceValue> values;
  values.reserve(samples.size());
  for (const Sample& s : samples) values.push_back({std::hypot(s.x, s.y), s.value});
  return values;
}

// The transfer function of an edge without each of its sectors in turn.
absl::StatusOr<std::vector<FrequencyCurve>> WithoutSectors(const std::vector<Sample>& samples,
                                                           double from, double width, int bins,
                                                           double end) {
  std::vector<FrequencyCurve> curves;
  for (int left_out = 0; left_out < kSectors; ++left_out) {
    std::vector<Sample> others;
    for (const Sample& s : samples) {
      const double turn = std::atan2(s.y, s.x) / (2 * kPi) + 0.5;
      if (static_cast<int>(turn * kSectors) % kSectors != left_out) others.push_back(s);
    }
    ISO_ASSIGN_OR_RETURN(const std::vector<double> spread,
                         SpreadByDistance(Distances(others), from, width, bins));
    curves.push_back(TransformSpread(spread, width, end));
  }
  return curves;
}

// By the delete-a-group jackknife.
double SigmaAt(const std::vector<FrequencyCurve>& curves, double frequency) {
  const auto groups = static_cast<double>(curves.size());
  double mean = 0, squares = 0;
  for (const FrequencyCurve& curve : curves) mean += curve.At(frequency) / groups;
  for (const FrequencyCurve& curve : curves) {
    squares += (curve.At(frequency) - mean) * (curve.At(frequency) - mean);
  }
  return std::sqrt((groups - 1) / groups * squares);
}

absl::Status JudgeHalf(const std::vector<FrequencyCurve>& curves, EdgeTransfer& edge) {
  const std::optional<double> half = edge.mtf.FallsTo(0.5);
  const double at = half.value_or(edge.mtf.frequencies.back());
  edge.half_sigma = SigmaAt(curves, at);
  if (!(edge.half_sigma <= kMostHalfSigma)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "noise moves the transfer function of an edge of %.0f HU by %.2f (standard deviation) at "
        "%.3f per mm; legal is %g at most: less noise, or the mean of several scans",
        edge.contrast, edge.half_sigma, at, kMostHalfSigma));
  }
  if (!half) return absl::OkStatus();
  const double step = edge.mtf.frequencies[1];
  const double fall = (edge.mtf.At(*half - step) - edge.mtf.At(*half + step)) / (2 * step);
  if (fall > 0) edge.half_sigma_per_mm = edge.half_sigma / fall;
  return absl::OkStatus();
}

// Samples from where the wire is thought to be in a slice.
struct WireSlice {
  double height = 0;  // mm
  std::vector<Sample> samples;
};

// position = middle + slope · height, by least squares; slope 0 where all heights are one.
struct HeightLine {
  double count = 0, z = 0, zz = 0, p = 0, zp = 0;

  void Add(double height, double position) {
    count += 1;
    z += height;
    zz += height * height;
    p += position;
    zp += height * position;
  }
  double At(double height) const {
    const double spread = zz - z * z / count;
    const double slope = spread > 1e-9 * zz ? (zp - z * p / count) / spread : 0;
    return p / count + slope * (height - z / count);
  }
};

// Moves the samples so that the wire is in their origin, a straight line through all slices: the
// noise of one slice would move a centroid of its own, which reads as blur. Each slice's first
// moments are divided by the mean sum of all for the same reason.
void Straighten(std::map<int64_t, WireSlice>& slices, double reach_mm) {
  for (int round = 0; round < 2 * kCenterings; ++round) {
    // Once it is near, what is farther away adds noise alone.
    const double radius = round < kCenterings ? reach_mm : reach_mm / 2;
    double sum = 0;
    HeightLine x, y;
    for (const auto& [_, slice] : slices) {
      const double background =
          LevelBetween(Distances(slice.samples), 1.1 * reach_mm, 1.6 * reach_mm).mean;
      double moment_x = 0, moment_y = 0;
      for (const Sample& s : slice.samples) {
        if (std::hypot(s.x, s.y) > radius) continue;
        sum += s.value - background;
        moment_x += s.x * (s.value - background);
        moment_y += s.y * (s.value - background);
      }
      x.Add(slice.height, moment_x);
      y.Add(slice.height, moment_y);
    }
    if (!(sum > 0)) return;
    const double mean = sum / x.count;
    for (auto& [_, slice] : slices) {
      const double by_x = x.At(slice.height) / mean, by_y = y.At(slice.height) / mean;
      for (Sample& s : slice.samples) {
        s.x -= by_x;
        s.y -= by_y;
      }
    }
  }
}

}  // namespace

absl::StatusOr<EdgeTransfer> MeasureEdge(const VolumeView& volume, const Rod& rod,
                                         double reach_mm) {
  ISO_ASSIGN_OR_RETURN(const double pixel, PixelMm(volume.grid, reach_mm));
  if (!(reach_mm <= rod.radius_mm)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the reach is %g mm; legal is the rod's radius of %g mm or less", reach_mm, rod.radius_mm));
  }
  Rod around = rod;
  around.radius_mm += 1.2 * reach_mm;  // the centre moves
  std::vector<Sample> samples;
  ISO_RETURN_IF_ERROR(VisitRod(volume, around, [&](double value, Vec3 at) {
    samples.push_back({at.x, at.y, value});
  }));
  std::vector<DistanceValue> values = Distances(samples);
  const double outer = rod.radius_mm + reach_mm;
  const Level outside = LevelBetween(values, rod.radius_mm + 0.6 * reach_mm, outer);
  const Level inside = LevelBetween(values, 0, std::max(pixel, rod.radius_mm - 0.6 * reach_mm));
  ISO_RETURN_IF_ERROR(CheckContrast(inside, outside));
  EdgeTransfer result;
  result.contrast = inside.mean - outside.mean;
  result.center_shift_mm = Center(samples, outside.mean, rod.radius_mm + 0.6 * reach_mm);
  values = Distances(samples);
  const double width = pixel / kBinsToAVoxel, from = rod.radius_mm - reach_mm;
  const int bins = static_cast<int>(2 * reach_mm / width);
  // Few voxels are near the axis: where the reach is nearly the radius, the first bins would be
  // empty.
  ISO_ASSIGN_OR_RETURN(const std::vector<double> spread,
                       SpreadByDistance(values, from, width, bins));
  result.mtf = TransformSpread(spread, width, 0.5 / pixel);
  for (int i = 0; i < bins; ++i) {
    result.spread.frequencies.push_back(from + (i + 0.5) * width);
    result.spread.values.push_back(spread[i]);
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<FrequencyCurve> curves,
                       WithoutSectors(samples, from, width, bins, 0.5 / pixel));
  ISO_RETURN_IF_ERROR(JudgeHalf(curves, result));
  return result;
}

absl::StatusOr<WireTransfer> MeasureWire(const VolumeView& volume, const Rod& rod,
                                         double reach_mm) {
  ISO_ASSIGN_OR_RETURN(const double pixel, PixelMm(volume.grid, reach_mm));
  const auto& d = volume.grid.direction;
  const Vec3 normal{d[2], d[5], d[8]};
  const double along = Dot(rod.axis, normal);
  if (!(std::abs(along) >= std::cos(DegreesToRadians(20)))) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the wire is %.1f degrees from the slices' normal; legal is 20 or less",
                        RadiansToDegrees(std::acos(std::min(1.0, std::abs(along))))));
  }
  Rod around = rod;
  around.radius_mm = 2 * reach_mm;
  // By slice, in the slice: along the rod's axis nothing is interpolated.
  const Vec3 across{d[0], d[3], d[6]}, up{d[1], d[4], d[7]};
  const Vec3 rod_up = Cross(rod.axis, rod.across);
  std::map<int64_t, WireSlice> slices;
  ISO_RETURN_IF_ERROR(VisitRod(volume, around, [&](double value, Vec3 at) {
    const Vec3 from = at.x * rod.across + at.y * rod_up + at.z * rod.axis;
    const double height = Dot(from, normal);
    const Vec3 in_slice = from - (height / along) * rod.axis;
    WireSlice& slice = slices[std::llround(height / volume.grid.spacing.z * 8)];
    slice.height = height;
    slice.samples.push_back({Dot(in_slice, across), Dot(in_slice, up), value});
  }));
  Straighten(slices, reach_mm);
  WireTransfer result;
  std::vector<double> sums(kFrequencies + 1);
  for (auto& [_, slice] : slices) {
    const std::vector<Sample>& samples = slice.samples;
    const double background = LevelBetween(Distances(samples), 1.1 * reach_mm, 1.6 * reach_mm).mean;
    for (const Sample& s : samples) {
      const double r = std::hypot(s.x, s.y);
      if (r > reach_mm) continue;
      for (int n = 0; n <= kFrequencies; ++n) {
        sums[n] +=
            (s.value - background) * std::cyl_bessel_j(0.0, kPi / pixel * n / kFrequencies * r);
      }
    }
    ++result.slices;
  }
  if (!(sums[0] > 0)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "no wire is seen: less what is around it, what is there has %.1f HU, summed "
        "over voxels; legal is more than 0: it is not there, or drowned in noise",
        sums[0]));
  }
  for (int n = 0; n <= kFrequencies; ++n) {
    const double frequency = 0.5 / pixel * n / kFrequencies,
                 x = 2 * kPi * rod.radius_mm * frequency;
    const double disc = x == 0 ? 1 : 2 * std::cyl_bessel_j(1.0, x) / x;
    result.mtf.frequencies.push_back(frequency);
    result.mtf.values.push_back(sums[n] / sums[0] / disc);
  }
  return result;
}

}  // namespace isocenter::quality
