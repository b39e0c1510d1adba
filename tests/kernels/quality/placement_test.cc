#include "kernels/quality/placement.h"

#include <gmock/gmock.h>

#include <cmath>

#include "kernels/base/units.h"
#include "tests/kernels/quality/made_volume.h"

namespace isocenter::quality {
namespace {

using ::testing::HasSubstr;

std::vector<Marker> Markers() {
  std::vector<Marker> markers;
  for (int x : {-1, 1}) {
    for (int y : {-1, 1}) {
      for (int z : {-1, 1}) markers.push_back({.center = {30.0 * x, 32.0 * y, 24.0 * z}});
    }
  }
  return markers;
}

Placement Turned(double degrees, Vec3 shift) {
  const double c = std::cos(DegreesToRadians(degrees)), s = std::sin(DegreesToRadians(degrees));
  return {{c, -s, 0, s, c, 0, 0, 0, 1}, shift};
}

// Balls with soft edges; `stretch` of all distances along x.
MadeVolume Balls(const Placement& placement, double stretch = 1) {
  return {CenteredGrid(120, 120, 90, {0.8, 0.8, 0.8}), [&](Vec3 p) {
            double value = 0;
            for (const Marker& marker : Markers()) {
              Vec3 at = placement.ToWorld(marker.center);
              at.x *= stretch;
              value += 3000 / (1 + std::exp((Norm(p - at) - marker.radius_mm) / 0.3));
            }
            return value;
          }};
}

TEST(FindMarkers, FindsAPhantomThatIsTurnedAndMoved) {
  const Placement truth = Turned(4, {3.2, -2.1, 1.4});
  const MadeVolume made = Balls(truth);
  const auto found = FindMarkers(made.view(), Markers(), 10);
  ASSERT_TRUE(found.ok()) << found.status();
  printf("rms %.4f mm, shift %.3f %.3f %.3f\n", found->rms_mm, found->placement.shift.x,
         found->placement.shift.y, found->placement.shift.z);
  EXPECT_LT(Norm(found->placement.shift - truth.shift), 0.02);
  EXPECT_NEAR(RadiansToDegrees(found->placement.angle()), 4, 0.03);
  EXPECT_GT(found->placement.rotation[3], 0);
  EXPECT_LT(found->rms_mm, 0.03);
  EXPECT_LT(found->largest_distance_error_mm, 0.05);
  EXPECT_NEAR(found->scale, 1, 0.0005);
}

TEST(FindMarkers, TellsAWrongScale) {
  const MadeVolume made = Balls({}, 1.02);
  const auto found = FindMarkers(made.view(), Markers(), 10);
  ASSERT_TRUE(found.ok());
  EXPECT_NEAR(found->largest_distance_error_mm, 60 * 0.02, 0.1);
  EXPECT_GT(found->rms_mm, 0.3);
}

TEST(FindMarkers, SaysWhatIsWrong) {
  const MadeVolume made = Balls(Turned(0, {25, 0, 0}));
  const std::vector<Marker> markers = Markers();
  const auto missing = FindMarkers(made.view(), markers, 10);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("marker 0 is not within 10.0 mm"));
  EXPECT_THAT(
      std::string(FindMarkers(made.view(), std::span(markers).first(3), 10).status().message()),
      HasSubstr("4 or more"));
  EXPECT_FALSE(FindMarkers(made.view(), markers, 0).ok());
  const std::vector<Marker> line(5, markers[0]);
  EXPECT_THAT(std::string(FindMarkers(made.view(), line, 10).status().message()),
              HasSubstr("10 mm of a line"));
}

}  // namespace
}  // namespace isocenter::quality
