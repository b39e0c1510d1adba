#include "kernels/geometry/module_table.h"

#include "absl/strings/str_format.h"

namespace isocenter {

ModuleTable QualityModules(double scale_mm) {
  using Kind = PhantomModule::Kind;
  ModuleTable table = {
      {Kind::kUniform, "water", {0, 0, -32}, 55, 8, 0},
      {Kind::kInsert, "air", {45, 0, 0}, 8, 10, -1000},
      {Kind::kInsert, "fat", {14, 43, 0}, 8, 10, -100},
      {Kind::kInsert, "acrylic", {-36, 26, 0}, 8, 10, 120},
      {Kind::kInsert, "delrin", {-36, -26, 0}, 8, 10, 340},
      {Kind::kInsert, "teflon", {14, -43, 0}, 8, 10, 990},
      {Kind::kWire, "wire", {0, 0, 0}, 0.25, 10, 4000},
      {Kind::kLow, "low-30", {35, 0, 25}, 8, 7, 30},
      {Kind::kLow, "low-20", {-17.5, 30, 25}, 8, 7, 20},
      {Kind::kLow, "low-10", {-17.5, -30, 25}, 8, 7, 10},
  };
  for (int i = 0; i < 8; ++i) {
    const double x = i & 1 ? 42 : -42, y = i & 2 ? 42 : -42, z = i & 4 ? 48 : -48;
    table.push_back({Kind::kBall, absl::StrFormat("ball-%d", i), {x, y, z}, 2, 2, 3000});
  }
  const double factor = scale_mm / 80;
  for (PhantomModule& module : table) {
    module.center = factor * module.center;
    module.radius_mm *= factor;
    module.half_height_mm *= factor;
  }
  return table;
}

}  // namespace isocenter
