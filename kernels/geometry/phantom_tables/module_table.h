// Phantoms for image quality: what is where in them.
#pragma once

#include <string>
#include <vector>

#include "kernels/geometry/vec3.h"

namespace isocenter {

/// A part of such a phantom, in its own frame (mm): a cylinder along z, a ball, or a wire that
/// rises.
struct PhantomModule {
  enum class Kind {
    kUniform,  // of one material, for noise and uniformity; at most one
    kInsert,   // of a known Hounsfield value, for linearity and sharpness
    kLow,      // of low contrast
    kWire,     // thin, for sharpness; at most one
    kSphere,   // for sharpness in three dimensions; at most one
    kBall,     // a marker
    kRamp,     // a wire that rises by kRampDeg from the slices, for their thickness
    kNode      // thin, for distances in a slice
  };
  Kind kind = Kind::kUniform;
  std::string name;
  Vec3 center;
  double radius_mm = 0;
  double half_height_mm = 0;  // of a ramp along its wire
  double hounsfield = 0;
  Vec3 beside{};         // of a low contrast: what it is compared with, as large
  double along_deg = 0;  // of a ramp: the way in which it rises, from x to y
};
using ModuleTable = std::vector<PhantomModule>;

inline constexpr double kRampDeg = 23;

/// A phantom whose scans `isocenter qa` reads.
struct QualityPhantom {
  std::string name;
  double body_radius_mm = 0;                 // of the cylinder of water that holds the modules
  double body_low_mm = 0, body_high_mm = 0;  // its ends along z
  ModuleTable modules;
};

/// The phantom "quality" of the simulator at a scale of 80 mm, times scale_mm / 80. In a water
/// cylinder of radius and half height 80 mm: five inserts of 8 mm radius from air to 990 HU and a
/// wire at z = 0, three low contrasts at z = 25, water at z = -32, a sphere at z = 52, eight balls
/// at z = ±48.
QualityPhantom QualityTable(double scale_mm);

/// "catphan": where the Catphan 504 (The Phantom Laboratory; its manual) has what analysers of its
/// scans look for, at a scale of 100 mm, times scale_mm / 100. x is the image's right, y its lower
/// edge. At z = 0 inserts at 58.7 mm, four ramps at 38 mm and four nodes 50 mm apart (CTP404); at
/// z = -30 low contrasts of 1 % (CTP515); at z = -65 water (CTP486). Line pairs at z = 30 (CTP528)
/// are the simulator's alone.
QualityPhantom CatphanTable(double scale_mm);

/// The names that QualityPhantomNamed knows: "quality", "catphan".
std::vector<std::string> QualityPhantomNames();
/// `name` is one of these.
QualityPhantom QualityPhantomNamed(const std::string& name, double scale_mm);

}  // namespace isocenter
