#include <array>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/uniform.h"
#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter {
namespace {

// Standard deviations over the arc of one measured C-arm (494 views, 197°), about the mean and
// without the view-to-view jitter that its calibration adds to depth, focal length and tilt (they
// compensate each other: the isocentre's image jitters by 0.04 mm only).
struct TypicalDeviations {
  double angle = DegreesToRadians(0.06);  // of the source from uniform steps
  double radius_mm = 2.1;                 // of the source from the axis
  double height_mm = 4.3;                 // of the source along the axis
  double detector_distance_mm = 7.7;      // source to detector
  double roll = DegreesToRadians(0.31);   // detector about its normal
  double pitch = DegreesToRadians(0.50);  // detector about u
  double yaw = DegreesToRadians(0.33);    // detector about v
  double isocenter_u_mm = 3.5;            // image of the isocentre on the detector
  double isocenter_v_mm = 1.1;
};

// A sum of the first harmonics of the gantry angle: what gravity does to an arm. It is a function
// of the angle, not of the view, so that the same arm deviates alike however many views it takes.
class SmoothDeviation {
 public:
  SmoothDeviation(double standard_deviation, std::mt19937_64& generator) {
    // The measured curves are one period and a quarter of a second one; the third is a rest. The
    // factor makes up for the arc, over which a first harmonic of amplitude 1 and any phase has a
    // standard deviation of 0.58.
    constexpr std::array<double, kHarmonics> kShare = {1.0, 0.25, 0.08};
    constexpr double kAmplitudePerDeviation = 1.65;
    for (int h = 0; h < kHarmonics; ++h) {
      amplitude_[h] = standard_deviation * kAmplitudePerDeviation * kShare[h] *
                      (0.8 + 0.4 * Uniform(generator));
      phase_[h] = 2 * kPi * Uniform(generator);
    }
  }

  double At(double angle) const {
    double sum = 0;
    for (int h = 0; h < kHarmonics; ++h) {
      sum += amplitude_[h] * std::cos((h + 1) * angle + phase_[h]);
    }
    return sum;
  }

 private:
  static constexpr int kHarmonics = 3;

  std::array<double, kHarmonics> amplitude_;
  std::array<double, kHarmonics> phase_;
};

struct ArmDeviations {
  ArmDeviations(double amplitude, std::mt19937_64 generator)
      : angle(amplitude * TypicalDeviations().angle, generator),
        radius_mm(amplitude * TypicalDeviations().radius_mm, generator),
        height_mm(amplitude * TypicalDeviations().height_mm, generator),
        detector_distance_mm(amplitude * TypicalDeviations().detector_distance_mm, generator),
        roll(amplitude * TypicalDeviations().roll, generator),
        pitch(amplitude * TypicalDeviations().pitch, generator),
        yaw(amplitude * TypicalDeviations().yaw, generator),
        isocenter_u_mm(amplitude * TypicalDeviations().isocenter_u_mm, generator),
        isocenter_v_mm(amplitude * TypicalDeviations().isocenter_v_mm, generator) {}

  SmoothDeviation angle, radius_mm, height_mm, detector_distance_mm, roll, pitch, yaw,
      isocenter_u_mm, isocenter_v_mm;
};

// Turns the perpendicular unit vectors a and b by `angle` in their plane, a towards b.
void Turn(Vec3& a, Vec3& b, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  const Vec3 turned = c * a + s * b;
  b = c * b - s * a;
  a = turned;
}

// The ideal camera of the arm at `angle`, deviated.
Camera Deviate(const Camera& ideal, double angle, const ArmDeviations& arm,
               const Detector& detector) {
  Camera camera = ideal;
  const double source_angle = angle + arm.angle.At(angle);
  const double radius = Norm(ideal.source) + arm.radius_mm.At(angle);
  const Vec3 radial{std::cos(source_angle), std::sin(source_angle), 0};
  camera.source = radius * radial + Vec3{0, 0, arm.height_mm.At(angle)};
  camera.u_axis = {-radial.y, radial.x, 0};
  camera.depth_axis = -radial;
  Turn(camera.u_axis, camera.v_axis, arm.roll.At(angle));
  Turn(camera.v_axis, camera.depth_axis, arm.pitch.At(angle));
  Turn(camera.depth_axis, camera.u_axis, arm.yaw.At(angle));
  const double longer_mm = arm.detector_distance_mm.At(angle);
  camera.focal_u_px += longer_mm / detector.pitch_u_mm;
  camera.focal_v_px += longer_mm / detector.pitch_v_mm;
  // The principal point that puts the isocentre where it is to be imaged.
  const Vec3 to_isocenter = -camera.source;
  const double depth = Dot(to_isocenter, camera.depth_axis);
  camera.principal_u_px = ideal.principal_u_px +
                          arm.isocenter_u_mm.At(angle) / detector.pitch_u_mm -
                          camera.focal_u_px * Dot(to_isocenter, camera.u_axis) / depth;
  camera.principal_v_px = ideal.principal_v_px +
                          arm.isocenter_v_mm.At(angle) / detector.pitch_v_mm -
                          camera.focal_v_px * Dot(to_isocenter, camera.v_axis) / depth;
  return camera;
}

}  // namespace

absl::StatusOr<Trajectory> MakeWobblingOrbit(const CircularOrbit& orbit, const Detector& detector,
                                             double amplitude, uint64_t seed) {
  if (!(amplitude >= 0 && amplitude <= 10)) {
    return absl::InvalidArgumentError(
        absl::StrCat("wobble amplitude is ", amplitude, "; legal is 0 to 10"));
  }
  ISO_ASSIGN_OR_RETURN(Trajectory trajectory, MakeCircularOrbit(orbit, detector));
  ISO_ASSIGN_OR_RETURN(const std::vector<double> angles, SourceAngles(trajectory));
  const ArmDeviations arm(amplitude, std::mt19937_64(seed));
  for (size_t view = 0; view < trajectory.size(); ++view) {
    ISO_ASSIGN_OR_RETURN(const Camera ideal, Decompose(trajectory[view]));
    const Camera deviated = Deviate(ideal, angles[view], arm, detector);
    // A small orbit with a large amplitude would deviate through the isocentre.
    const double depth = -Dot(deviated.source, deviated.depth_axis);
    if (!(depth > 0.5 * ideal.isocenter_depth_mm && deviated.focal_u_px > 0.5 * ideal.focal_u_px)) {
      return absl::InvalidArgumentError(
          absl::StrCat("wobble amplitude ", amplitude, " is too large for this orbit: view ", view,
                       " has the isocentre at ", depth, " mm instead of ", ideal.isocenter_depth_mm,
                       " mm; legal is a change of less than half"));
    }
    trajectory[view] = Compose(deviated);
  }
  return trajectory;
}

}  // namespace isocenter
