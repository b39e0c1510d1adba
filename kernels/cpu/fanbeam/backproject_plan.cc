#include "kernels/cpu/fanbeam/backproject_plan.h"

#include <algorithm>
#include <cmath>

#include "kernels/geometry/arctangent_polynomial.h"
#include "kernels/geometry/fan_scale.h"

namespace isocenter::cpu {

template <class T>
FanPlan<T>::FanPlan(const FanBeamGeometry& g, int first_view, int view_count,
                    const VolumeGrid& grid, const TangentRows* tangent) {
  const bool flat = g.detector == FanBeamGeometry::Detector::kFlat;
  const double before = std::tan(g.FanAngle(-1.25)),
               behind = std::tan(g.FanAngle(g.channels + 0.25));
  const double largest = std::max(std::abs(before), std::abs(behind));
  form = flat                                 ? FanForm::kFlat
         : tangent != nullptr                 ? FanForm::kTangent
         : largest <= kShortPolynomialTangent ? FanForm::kShortPolynomial
         : largest <= kPolynomialTangent      ? FanForm::kPolynomial
                                              : FanForm::kLibrary;
  first_ratio = static_cast<T>(before);
  last_ratio = static_cast<T>(behind);
  center = static_cast<T>(g.central_channel + kFanMargin);
  channels_per_radian = flat ? g.source_to_detector_mm / g.channel_pitch_mm : 1 / g.channel_angle;
  if (form == FanForm::kTangent) {
    // The row holds nothing beyond its elements, which end a channel beside the outer ones.
    first_ratio = static_cast<T>(tangent->first - tangent->step);
    last_ratio = static_cast<T>(tangent->first + tangent->count() * tangent->step);
    center = static_cast<T>(kFanMargin - tangent->first / tangent->step);
    channels_per_radian = 1 / tangent->step;
  }
  per_radian = static_cast<T>(channels_per_radian);
  if (form == FanForm::kShortPolynomial || form == FanForm::kPolynomial) {
    const std::vector<double> atan = ArctangentPolynomial(largest, FanTerms<T>(form));
    for (int i = 0; i < FanTerms<T>(form); ++i) {
      coefficients[i] = static_cast<T>(atan[i] * channels_per_radian);
    }
  }
  const double scale = FanScale(g);
  nearest = static_cast<T>(1e-6 * scale * g.source_to_axis_mm);
  const Vec3 origin = grid.VoxelToWorld(0, 0, 0), along = grid.VoxelToWorld(1, 0, 0) - origin,
             across = grid.VoxelToWorld(0, 1, 0) - origin;
  for (int view = first_view; view < first_view + view_count; ++view) {
    const double c = scale * std::cos(g.Angle(view)), s = scale * std::sin(g.Angle(view));
    views.push_back({.x = c * origin.x + s * origin.y,
                     .dx = c * along.x + s * along.y,
                     .ex = c * across.x + s * across.y,
                     .u = scale * g.source_to_axis_mm + s * origin.x - c * origin.y,
                     .du = s * along.x - c * along.y,
                     .eu = s * across.x - c * across.y});
  }
}

template struct FanPlan<float>;
template struct FanPlan<double>;

}  // namespace isocenter::cpu
