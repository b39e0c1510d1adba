#include <cmath>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/phantom/catalogue.h"
#include "kernels/phantom/composite_phantom.h"

namespace isocenter::phantom {
namespace {

constexpr double kBrainHu = 35;

struct Ellipsoid {
  Vec3 center, half_axes;
  double hu;
  double turn_deg = 0;  // about z
};

// x to the patient's left, y to the back, z to the crown. Later ones replace earlier ones.
constexpr Ellipsoid kAnatomy[] = {
    {{0.77, 0.06, -0.22}, {0.05, 0.11, 0.17}, 30, 15},    // ears
    {{-0.77, 0.06, -0.22}, {0.05, 0.11, 0.17}, 30, -15},  //
    {{0, -0.86, -0.36}, {0.09, 0.12, 0.16}, 30},          // nose
    {{0, 0, 0}, {0.76, 0.9, 0.98}, 40},                   // skin and muscle
    {{0, 0, 0}, {0.7, 0.84, 0.92}, 1000},                 // skull
    {{0, 0, 0}, {0.64, 0.77, 0.86}, kBrainHu},            // brain
    {{0.36, 0.16, -0.44}, {0.22, 0.08, 0.09}, 1300, 35},  // petrous bones
    {{-0.36, 0.16, -0.44}, {0.22, 0.08, 0.09}, 1300, -35},
    {{0.62, 0.06, -0.38}, {0.2, 0.035, 0.035}, -1000},  // ear canals
    {{-0.62, 0.06, -0.38}, {0.2, 0.035, 0.035}, -1000},
    {{0.4, 0.24, -0.46}, {0.07, 0.05, 0.06}, -700},  // mastoid cells
    {{-0.4, 0.24, -0.46}, {0.07, 0.05, 0.06}, -700},
    {{0.28, -0.6, -0.28}, {0.15, 0.19, 0.14}, -80},  // orbits, eyes, lenses
    {{-0.28, -0.6, -0.28}, {0.15, 0.19, 0.14}, -80},
    {{0.28, -0.65, -0.28}, {0.12, 0.12, 0.12}, 15},
    {{-0.28, -0.65, -0.28}, {0.12, 0.12, 0.12}, 15},
    {{0.28, -0.74, -0.28}, {0.045, 0.02, 0.045}, 90},
    {{-0.28, -0.74, -0.28}, {0.045, 0.02, 0.045}, 90},
    {{0, -0.62, -0.48}, {0.1, 0.2, 0.16}, -1000},  // nasal cavity and septum
    {{0, -0.62, -0.48}, {0.012, 0.18, 0.14}, 300},
    {{0, -0.74, 0.02}, {0.12, 0.05, 0.08}, -1000},  // frontal sinus
    {{0.13, 0, 0.28}, {0.07, 0.3, 0.1}, 8, -12},    // lateral ventricles
    {{-0.13, 0, 0.28}, {0.07, 0.3, 0.1}, 8, 12},
    {{0, 0.02, 0.08}, {0.02, 0.11, 0.1}, 8},        // third ventricle
    {{0.3, -0.05, 0.45}, {0.09, 0.12, 0.08}, 70},   // haemorrhage
    {{0, 0.24, 0.16}, {0.022, 0.022, 0.022}, 250},  // calcified pineal gland
};

// Low-contrast spheres in the brain: every contrast in every size, on a ring in the plane z = 0.
constexpr double kInsertContrastsHu[] = {5, 10, 20, 50};
constexpr double kInsertRadii[] = {0.08, 0.05, 0.025};
constexpr double kRingRadius = 0.42;

}  // namespace

std::unique_ptr<Phantom> MakeHead(double scale, double water) {
  std::vector<Part> parts;
  const auto add = [&](const Ellipsoid& e) {
    parts.push_back({Body(Body::Shape::kEllipsoid, scale * e.center, scale * e.half_axes,
                          DegreesToRadians(e.turn_deg)),
                     (1 + e.hu / 1000) * water});
  };
  for (const Ellipsoid& e : kAnatomy) add(e);
  int position = 0;
  for (double contrast : kInsertContrastsHu) {
    for (double radius : kInsertRadii) {
      const double angle = DegreesToRadians(30 * position++ + 15);
      add({kRingRadius * Vec3{std::cos(angle), std::sin(angle), 0},
           {radius, radius, radius},
           kBrainHu + contrast});
    }
  }
  return std::make_unique<CompositePhantom>(std::move(parts), CompositePhantom::Overlap::kReplace);
}

}  // namespace isocenter::phantom
