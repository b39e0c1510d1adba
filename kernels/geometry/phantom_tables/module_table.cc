#include "kernels/geometry/phantom_tables/module_table.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/base/units.h"

namespace isocenter {
namespace {

using Kind = PhantomModule::Kind;

// Polar in the plane at z, degrees from x to y.
Vec3 At(double radius, double degrees, double z) {
  const double angle = DegreesToRadians(degrees);
  return {radius * std::cos(angle), radius * std::sin(angle), z};
}

void Scale(double factor, QualityPhantom& phantom) {
  phantom.body_radius_mm *= factor;
  phantom.body_low_mm *= factor;
  phantom.body_high_mm *= factor;
  for (PhantomModule& module : phantom.modules) {
    module.center = factor * module.center;
    module.beside = factor * module.beside;
    module.radius_mm *= factor;
    module.half_height_mm *= factor;
  }
}

void AddCtp404(ModuleTable& table) {
  constexpr double kOut = 58.7, kRadius = 6, kHalf = 10;
  struct Insert {
    const char* name;
    double degrees, hounsfield;
  };
  for (const Insert& each :
       {Insert{"air", -90, -1000}, Insert{"pmp", -120, -196}, Insert{"ldpe", 180, -104},
        Insert{"polystyrene", 120, -47}, Insert{"acrylic", 60, 115}, Insert{"delrin", 0, 365},
        Insert{"teflon", -60, 1000}, Insert{"air-low", 90, -1000}}) {
    table.push_back(
        {Kind::kInsert, each.name, At(kOut, each.degrees, 0), kRadius, kHalf, each.hounsfield});
  }
  for (int i = 0; i < 4; ++i) {
    const double degrees = 90.0 * i;
    // Opposite ones rise in opposite ways, so that a tilt makes one longer and the other shorter.
    table.push_back({.kind = Kind::kRamp,
                     .name = absl::StrFormat("ramp-%d", i),
                     .center = At(38, degrees, 0),
                     .radius_mm = 0.25,
                     .half_height_mm = 20 / std::cos(DegreesToRadians(kRampDeg)),
                     .hounsfield = 6000,
                     .along_deg = degrees + 90});
    table.push_back({Kind::kNode, absl::StrFormat("node-%d", i),
                     At(25 * std::sqrt(2.0), -135 + degrees, 0), 1.5, kHalf,
                     i == 2 ? 1000.0 : -1000.0});
  }
}

void AddCtp515(ModuleTable& table) {
  constexpr double kOut = 50, kZ = -30, kHalf = 10;
  struct Low {
    double diameter, degrees;
  };
  for (const Low& each : {Low{15, -87.4}, Low{9, -69.1}, Low{8, -52.7}, Low{7, -38.5},
                          Low{6, -25.1}, Low{5, -12.9}}) {
    table.push_back({.kind = Kind::kLow,
                     .name = absl::StrFormat("low-%gmm", each.diameter),
                     .center = At(kOut, each.degrees, kZ),
                     .radius_mm = each.diameter / 2,
                     .half_height_mm = kHalf,
                     .hounsfield = 10,
                     .beside = At(0.6 * kOut, each.degrees, kZ)});
  }
}

}  // namespace

QualityPhantom QualityTable(double scale_mm) {
  QualityPhantom phantom{.name = "quality",
                         .body_radius_mm = 80,
                         .body_low_mm = -80,
                         .body_high_mm = 80,
                         .modules = {
                             {Kind::kUniform, "water", {0, 0, -32}, 55, 8, 0},
                             {Kind::kInsert, "air", {45, 0, 0}, 8, 10, -1000},
                             {Kind::kInsert, "fat", {14, 43, 0}, 8, 10, -100},
                             {Kind::kInsert, "acrylic", {-36, 26, 0}, 8, 10, 120},
                             {Kind::kInsert, "delrin", {-36, -26, 0}, 8, 10, 340},
                             {Kind::kInsert, "teflon", {14, -43, 0}, 8, 10, 990},
                             {Kind::kWire, "wire", {0, 0, 0}, 0.25, 10, 4000},
                             {Kind::kSphere, "sphere", {0, 0, 52}, 12, 12, 990},
                             {Kind::kLow, "low-30", {35, 0, 25}, 8, 7, 30},
                             {Kind::kLow, "low-20", {-17.5, 30, 25}, 8, 7, 20},
                             {Kind::kLow, "low-10", {-17.5, -30, 25}, 8, 7, 10},
                         }};
  for (PhantomModule& module : phantom.modules) {
    if (module.kind == Kind::kLow) module.beside = -module.center + Vec3{0, 0, 2 * module.center.z};
  }
  for (int i = 0; i < 8; ++i) {
    const double x = i & 1 ? 42 : -42, y = i & 2 ? 42 : -42, z = i & 4 ? 48 : -48;
    phantom.modules.push_back({Kind::kBall, absl::StrFormat("ball-%d", i), {x, y, z}, 2, 2, 3000});
  }
  Scale(scale_mm / 80, phantom);
  return phantom;
}

QualityPhantom CatphanTable(double scale_mm) {
  QualityPhantom phantom{.name = "catphan",
                         .body_radius_mm = 100,
                         .body_low_mm = -90,
                         .body_high_mm = 50,
                         .modules = {{Kind::kUniform, "water", {0, 0, -65}, 70, 8, 0}}};
  AddCtp404(phantom.modules);
  AddCtp515(phantom.modules);
  Scale(scale_mm / 100, phantom);
  return phantom;
}

std::vector<std::string> QualityPhantomNames() { return {"quality", "catphan"}; }

QualityPhantom QualityPhantomNamed(const std::string& name, double scale_mm) {
  return name == "catphan" ? CatphanTable(scale_mm) : QualityTable(scale_mm);
}

}  // namespace isocenter
