#include "kernels/phantom/thorax.h"

#include <cmath>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/phantom/catalogue.h"
#include "kernels/phantom/composite_phantom.h"

namespace isocenter::phantom {
namespace {

using Shape = Body::Shape;

double SineSquared(double x) { return std::sin(x) * std::sin(x); }

struct Tissue {
  Shape shape;
  Vec3 center, half_axes;
  double hu;
};

}  // namespace

double Excursion(Organ organ, double phase) {
  constexpr double kEndOfSystole = 0.35, kAtRest = 0.65;
  if (organ == Organ::kDiaphragm) return SineSquared(kPi * phase) * SineSquared(kPi * phase);
  if (phase < kEndOfSystole) return SineSquared(0.5 * kPi * phase / kEndOfSystole);
  if (phase >= kAtRest) return 0;
  return SineSquared(0.5 * kPi * (kAtRest - phase) / (kAtRest - kEndOfSystole));
}

// x to the patient's left, y to the back, z to the head. Later ones replace earlier ones.
std::unique_ptr<Phantom> MakeThorax(double scale, double water, Organ organ, double excursion) {
  const double beat = organ == Organ::kHeart ? excursion : 0;
  const double down = organ == Organ::kDiaphragm ? 0.15 * excursion : 0;
  const double left = 1 - 0.35 * beat, right = 1 - 0.25 * beat, muscle = 1 - 0.08 * beat;
  const Vec3 fall{0, 0, -0.5 * down};
  const Vec3 inward = beat * 0.1 * Vec3{-0.6, 0.64, -0.48};  // a unit vector
  const Tissue tissues[] = {
      {Shape::kCylinder, {0, 0, 0}, {0.95, 0.68, 0.95}, 30},
      {Shape::kEllipsoid, {0.46, 0, 0.1 - 0.5 * down}, {0.36, 0.52, 0.65 + 0.5 * down}, -800},
      {Shape::kEllipsoid, {-0.46, 0, 0.1 - 0.5 * down}, {0.36, 0.52, 0.65 + 0.5 * down}, -800},
      {Shape::kEllipsoid, {0.05, -0.02, 0.15}, {0.2, 0.45, 0.75}, 40},  // mediastinum
      {Shape::kEllipsoid,                                               // liver under the diaphragm
       {-0.4, 0, -0.62 - 0.5 * down},
       {0.5, 0.52, 0.3 - 0.5 * down},
       60},
      {Shape::kCylinder, {0, 0.45, 0}, {0.14, 0.13, 0.95}, 300},     // spine, its canal
      {Shape::kCylinder, {0, 0.53, 0}, {0.05, 0.04, 0.95}, 30},      //
      {Shape::kEllipsoid, {0, -0.6, 0.1}, {0.13, 0.05, 0.5}, 400},   // sternum
      {Shape::kCylinder, {0.12, 0.27, 0}, {0.07, 0.07, 0.95}, 250},  // aorta
      {Shape::kEllipsoid, Vec3{0.16, -0.18, -0.1} + fall, muscle * Vec3{0.33, 0.3, 0.38}, 60},
      {Shape::kEllipsoid, Vec3{0.22, -0.14, -0.12} + fall, left * Vec3{0.16, 0.15, 0.25}, 250},
      {Shape::kEllipsoid, Vec3{0, -0.26, -0.08} + fall, right * Vec3{0.11, 0.11, 0.2}, 250},
      {Shape::kEllipsoid, Vec3{0.34, -0.38, 0.04} + fall + inward, {0.03, 0.03, 0.03}, 800}};
  std::vector<Part> parts;
  for (const Tissue& part : tissues) {
    parts.push_back({Body(part.shape, scale * part.center, scale * part.half_axes),
                     (1 + part.hu / 1000) * water});
  }
  return std::make_unique<CompositePhantom>(std::move(parts), CompositePhantom::Overlap::kReplace);
}

std::unique_ptr<Phantom> MakeRestingThorax(double scale, double water) {
  return MakeThorax(scale, water, Organ::kHeart, 0);
}

}  // namespace isocenter::phantom
