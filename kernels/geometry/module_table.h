// Phantoms for image quality: what is where in them.
#pragma once

#include <string>
#include <vector>

#include "kernels/geometry/vec3.h"

namespace isocenter {

/// A part of such a phantom, in its own frame (mm): a cylinder along z, or a ball.
struct PhantomModule {
  enum class Kind {
    kUniform,  // of one material, for noise and uniformity; at most one
    kInsert,  // of a known Hounsfield value, for linearity and, the most contrast of all, sharpness
    kLow,     // of low contrast
    kWire,    // thin, for sharpness; at most one
    kBall     // a marker
  };
  Kind kind = Kind::kUniform;
  std::string name;
  Vec3 center;
  double radius_mm = 0, half_height_mm = 0;
  double hounsfield = 0;
};
using ModuleTable = std::vector<PhantomModule>;

/// The phantom "quality" of the simulator at a scale of 80 mm, times scale_mm / 80. In a water
/// cylinder of radius and half height 80 mm: five inserts of 8 mm radius from air to 990 HU and a
/// wire at z = 0, three low contrasts at z = 25, water at z = -32, eight balls at z = ±48.
ModuleTable QualityModules(double scale_mm);

}  // namespace isocenter
