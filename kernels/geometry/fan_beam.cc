#include "kernels/geometry/fan_beam.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter {
namespace {

constexpr double kLargestFanAngle = kPi / 3;
constexpr double kRounding = 1e-9;  // of angles that were degrees before

// Written so that NaN is out of range.
absl::Status InRange(const char* field, double value, double least, double most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("fan beam: ", field, " is ", value, "; legal is ", least, " to ", most));
}

absl::Status CheckDetector(const FanBeamGeometry& g) {
  ISO_RETURN_IF_ERROR(InRange("channels", g.channels, 2, 65536));
  if (g.detector == FanBeamGeometry::Detector::kFlat) {
    ISO_RETURN_IF_ERROR(InRange("source_to_detector_mm", g.source_to_detector_mm, 1e-3, 1e5));
    ISO_RETURN_IF_ERROR(InRange("channel_pitch_mm", g.channel_pitch_mm, 1e-6, 1000));
  } else {
    ISO_RETURN_IF_ERROR(InRange("channel_angle", g.channel_angle, 1e-7, 0.1));
  }
  const double middle = 0.5 * (g.channels - 1), off = 1 + g.channels / 20.0;
  ISO_RETURN_IF_ERROR(InRange("central_channel", g.central_channel, middle - off, middle + off));
  const double widest = std::max(std::abs(g.FanAngle(0)), std::abs(g.FanAngle(g.channels - 1)));
  if (widest <= kLargestFanAngle) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("fan beam: the outer channel is ",
                                                 RadiansToDegrees(widest),
                                                 " degrees off the central ray; legal is at most ",
                                                 std::round(RadiansToDegrees(kLargestFanAngle))));
}

double Square(double x) { return x * x; }

// sin² from 0 to 1 over [0, 1].
double Rise(double x) { return Square(std::sin(kPi / 2 * std::clamp(x, 0.0, 1.0))); }

}  // namespace

double FanBeamGeometry::ChannelAtAxisMm() const {
  return detector == Detector::kArc ? source_to_axis_mm * channel_angle
                                    : channel_pitch_mm * source_to_axis_mm / source_to_detector_mm;
}

double FanBeamGeometry::FanAngle(double channel) const {
  const double off = channel - central_channel;
  return detector == Detector::kArc ? off * channel_angle
                                    : std::atan(off * channel_pitch_mm / source_to_detector_mm);
}

double FanBeamGeometry::LargestTangent() const {
  return std::tan(std::max(std::abs(FanAngle(0)), std::abs(FanAngle(channels - 1))));
}

bool FanBeamGeometry::FullScan() const { return std::abs(arc) >= 2 * kPi * (1 - kRounding); }

absl::Status ValidateFanBeam(const FanBeamGeometry& g) {
  ISO_RETURN_IF_ERROR(InRange("source_to_axis_mm", g.source_to_axis_mm, 1e-3, 1e5));
  ISO_RETURN_IF_ERROR(CheckDetector(g));
  ISO_RETURN_IF_ERROR(InRange("views", g.views, 4, 65536));
  ISO_RETURN_IF_ERROR(InRange("first_angle", g.first_angle, -1000, 1000));
  const double needed = kPi + 2 * std::atan(g.LargestTangent());
  const double arc = std::abs(g.arc);
  if (arc >= needed * (1 - kRounding) && arc <= 2 * kPi * (1 + kRounding)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "fan beam: the views cover ", RadiansToDegrees(arc), " degrees; legal is ",
      RadiansToDegrees(needed), " (half a turn and the fan) to 360, each direction once"));
}

double FanBeamFieldOfViewRadius(const FanBeamGeometry& g) {
  return g.source_to_axis_mm *
         std::sin(std::min(std::abs(g.FanAngle(0)), std::abs(g.FanAngle(g.channels - 1))));
}

void FanBeamRedundancy(const FanBeamGeometry& g, int view, std::span<double> weights) {
  if (g.FullScan()) {
    std::ranges::fill(weights, 0.5);
    return;
  }
  const double length = std::abs(g.arc), overscan = (length - kPi) / 2;
  const double direction = g.arc > 0 ? 1 : -1;
  // From half a step before the first view, in the direction of rotation. The conjugate of
  // (b, gamma) is (b + π + 2 gamma, -gamma).
  const double b = (view + 0.5) * length / g.views;
  for (int channel = 0; channel < g.channels; ++channel) {
    const double gamma = direction * g.FanAngle(channel);
    const double first = 2 * (overscan - gamma), last = 2 * (overscan + gamma);
    double weight = 1;
    if (b < first) weight = Rise(b / first);
    if (length - b < last) weight = Rise((length - b) / last);
    weights[channel] = weight;
  }
}

}  // namespace isocenter
