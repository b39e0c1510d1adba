#include "kernels/calibrate/consistency/epipolar_pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "kernels/base/units.h"
#include "kernels/geometry/angle_between.h"

namespace isocenter::calibrate {
namespace {

constexpr std::array<double, kMostPartners> kAnglesDeg = {4.0,  7.0,  11.0,  17.0,  26.0,  40.0,
                                                          60.0, 90.0, 130.0, 160.0, 175.0, 190.0};

}  // namespace

std::vector<std::pair<int, int>> EpipolarPairs(const std::vector<Vec3>& sources) {
  const int frames = static_cast<int>(sources.size());
  std::vector<double> travelled(sources.size(), 0);
  for (int k = 1; k < frames; ++k) {
    travelled[k] = travelled[k - 1] + AngleBetween(sources[k - 1], sources[k]);
  }
  std::vector<std::pair<int, int>> pairs;
  for (int k = 0; k < frames; ++k) {
    int before = k;
    for (const double angle_deg : kAnglesDeg) {
      const auto other =
          std::ranges::lower_bound(travelled, travelled[k] + DegreesToRadians(angle_deg));
      if (other == travelled.end()) break;
      const int partner = static_cast<int>(other - travelled.begin());
      if (partner != before) pairs.emplace_back(k, partner);
      before = partner;
    }
  }
  return pairs;
}

std::vector<Vec3> EpipolarPlanes(Vec3 a, Vec3 b, double radius_mm, int planes) {
  const Vec3 along = (1 / Norm(b - a)) * (b - a);
  Vec3 away = a - Dot(a, along) * along;  // from the origin to the line of the sources
  const double distance = Norm(away);
  Vec3 first = std::abs(along.z) < 0.9 ? Vec3{0, 0, 1} : Vec3{1, 0, 0};
  if (distance > 1e-9) first = away;
  first = first - Dot(first, along) * along;
  first = (1 / Norm(first)) * first;
  const Vec3 second = Cross(along, first);
  std::vector<Vec3> normals;
  for (int k = 0; k < planes; ++k) {
    const double share = (k + 0.5) / planes;
    const double turn = distance <= radius_mm ? std::numbers::pi * share
                                              : std::acos(radius_mm / distance * (2 * share - 1));
    normals.push_back(std::cos(turn) * first + std::sin(turn) * second);
  }
  return normals;
}

double EpipolarRadiusMm(const Trajectory& trajectory, const Detector& detector) {
  const Camera camera = *Decompose(trajectory[trajectory.size() / 2]);
  return camera.isocenter_depth_mm * detector.rows / 2 / std::abs(camera.focal_v_px);
}

}  // namespace isocenter::calibrate
