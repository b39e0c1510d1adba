#include "kernels/quality/slice_ramp.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/quality/phantom_placement.h"

namespace isocenter::quality {
namespace {

constexpr double kBinsToASlice = 8;
constexpr int kSmoothed = 2;  // bins on both sides of one
// Beside the wire, mm: what shows it, and what it is compared with.
constexpr double kCore = 1.5, kInner = 2.5, kOuter = 4.5;

struct Bin {
  double core = 0, cores = 0, beside = 0, besides = 0;
  double above() const { return cores > 0 && besides > 0 ? core / cores - beside / besides : 0; }
};

// Means of neighbours: of one bin alone noise is as large as what is looked for.
std::vector<double> Smoothed(const std::vector<Bin>& bins) {
  const int count = static_cast<int>(bins.size());
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    Bin sum;
    for (int j = std::max(0, i - kSmoothed); j <= std::min(count - 1, i + kSmoothed); ++j) {
      sum.core += bins[j].core;
      sum.cores += bins[j].cores;
      sum.beside += bins[j].beside;
      sum.besides += bins[j].besides;
    }
    values.push_back(sum.above());
  }
  return values;
}

// Where `values` fall to half of their peak, before and after it; in bins.
double FullWidth(const std::vector<double>& values, size_t peak) {
  const double half = 0.5 * values[peak];
  size_t left = peak, right = peak;
  while (left > 0 && values[left] > half) --left;
  while (right + 1 < values.size() && values[right] > half) ++right;
  if (values[left] > half || values[right] > half) return 0;
  const double begin =
      static_cast<double>(left) + (half - values[left]) / (values[left + 1] - values[left]);
  const double end =
      static_cast<double>(right) - (half - values[right]) / (values[right - 1] - values[right]);
  return end - begin;
}

// `full` bins without what Smoothed has added. Variances add: that of a mean over n bins is n²/12,
// and a Gaussian's full width squared 8 ln 2 of its variance.
double Unsmoothed(double full) {
  constexpr double kMean = 2 * kSmoothed + 1;
  return std::sqrt(std::max(0.0, full * full - 8 * std::log(2.0) * kMean * kMean / 12));
}

}  // namespace

absl::StatusOr<RampProfile> MeasureRamp(const VolumeView& volume, const Placement& placement,
                                        const PhantomModule& ramp) {
  const double slope = std::tan(DegreesToRadians(kRampDeg)), slice = volume.grid.spacing.z;
  const double length = ramp.half_height_mm * std::cos(DegreesToRadians(kRampDeg));
  const double reach = std::max(4 * slice, 4.0), width = slice / kBinsToASlice;
  const double turn = DegreesToRadians(ramp.along_deg);
  // The wire's way in the slice, and what is at a right angle to it.
  const Rod around{.center = placement.ToWorld(ramp.center),
                   .radius_mm = length,
                   .half_height_mm = 0.8 * length * slope + reach,
                   .axis = placement.Turn({0, 0, 1}),
                   .across = placement.Turn({std::cos(turn), std::sin(turn), 0})};
  std::vector<Bin> bins(static_cast<size_t>(2 * reach / width) + 1);
  ISO_RETURN_IF_ERROR(VisitRod(volume, around, [&](double value, Vec3 at) {
    const double beside = std::abs(at.y), height = at.z - slope * at.x;
    if (beside > kOuter || std::abs(at.x) > 0.8 * length || std::abs(height) > reach) return;
    Bin& bin = bins[static_cast<size_t>((height + reach) / width)];
    if (beside < kCore) {
      bin.core += value;
      ++bin.cores;
    } else if (beside > kInner) {
      bin.beside += value;
      ++bin.besides;
    }
  }));
  const std::vector<double> values = Smoothed(bins);
  const size_t peak = std::ranges::max_element(values) - values.begin();
  const double full = values[peak] > 0 ? FullWidth(values, peak) : 0;
  if (full == 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the ramp's wire is %.1f HU above what is beside it, and not half as much within %g mm; "
        "legal is a wire that stands out",
        values[peak], reach));
  }
  RampProfile profile{.fwhm_mm = Unsmoothed(full) * width};
  for (size_t i = 0; i < values.size(); ++i) {
    profile.sensitivity.frequencies.push_back((static_cast<double>(i) - static_cast<double>(peak)) *
                                              width);
    profile.sensitivity.values.push_back(values[i] / values[peak]);
  }
  return profile;
}

absl::StatusOr<double> NodeDistanceError(const VolumeView& volume, const Placement& placement,
                                         std::span<const PhantomModule> nodes) {
  if (nodes.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrFormat("there are %d nodes; legal is 2 or more", nodes.size()));
  }
  std::vector<Vec3> found;
  for (const PhantomModule& node : nodes) {
    Rod around = RodOf(placement, node, 0.6);
    around.radius_mm = 3 * node.radius_mm;
    double outside = 0, outsides = 0;
    ISO_RETURN_IF_ERROR(VisitRod(volume, around, [&](double value, Vec3 at) {
      if (std::hypot(at.x, at.y) < 2.2 * node.radius_mm) return;
      outside += value;
      ++outsides;
    }));
    double sum = 0, x = 0, y = 0;
    ISO_RETURN_IF_ERROR(VisitRod(volume, around, [&](double value, Vec3 at) {
      if (std::hypot(at.x, at.y) > 2.2 * node.radius_mm) return;
      const double weight = value - outside / std::max(1.0, outsides);
      sum += weight;
      x += weight * at.x;
      y += weight * at.y;
    }));
    if (!(sum * node.hounsfield > 0)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s does not stand out; legal is one of %.0f HU", node.name, node.hounsfield));
    }
    found.push_back(node.center + Vec3{x / sum, y / sum, 0});
  }
  double largest = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double error = Norm(found[i] - found[j]) - Norm(nodes[i].center - nodes[j].center);
      largest = std::max(largest, std::abs(error));
    }
  }
  return largest;
}

}  // namespace isocenter::quality
