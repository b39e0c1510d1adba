#include <cmath>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/ops/check.h"
#include "kernels/reference/device.h"
#include "kernels/reference/fan_beam.h"

namespace isocenter::reference {
namespace {

bool OnArc(const FanBeamGeometry& g) { return g.detector == FanBeamGeometry::Detector::kArc; }

double FanAngleOf(const FanBeamGeometry& g, int channel) {
  if (OnArc(g)) return (channel - g.central_channel) * g.channel_angle;
  return std::atan2((channel - g.central_channel) * g.channel_pitch_mm, g.source_to_detector_mm);
}

// |ρ| at the frequencies of a padded row of 1 over `length·spacing`, transformed back term by term.
std::vector<double> SampledRampKernel(int channels, double spacing) {
  int length = 1;
  while (length < channels) length *= 2;
  length *= 2;
  std::vector<double> h(channels);
  for (int n = 0; n < channels; ++n) {
    for (int f = -length / 2; f < length / 2; ++f) {
      h[n] += std::abs(f) / (length * spacing) *
              std::cos(2 * kPi * (int64_t{f} * n % length) / length) / length;
    }
  }
  return h;
}

// Δγ·c_f(nΔγ), and the same without an angle for a flat detector scaled to the axis.
std::vector<double> ExactKernel(const FanBeamGeometry& g) {
  const double spacing = OnArc(g)
                             ? g.channel_angle
                             : g.channel_pitch_mm * g.source_to_axis_mm / g.source_to_detector_mm;
  std::vector<double> h(g.channels);
  h[0] = spacing * (1 / (4 * spacing * spacing));
  for (int n = 1; n < g.channels; n += 2) {
    const double distance = OnArc(g) ? std::sin(n * spacing) : n * spacing;
    h[n] = -spacing / (kPi * kPi * distance * distance);
  }
  return h;
}

// Windows come as in kernels/ops; what fan beams add to them is here.
std::vector<double> WindowedKernel(const ops::FanBeamFilterSpec& spec) {
  const FanBeamGeometry& g = spec.geometry;
  std::vector<double> h = ExactKernel(g);
  std::vector<double> ramp = ops::RampFilterKernel(
      {.rows = 1, .columns = g.channels, .window = spec.window, .cutoff = spec.cutoff});
  const double spacing = 1 / (4 * h[0]);
  for (int n = 0; n < g.channels; ++n) {
    const double angle = n * spacing;
    const double stretch = OnArc(g) && n > 0 ? angle / std::sin(angle) : 1;
    h[n] = ramp[n] * stretch * stretch / spacing;
  }
  return h;
}

std::vector<double> KernelOf(const ops::FanBeamFilterSpec& spec) {
  const FanBeamGeometry& g = spec.geometry;
  if (spec.form == ops::FanBeamKernelForm::kSampledRamp) {
    return SampledRampKernel(g.channels, 1 / (4 * ExactKernel(g)[0]));
  }
  const bool plain = spec.window == ops::FilterWindow::kRamLak && spec.cutoff == 1;
  return plain ? ExactKernel(g) : WindowedKernel(spec);
}

// Parker's three cases, as he wrote them, for the ray's place on the arc `b` in the direction of
// rotation; `delta` is half of what the arc is longer than π.
double Parker(double b, double gamma, double delta) {
  const auto sine = [](double x) { return std::sin(x) * std::sin(x); };
  if (b <= 2 * delta - 2 * gamma) return sine(kPi / 4 * b / (delta - gamma));
  if (b <= kPi - 2 * gamma) return 1;
  return sine(kPi / 4 * (kPi + 2 * delta - b) / (delta + gamma));
}

class Filter final : public ops::FanBeamFilter {
 public:
  explicit Filter(const ops::FanBeamFilterSpec& spec)
      : FanBeamFilter(spec), kernel_(KernelOf(spec)) {}

  absl::Status DoRun(int first_view, const ops::ProjectionStack& line_integrals,
                     ops::ProjectionStack& filtered) override {
    ISO_ASSIGN_OR_RETURN(const Stack* in, AsStack(line_integrals));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(filtered));
    const Shape3& shape = in->shape();
    std::vector<double> row(shape.fast);
    for (int64_t view = 0; view < shape.slow; ++view) {
      for (int64_t slice = 0; slice < shape.middle; ++slice) {
        for (int c = 0; c < shape.fast; ++c) {
          const double p = in->view()(view, slice, c);
          row[c] = std::isfinite(p) ? p * Weight(static_cast<int>(first_view + view), c) : 0;
        }
        for (int c = 0; c < shape.fast; ++c) {
          double sum = 0;
          for (int j = 0; j < shape.fast; ++j) sum += row[j] * kernel_[std::abs(c - j)];
          out->view()(view, slice, c) = sum;
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  double Weight(int view, int channel) const {
    const FanBeamGeometry& g = spec().geometry;
    const double gamma = FanAngleOf(g, channel);
    const double arc = std::abs(g.arc), step = arc / g.views;
    const double cosine = std::cos(gamma) * (OnArc(g) ? g.source_to_axis_mm : 1);
    if (arc >= 2 * kPi - 1e-8) return step * cosine / 2;
    return step * cosine * Parker((view + 0.5) * step, g.arc > 0 ? gamma : -gamma, (arc - kPi) / 2);
  }

  const std::vector<double> kernel_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::FanBeamFilter>> NewFanBeamFilter(
    const ops::FanBeamFilterSpec& spec) {
  ISO_RETURN_IF_ERROR(ops::CheckFanBeamFilter(spec));
  return std::make_unique<Filter>(spec);
}

}  // namespace isocenter::reference
