#include "kernels/gles/fan_beam_scan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/geometry/arctangent_polynomial.h"
#include "kernels/geometry/fan_scale.h"
#include "kernels/gles/fan_beam_shaders.h"

namespace isocenter::gles {
namespace {

constexpr double kPolynomialTangent = 0.75;  // beyond, angles are halved
constexpr double kHalfUnit = 16;

}  // namespace

void SetFanScan(const Program& program, const FanBeamGeometry& g, const VolumeGrid& grid) {
  const bool flat = g.detector == FanBeamGeometry::Detector::kFlat;
  const double per_radian =
      flat ? g.source_to_detector_mm / g.channel_pitch_mm : 1 / g.channel_angle;
  const double steepest =
      std::tan(std::max(std::abs(g.FanAngle(-1.25)), std::abs(g.FanAngle(g.channels + 0.25))));
  program.Set("distance_to_axis", static_cast<float>(FanScale(g) * g.source_to_axis_mm));
  program.Set("center", static_cast<float>(g.central_channel + kFanMargin));
  program.Set("per_radian", static_cast<float>(per_radian));
  program.Set("nearest", static_cast<float>(1e-6 * FanScale(g) * g.source_to_axis_mm));
  program.Set("steepest", static_cast<float>(steepest));
  program.Set("flat_detector", static_cast<int>(flat));
  const bool halved = steepest > kPolynomialTangent;
  program.Set("halved", static_cast<int>(halved));
  std::array<float, kFanTerms> coefficients = {};
  const std::vector<double> atan =
      ArctangentPolynomial(halved ? std::tan(std::atan(steepest) / 2) : steepest, kFanTerms);
  for (int i = 0; i < kFanTerms; ++i) {
    coefficients[i] = static_cast<float>(atan[i] * per_radian * (halved ? 2 : 1));
  }
  program.Set("coefficients", coefficients);
  const Vec3 origin = grid.VoxelToWorld(0, 0, 0), along = grid.VoxelToWorld(1, 0, 0) - origin,
             across = grid.VoxelToWorld(0, 1, 0) - origin;
  const auto set = [&](const char* name, const Vec3& v) {
    program.Set(name, static_cast<float>(v.x), static_cast<float>(v.y));
  };
  set("origin", origin);
  set("along", along);
  set("across", across);
}

std::vector<float> FanTurns(const FanBeamGeometry& g, int64_t first, int64_t count) {
  std::vector<float> turns;
  turns.reserve(2 * count);
  for (int64_t view = first; view < first + count; ++view) {
    const double angle = g.Angle(static_cast<double>(view));
    turns.push_back(static_cast<float>(FanScale(g) * std::cos(angle)));
    turns.push_back(static_cast<float>(FanScale(g) * std::sin(angle)));
  }
  return turns;
}

double FanHalfFactor(const FanBeamGeometry& g) {
  const double distance = FanScale(g) * g.source_to_axis_mm;
  return kHalfUnit * g.views / (distance * distance);
}

}  // namespace isocenter::gles
