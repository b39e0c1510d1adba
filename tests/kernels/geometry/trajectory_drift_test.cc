// An arm that drifts sees the world as if it moved the other way.
#include "kernels/geometry/trajectory_drift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter {
namespace {

TEST(TrajectoryDrift, SourceAndDetectorMoveTogether) {
  const Detector detector{.columns = 100, .rows = 80, .pitch_u_mm = 2, .pitch_v_mm = 2};
  const Trajectory planned = *MakeCircularOrbit(
      {.views = 11, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200, .arc = 3},
      detector);
  const Vec3 drift{0.5, -1, 2};
  const Trajectory drifted = *Drifted(planned, drift);
  const Vec3 point{20, -30, 40};
  for (size_t k = 0; k < planned.size(); ++k) {
    const double share = static_cast<double>(k) / 10;
    EXPECT_LT(Norm(Decompose(drifted[k])->source - Decompose(planned[k])->source - share * drift),
              1e-9);
    EXPECT_NEAR(drifted[k].Project(point + share * drift).u(), planned[k].Project(point).u(), 1e-9);
    EXPECT_NEAR(drifted[k].Project(point + share * drift).v(), planned[k].Project(point).v(), 1e-9);
  }
  EXPECT_EQ(*Drifted(planned, {}), planned);
  EXPECT_THAT(Drifted(planned, {0, 0, 101}).status().message(),
              testing::HasSubstr("legal is at most 100"));
}

}  // namespace
}  // namespace isocenter
