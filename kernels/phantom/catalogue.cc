#include "kernels/phantom/catalogue.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/units.h"
#include "kernels/phantom/composite_phantom.h"

namespace isocenter::phantom {
namespace {

using Shape = Body::Shape;

// Objects in water. The wire and the edge stand a little askew, so that the slices of a
// reconstruction sample their profile at many fractions of a voxel (Judy 1976).
constexpr double kTilt = DegreesToRadians(3);
constexpr double kWireRadiusMm = 0.1;
constexpr double kWireDensity = 20;   // relative to water
constexpr double kEdgeDensity = 1.2;  // + 200 HU

Part WaterCylinder(double scale, double water) {
  return {Body(Shape::kCylinder, {}, {scale, scale, scale}), water};
}

std::unique_ptr<Phantom> InWater(double scale, double water, std::vector<Part> inserts) {
  inserts.insert(inserts.begin(), WaterCylinder(scale, water));
  return std::make_unique<CompositePhantom>(std::move(inserts),
                                            CompositePhantom::Overlap::kReplace);
}

std::unique_ptr<Phantom> MakeCylinder(double scale, double water) {
  return InWater(scale, water, {});
}

std::unique_ptr<Phantom> MakeWire(double scale, double water) {
  const Body wire(Shape::kCylinder, {0.25 * scale, 0, 0},
                  {kWireRadiusMm, kWireRadiusMm, 0.9 * scale}, 0, kTilt);
  return InWater(scale, water, {{wire, kWireDensity * water}});
}

std::unique_ptr<Phantom> MakeEdge(double scale, double water) {
  const double half = 0.4 * scale;
  const Body box(Shape::kBox, {}, {half, half, half}, kTilt, kTilt);
  return InWater(scale, water, {{box, kEdgeDensity * water}});
}

struct Entry {
  const char* name;
  std::unique_ptr<Phantom> (*make)(double scale, double water);
};
constexpr Entry kEntries[] = {{"shepp-logan", MakeSheppLogan},
                              {"head", MakeHead},
                              {"wire", MakeWire},
                              {"edge", MakeEdge},
                              {"cylinder", MakeCylinder},
                              {"quality", MakeQuality},
                              {"catphan", MakeCatphan},
                              {"thorax", MakeRestingThorax}};

}  // namespace

std::vector<std::string> PhantomNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.push_back(entry.name);
  return names;
}

absl::StatusOr<std::unique_ptr<Phantom>> MakePhantom(absl::string_view name, double scale_mm,
                                                     double mu_water_per_mm) {
  if (!(scale_mm >= 0.01 && scale_mm <= 1000)) {
    return absl::InvalidArgumentError(
        absl::StrCat("phantom scale_mm is ", scale_mm, "; legal is 0.01 to 1000"));
  }
  if (!(mu_water_per_mm >= 1e-4 && mu_water_per_mm <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("mu_water_per_mm is ", mu_water_per_mm, "; legal is 0.0001 to 1"));
  }
  for (const Entry& entry : kEntries) {
    if (name == entry.name) return entry.make(scale_mm, mu_water_per_mm);
  }
  return absl::NotFoundError(absl::StrCat("phantom '", name, "' is unknown; there are ",
                                          absl::StrJoin(PhantomNames(), ", ")));
}

}  // namespace isocenter::phantom
