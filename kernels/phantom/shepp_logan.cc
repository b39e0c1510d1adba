#include <vector>

#include "kernels/base/units.h"
#include "kernels/phantom/catalogue.h"
#include "kernels/phantom/composite_phantom.h"

namespace isocenter::phantom {
namespace {

// Source: Kak, Slaney, Principles of Computerized Tomographic Imaging (1988), the three-dimensional
// table of the Shepp-Logan head phantom.
struct Ellipsoid {
  Vec3 center, half_axes;
  double turn_deg;  // about z
  double density;   // relative to water: 1.02 in the brain is 20 HU
};
constexpr Ellipsoid kEllipsoids[] = {
    {{0, 0, 0}, {0.69, 0.92, 0.9}, 0, 2},
    {{0, 0, 0}, {0.6624, 0.874, 0.88}, 0, -0.98},
    {{-0.22, 0, -0.25}, {0.41, 0.16, 0.21}, 108, -0.02},
    {{0.22, 0, -0.25}, {0.31, 0.11, 0.22}, 72, -0.02},
    {{0, 0.35, -0.25}, {0.21, 0.25, 0.5}, 0, 0.02},
    {{0, 0.1, -0.25}, {0.046, 0.046, 0.046}, 0, 0.02},
    {{-0.08, -0.65, -0.25}, {0.046, 0.023, 0.02}, 0, 0.01},
    {{0.06, -0.65, -0.25}, {0.046, 0.023, 0.02}, 90, 0.01},
    {{0.06, -0.105, 0.625}, {0.056, 0.04, 0.1}, 90, 0.02},
    {{0, 0.1, 0.625}, {0.056, 0.056, 0.1}, 0, -0.02},
};

}  // namespace

std::unique_ptr<Phantom> MakeSheppLogan(double scale, double water) {
  std::vector<Part> parts;
  for (const Ellipsoid& e : kEllipsoids) {
    parts.push_back({Body(Body::Shape::kEllipsoid, scale * e.center, scale * e.half_axes,
                          DegreesToRadians(e.turn_deg)),
                     e.density * water});
  }
  return std::make_unique<CompositePhantom>(std::move(parts), CompositePhantom::Overlap::kAdd);
}

}  // namespace isocenter::phantom
