// Phantoms for image quality, from their tables.
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/geometry/phantom_tables/module_table.h"
#include "kernels/phantom/catalogue.h"
#include "kernels/phantom/composite_phantom.h"

namespace isocenter::phantom {
namespace {

using Kind = PhantomModule::Kind;
using Shape = Body::Shape;

Body BodyOf(const PhantomModule& module) {
  const double r = module.radius_mm;
  if (module.kind == Kind::kBall || module.kind == Kind::kSphere) {
    return Body(Shape::kEllipsoid, module.center, {r, r, r});
  }
  const Vec3 half{r, r, module.half_height_mm};
  if (module.kind != Kind::kRamp) return Body(Shape::kCylinder, module.center, half);
  return Body(Shape::kCylinder, module.center, half, DegreesToRadians(module.along_deg),
              DegreesToRadians(90 - kRampDeg));
}

std::vector<Part> PartsOf(const QualityPhantom& phantom, double water) {
  const double r = phantom.body_radius_mm,
               half = 0.5 * (phantom.body_high_mm - phantom.body_low_mm);
  std::vector<Part> parts;
  parts.push_back(
      {Body(Shape::kCylinder, {0, 0, phantom.body_low_mm + half}, {r, r, half}), water});
  for (const PhantomModule& module : phantom.modules) {
    parts.push_back({BodyOf(module), (1 + module.hounsfield / 1000) * water});
  }
  return parts;
}

// Bars of aluminium at 47 mm from the axis, from 1 to 8 line pairs for each centimetre: with the
// angle from x to y of each group's middle, from where analysers expect it.
void AddLinePairs(double factor, double water, std::vector<Part>& parts) {
  struct Group {
    int bars;
    double pairs_to_mm, degrees;
  };
  constexpr Group kGroups[] = {{2, 0.1, 160.7}, {3, 0.2, 129.6}, {4, 0.3, 106.4}, {4, 0.4, 86},
                               {4, 0.5, 68.2},  {5, 0.6, 50},    {5, 0.7, 32.2},  {5, 0.8, 15.7}};
  constexpr double kOut = 47, kZ = 30, kHalfLength = 4, kHalfHeight = 6, kAluminium = 3;
  for (const Group& group : kGroups) {
    const double angle = DegreesToRadians(group.degrees), pair = 1 / group.pairs_to_mm;
    const Vec3 out{std::cos(angle), std::sin(angle), 0}, along{-out.y, out.x, 0};
    for (int i = 0; i < group.bars; ++i) {
      const double place = (i - 0.5 * (group.bars - 1)) * pair;
      const Vec3 center = kOut * out + place * along + Vec3{0, 0, kZ};
      parts.push_back({Body(Shape::kBox, factor * center,
                            factor * Vec3{kHalfLength, pair / 4, kHalfHeight}, angle),
                       kAluminium * water});
    }
  }
}

std::unique_ptr<Phantom> Replacing(std::vector<Part> parts) {
  return std::make_unique<CompositePhantom>(std::move(parts), CompositePhantom::Overlap::kReplace);
}

}  // namespace

std::unique_ptr<Phantom> MakeQuality(double scale, double water) {
  return Replacing(PartsOf(QualityTable(scale), water));
}

std::unique_ptr<Phantom> MakeCatphan(double scale, double water) {
  std::vector<Part> parts = PartsOf(CatphanTable(scale), water);
  AddLinePairs(scale / 100, water, parts);
  return Replacing(std::move(parts));
}

}  // namespace isocenter::phantom
