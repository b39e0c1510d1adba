#include "kernels/quality/handedness.h"

#include <cmath>
#include <optional>

#include "absl/strings/str_format.h"
#include "kernels/base/units.h"
#include "kernels/quality/phantom_placement.h"

namespace isocenter::quality {
namespace {

using Kind = PhantomModule::Kind;

// Of what a wire's blur leaves of it within so much, mm.
constexpr double kAroundWire = 2;
// Of the mirror image's deviation to the phantom's, of one that is shown.
constexpr double kMostShare = 0.5;

// What is where a ramp's wire should be: a rod that rises with it.
Rod AlongWire(const Placement& placement, const PhantomModule& ramp) {
  const double turn = DegreesToRadians(ramp.along_deg), rise = DegreesToRadians(kRampDeg);
  const Vec3 level{std::cos(turn), std::sin(turn), 0};
  return {.center = placement.ToWorld(ramp.center),
          .radius_mm = kAroundWire,
          .half_height_mm = 0.8 * ramp.half_height_mm,
          .axis = placement.Turn(std::cos(rise) * level + Vec3{0, 0, std::sin(rise)}),
          .across = placement.Turn({-level.y, level.x, 0})};
}

// Root mean square of what parts beside the inserts' plane differ from what they should be, HU;
// none where the volume shows none of them.
std::optional<double> Deviation(const VolumeView& volume, const QualityPhantom& phantom,
                                const Placement& placement) {
  double squares = 0, count = 0;
  const auto add = [&](const Rod& rod, double expected) {
    const auto figures = MeasureRegion(volume, rod);
    if (!figures.ok()) return;
    squares += (figures->mean - expected) * (figures->mean - expected);
    ++count;
  };
  for (const PhantomModule& module : phantom.modules) {
    if (module.kind == Kind::kSphere) add(RodOf(placement, module, 0.6), module.hounsfield);
    if (module.kind == Kind::kRamp) {
      const double share = module.radius_mm / kAroundWire;
      add(AlongWire(placement, module), share * share * module.hounsfield);
    }
  }
  if (count == 0) return std::nullopt;
  return std::sqrt(squares / count);
}

// In a mirror that lies in the inserts' plane, z = 0.
Placement Mirrored(Placement placement) {
  for (const int i : {2, 5, 8}) placement.rotation[i] = -placement.rotation[i];
  return placement;
}

}  // namespace

absl::Status CheckHandedness(const VolumeView& volume, const QualityPhantom& phantom,
                             const Placement& placement) {
  const auto seen = Deviation(volume, phantom, placement);
  const auto mirrored = Deviation(volume, phantom, Mirrored(placement));
  if (!seen || !mirrored || *mirrored >= kMostShare * *seen) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "the volume is mirrored: it shows the phantom \"%s\" as a mirror does (what lies beside the "
      "inserts' plane is %.0f HU from what it should be in the mirror image, and %.0f in the "
      "phantom); legal is a volume that is not: left and right, or the order of the slices, are "
      "exchanged in its file, or the detector's columns or the sense of rotation in the matrices "
      "of "
      "its scan",
      phantom.name, *mirrored, *seen));
}

}  // namespace isocenter::quality
