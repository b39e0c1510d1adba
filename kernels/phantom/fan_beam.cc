#include "kernels/phantom/fan_beam.h"

#include <cassert>
#include <cmath>
#include <vector>

#include "kernels/phantom/composite_phantom.h"
#include "kernels/phantom/pixel_rays.h"

namespace isocenter::phantom {

void ProjectFanBeam(const Phantom& phantom, const FanBeamGeometry& geometry, double z_mm,
                    int subsamples, ThreadPool& pool, HostView3<float> out) {
  assert((out.shape() == Shape3{geometry.views, 1, geometry.channels}));
  const std::vector<double> offsets = SubsampleOffsets(subsamples);
  pool.ParallelFor(geometry.views, [&](int64_t view, int) {
    const double beta = geometry.Angle(static_cast<double>(view));
    const double d = geometry.source_to_axis_mm;
    const Vec3 source{-d * std::sin(beta), d * std::cos(beta), z_mm};
    float* row = out.row(view, 0);
    for (int channel = 0; channel < geometry.channels; ++channel) {
      double sum = 0;
      for (const double offset : offsets) {
        // The central ray looks along (sin β, -cos β); fan angles turn it counterclockwise.
        const double angle = beta + geometry.FanAngle(channel + offset);
        sum += phantom.LineIntegral(source, {std::sin(angle), -std::cos(angle), 0});
      }
      row[channel] = static_cast<float>(sum / static_cast<double>(offsets.size()));
    }
  });
}

std::unique_ptr<Phantom> MakeRodPhantom(double mu_water_per_mm) {
  constexpr double kRadius = 100, kRodRadius = 12.5, kRodsAt = 45, kHalfLength = 100;
  struct Rod {
    double x, y, relative;
  };
  // Attenuation relative to water at an effective 70 keV.
  constexpr Rod kRods[] = {{-kRodsAt, kRodsAt, 1.955},
                           {kRodsAt, kRodsAt, 0.905},
                           {kRodsAt, -kRodsAt, 1.12},
                           {-kRodsAt, -kRodsAt, 0.0}};
  std::vector<Part> parts = {
      {Body(Body::Shape::kCylinder, {}, {kRadius, kRadius, kHalfLength}), mu_water_per_mm}};
  for (const Rod& rod : kRods) {
    parts.push_back(
        {Body(Body::Shape::kCylinder, {rod.x, rod.y, 0}, {kRodRadius, kRodRadius, kHalfLength}),
         rod.relative * mu_water_per_mm});
  }
  return std::make_unique<CompositePhantom>(std::move(parts), CompositePhantom::Overlap::kReplace);
}

}  // namespace isocenter::phantom
