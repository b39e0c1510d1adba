#include "kernels/phantom/planted_motion.h"

#include <cmath>

#include "kernels/base/units.h"
#include "kernels/phantom/generator.h"

namespace isocenter::phantom {
namespace {

using Curve = std::vector<Vec3>;  // over the knots

constexpr int kKnots = 9;  // of a motion that wanders
constexpr double kJoltShare = 0.03;
constexpr double kPeriods = 4.5;
constexpr int kKnotsOfPeriod = 16;
constexpr int kMoments = 2001;  // at which motions are measured

Vec3 Direction(Generator& generator) {
  const Vec3 any{generator.Normal(), generator.Normal(), generator.Normal()};
  return (1 / Norm(any)) * any;
}

struct Course {
  std::vector<double> share;
  Curve curve;
};

Course Smooth(Generator& generator) {
  Course course;
  for (int k = 0; k < kKnots; ++k) {
    course.share.push_back(k / (kKnots - 1.0));
    course.curve.push_back({generator.Normal(), generator.Normal(), generator.Normal()});
  }
  return course;
}

// As far on one side of rest as on the other in the mean over the scan.
Course Jolt(Generator& generator, double begin) {
  const double before = begin + kJoltShare / 2;
  const Vec3 way = Direction(generator);
  return {{0, begin, begin + kJoltShare, 1},
          {(before - 1) * way, (before - 1) * way, before * way, before * way}};
}

Course Periodic(Generator& generator, double phase) {
  Course course;
  const Vec3 way = Direction(generator);
  const int knots = static_cast<int>(kPeriods * kKnotsOfPeriod);
  for (int k = 0; k <= knots; ++k) {
    const double share = static_cast<double>(k) / knots;
    course.share.push_back(share);
    course.curve.push_back(std::sin(2 * kPi * (kPeriods * share + phase)) * way);
  }
  return course;
}

void Center(Curve& curve) {
  Vec3 mean;
  for (const Vec3& v : curve) mean = mean + (1.0 / static_cast<double>(curve.size())) * v;
  for (Vec3& v : curve) v = v - mean;
}

double Share(double wanted, double found) { return wanted == 0 ? 0 : wanted / found; }

// The longest shift and turn between knots are a little longer than those at knots.
MotionCurve Scaled(std::vector<MotionKnot> knots, double shift_mm, double turn_rad) {
  const MotionExtent extent = ExtentOf(MotionCurve::Make(knots)->AtFrames(kMoments));
  for (MotionKnot& knot : knots) {
    knot.pose.shift_mm = Share(shift_mm, extent.shift_mm) * knot.pose.shift_mm;
    knot.pose.turn_rad = Share(turn_rad, extent.turn_rad) * knot.pose.turn_rad;
  }
  return *MotionCurve::Make(std::move(knots));
}

}  // namespace

MotionCurve PlantedMotion(MotionKind kind, double shift_mm, double turn_deg, uint64_t seed) {
  Generator generator(seed ^ 0x6D6F74696F6E0000u);
  const double moment = generator.Uniform();  // of both, shift and turn
  const auto make = [&] {
    if (kind == MotionKind::kJolt) return Jolt(generator, 0.1 + 0.77 * moment);
    if (kind == MotionKind::kPeriodic) return Periodic(generator, moment);
    Course course = Smooth(generator);
    Center(course.curve);
    return course;
  };
  const Course shift = make(), turn = make();
  std::vector<MotionKnot> knots;
  for (size_t k = 0; k < shift.share.size(); ++k) {
    // Turns of a radian or so would be no legal knots.
    knots.push_back({shift.share[k], {0.01 * turn.curve[k], shift.curve[k]}});
  }
  return Scaled(std::move(knots), shift_mm, DegreesToRadians(turn_deg));
}

}  // namespace isocenter::phantom
