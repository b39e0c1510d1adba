#include "kernels/cuda/fanbeam/view_tables.h"

#include <algorithm>
#include <cmath>

#include "kernels/geometry/arctangent_polynomial.h"
#include "kernels/geometry/fan_scale.h"

namespace isocenter::cuda {

template <class T>
FanScan<T> MakeFanScan(const FanBeamGeometry& g) {
  FanScan<T> scan{};
  scan.flat = g.detector == FanBeamGeometry::Detector::kFlat;
  const double per_radian =
      scan.flat ? g.source_to_detector_mm / g.channel_pitch_mm : 1 / g.channel_angle;
  // A channel and a half beside the outer ones.
  const double steepest =
      std::tan(std::max(std::abs(g.FanAngle(-1.5)), std::abs(g.FanAngle(g.channels + 0.5))));
  scan.center = static_cast<T>(g.central_channel);
  scan.per_radian = static_cast<T>(per_radian);
  scan.nearest = static_cast<T>(1e-6 * FanScale(g) * g.source_to_axis_mm);
  scan.steepest = static_cast<T>(steepest);
  scan.channels = g.channels;
  scan.polynomial = steepest <= kPolynomialTangent;
  if (scan.polynomial) {
    const std::vector<double> atan = ArctangentPolynomial(steepest, kFanTerms);
    for (int i = 0; i < kFanTerms; ++i) {
      scan.coefficients[i] = static_cast<T>(atan[i] * per_radian);
    }
  }
  return scan;
}

template <class T>
FanScan<T> MakeFanScan(const FanBeamGeometry& g, const TangentRows& rows) {
  FanScan<T> scan = MakeFanScan<T>(g);
  scan.center = static_cast<T>(-rows.first / rows.step);
  scan.per_radian = static_cast<T>(1 / rows.step);
  scan.channels = rows.count();
  return scan;
}

template <class T>
std::vector<FanView<T>> MakeFanViews(const FanBeamGeometry& g, int first_view, int views,
                                     const VolumeGrid& grid) {
  const double scale = FanScale(g);
  const Vec3 origin = grid.VoxelToWorld(0, 0, 0), along = grid.VoxelToWorld(1, 0, 0) - origin,
             across = grid.VoxelToWorld(0, 1, 0) - origin;
  std::vector<FanView<T>> table;
  for (int view = first_view; view < first_view + views; ++view) {
    const double c = scale * std::cos(g.Angle(view)), s = scale * std::sin(g.Angle(view));
    table.push_back({.x = static_cast<T>(c * origin.x + s * origin.y),
                     .dx = static_cast<T>(c * along.x + s * along.y),
                     .ex = static_cast<T>(c * across.x + s * across.y),
                     .u = static_cast<T>(scale * g.source_to_axis_mm + s * origin.x - c * origin.y),
                     .du = static_cast<T>(s * along.x - c * along.y),
                     .eu = static_cast<T>(s * across.x - c * across.y)});
  }
  return table;
}

template FanScan<float> MakeFanScan<float>(const FanBeamGeometry&);
template FanScan<double> MakeFanScan<double>(const FanBeamGeometry&);
template FanScan<float> MakeFanScan<float>(const FanBeamGeometry&, const TangentRows&);
template std::vector<FanView<float>> MakeFanViews<float>(const FanBeamGeometry&, int, int,
                                                         const VolumeGrid&);
template std::vector<FanView<double>> MakeFanViews<double>(const FanBeamGeometry&, int, int,
                                                           const VolumeGrid&);

}  // namespace isocenter::cuda
