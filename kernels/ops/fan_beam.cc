#include "kernels/ops/fan_beam.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/ops/check.h"

namespace isocenter::ops {
namespace {

using Detector = FanBeamGeometry::Detector;

double Square(double x) { return x * x; }

double Spacing(const FanBeamGeometry& g) {
  return g.detector == Detector::kArc ? g.channel_angle : g.ChannelAtAxisMm();
}

// F⁻¹|ρ| over n frequencies: Σ|f| cos(2πkf/n) / n² in closed form.
std::vector<double> SampledRamp(int channels) {
  const int n = FanBeamPaddedLength(channels);
  std::vector<double> h(channels, 0.0);
  h[0] = 0.25;
  for (int k = 1; k < channels; k += 2) h[k] = -1 / Square(n * std::sin(kPi * k / n));
  return h;
}

absl::Status CheckStack(const FanBeamGeometry& geometry, int first_view,
                        const ProjectionStack& stack) {
  ISO_RETURN_IF_ERROR(CheckUse(stack, StackUse::kLineIntegrals));
  const Shape3& shape = stack.shape();
  if (shape.fast != geometry.channels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a stack of ", shape.fast, " columns; the fan beam has ", geometry.channels, " channels"));
  }
  if (first_view < 0 || first_view + shape.slow > geometry.views) {
    return absl::InvalidArgumentError(
        absl::StrCat("views ", first_view, " to ", first_view + shape.slow - 1,
                     " of a fan beam; legal is 0 to ", geometry.views - 1));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFanBeamFilter(const FanBeamFilterSpec& spec) {
  ISO_RETURN_IF_ERROR(ValidateFanBeam(spec.geometry));
  ISO_RETURN_IF_ERROR(CheckRampFilter({.rows = spec.slices,
                                       .columns = spec.geometry.channels,
                                       .window = spec.window,
                                       .cutoff = spec.cutoff}));
  if (spec.form == FanBeamKernelForm::kSampledRamp &&
      (spec.window != FilterWindow::kRamLak || spec.cutoff < 1)) {
    return absl::InvalidArgumentError(
        "a fan beam's sampled ramp has no window and no cut-off; the exact kernel has");
  }
  return absl::OkStatus();
}

int FanBeamPaddedLength(int channels) {
  return 2 * static_cast<int>(std::bit_ceil(static_cast<unsigned>(channels)));
}

std::vector<double> FanBeamKernel(const FanBeamFilterSpec& spec) {
  const FanBeamGeometry& g = spec.geometry;
  const double spacing = Spacing(g);
  std::vector<double> h =
      spec.form == FanBeamKernelForm::kSampledRamp
          ? SampledRamp(g.channels)
          : RampFilterKernel(
                {.rows = 1, .columns = g.channels, .window = spec.window, .cutoff = spec.cutoff});
  for (int k = 0; k < g.channels; ++k) {
    h[k] /= spacing;
    if (k == 0 || spec.form == FanBeamKernelForm::kSampledRamp || g.detector == Detector::kFlat) {
      continue;
    }
    const double gamma = k * spacing;
    h[k] *= Square(gamma / std::sin(gamma));
  }
  return h;
}

std::vector<double> FanBeamResponse(const FanBeamFilterSpec& spec, int n) {
  const std::vector<double> h = FanBeamKernel(spec);
  std::vector<double> cosine(n), response(n / 2 + 1);
  for (int k = 0; k < n; ++k) cosine[k] = std::cos(2 * kPi * k / n);
  for (int f = 0; f <= n / 2; ++f) {
    double sum = 0;
    for (int64_t k = 1; k < static_cast<int64_t>(h.size()); ++k) sum += h[k] * cosine[k * f % n];
    response[f] = h[0] + 2 * sum;
  }
  return response;
}

FanBeamRowWeights::FanBeamRowWeights(const FanBeamGeometry& geometry)
    : geometry_(geometry), constant_(geometry.channels) {
  const double factor = std::abs(geometry.AngularStep()) *
                        (geometry.detector == Detector::kArc ? geometry.source_to_axis_mm : 1);
  for (int channel = 0; channel < geometry.channels; ++channel) {
    constant_[channel] = factor * std::cos(geometry.FanAngle(channel));
  }
}

void FanBeamRowWeights::Row(int view, std::span<double> weights) const {
  FanBeamRedundancy(geometry_, view, weights);
  for (size_t channel = 0; channel < constant_.size(); ++channel) {
    weights[channel] *= constant_[channel];
  }
}

absl::Status FanBeamFilter::Run(int first_view, const ProjectionStack& line_integrals,
                                ProjectionStack& filtered) {
  ISO_RETURN_IF_ERROR(CheckStack(spec_.geometry, first_view, line_integrals));
  ISO_RETURN_IF_ERROR(CheckUse(filtered, StackUse::kLineIntegrals));
  ISO_RETURN_IF_ERROR(
      CheckSameShape("filtered projections", filtered.shape(), line_integrals.shape()));
  if (line_integrals.shape().middle > spec_.slices) {
    return absl::InvalidArgumentError(absl::StrCat(
        line_integrals.shape().middle, " slices for a fan-beam filter of ", spec_.slices));
  }
  return DoRun(first_view, line_integrals, filtered);
}

absl::Status FanBeamBackproject::Run(const FanBeamGeometry& geometry, int first_view,
                                     const ProjectionStack& filtered, VolumeBuffer& volume) {
  ISO_RETURN_IF_ERROR(ValidateFanBeam(geometry));
  ISO_RETURN_IF_ERROR(CheckStack(geometry, first_view, filtered));
  const VolumeGrid& grid = volume.grid();
  if (grid.nz != filtered.shape().middle) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a grid of ", grid.nz, " slices for ", filtered.shape().middle, " slices of a fan beam"));
  }
  constexpr double kSlant = 1e-6;
  if (!(std::abs(grid.direction[8] - 1) <= kSlant)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the grid's slices are inclined: their normal has the z component ",
                     grid.direction[8], "; legal for a fan beam is 1"));
  }
  return DoRun(geometry, first_view, filtered, volume);
}

}  // namespace isocenter::ops
